/** Images of nodes that share a database: painted on one, seen on another, cleaned up by whichever. */
import { randomBytes } from 'node:crypto'
import type { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import t from 'tap'
import type { Test } from 'tap'
import { Client } from 'pg'
import { ImageStore } from '../../../src/tools/images/image-store.ts'
import { paintPng } from '../../../src/upstream/demo/png.ts'
import { postgresFor } from '../../support/postgres.ts'
import { accountId, addAccount, noon } from '../contract.ts'
import { furnish, openOn } from './support.ts'

const postgres = await postgresFor(t, furnish)
const limits = { style: 'chat', maxBytes: 4_000_000, linkDays: 7, keepForDays: 10, keepBytes: 3_000_000 } as const
const day = 86_400_000

/** A picture of many pieces that nobody else has. */
const picture = (bytes: number) => Buffer.concat([paintPng('a house'), randomBytes(bytes)])

if (postgres !== undefined) {
  const ground = async (t: Test) => {
    const url = await postgres.database(t)
    const client = new Client({ connectionString: url })
    await client.connect()
    t.teardown(() => client.end())
    let now = noon
    const stores = await Promise.all([1, 2, 3].map(() => openOn(t, url)))
    for (const index of [1, 2]) await addAccount(stores[0]!, index)
    const nodes = stores.map(({ images, imageFiles }) => {
      return new ImageStore({ files: imageFiles, records: images, limits, clock: { now: () => now } })
    })
    const [one, two, three] = nodes as [ImageStore, ImageStore, ImageStore]
    return {
      one,
      two,
      three,
      nodes,
      pass: (ms: number) => void (now += ms),
      kept: async () => (await client.query('select hash from image_data')).rows.map(({ hash }) => hash as string),
    }
  }
  const bytesOf = async (node: ImageStore, hash: string): Promise<Buffer | null> => {
    const found = await node.open(hash)
    return found && buffer(found.stream)
  }

  t.test('an image that was painted on one node is seen whole on all, however large it is', async (t) => {
    const { one, nodes } = await ground(t)
    for (const bytes of [0, 700_000, 2 * 256 * 1024 - paintPng('a house').length]) {
      const painted = picture(bytes)
      const image = await one.put(painted, accountId(1))
      for (const node of nodes) t.ok((await bytesOf(node, image!.hash))?.equals(painted), `${painted.length} bytes`)
    }
    t.equal(await one.open('0'.repeat(64)), null)
  })

  t.test(
    'the same bytes are kept once, whoever paints them at once, and stay until the last of their owners has gone',
    async (t) => {
      const { one, two, three, nodes, kept, pass } = await ground(t)
      const painted = picture(1_000)
      const images = await Promise.all(nodes.map((node) => node.put(painted, accountId(1))))
      t.same(await kept(), [images[0]!.hash])
      pass(6 * day)
      await two.put(painted, accountId(2))
      pass(6 * day)
      await three.cleanUp()
      t.ok((await bytesOf(one, images[0]!.hash))?.equals(painted), 'the second has it still')
      pass(6 * day)
      await three.cleanUp()
      t.same(await kept(), [], 'the bytes go with the record')
      t.equal(await one.open(images[0]!.hash), null)
    },
  )

  t.test('what is too much in all goes, by whichever node cleans up, and by all of them at once', async (t) => {
    const { one, two, nodes, kept, pass } = await ground(t)
    const hashes: string[] = []
    for (const node of [one, two, one, two]) {
      hashes.push((await node.put(picture(1_000_000), accountId(1)))!.hash)
      pass(1_000)
    }
    await Promise.all(nodes.map((node) => node.cleanUp()))
    t.same((await kept()).toSorted(), hashes.slice(2).toSorted(), 'the last two')
  })

  t.test('whoever paints while another cleans up has the image', async (t) => {
    const { one, two, pass } = await ground(t)
    const painted = picture(1_000)
    for (let round = 0; round < 20; round++) {
      const [image] = await Promise.all([one.put(painted, accountId(1)), two.cleanUp()])
      t.ok((await bytesOf(two, image!.hash))?.equals(painted), `round ${round}`)
      pass(11 * day)
    }
  })

  t.test('an image that goes while it is read ends in a failure, never in half of it', async (t) => {
    const { one, two, pass } = await ground(t)
    const image = await one.put(picture(1_500_000), accountId(1))
    const { stream } = (await two.open(image!.hash)) as { stream: Readable }
    pass(11 * day)
    await one.cleanUp()
    await t.rejects(buffer(stream), { message: /went while it was read/ })
  })
}
