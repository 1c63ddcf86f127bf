/** Images in the shared database: stored by one node, read and cleaned up by any. */
import { randomBytes } from 'node:crypto'
import type { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import t from 'tap'
import type { Test } from 'tap'
import { Client } from 'pg'
import { ImageStore } from '../../../../../src/images/image-store.ts'
import { paintPng } from '../../../../../src/demo-upstream/png.ts'
import { providePostgres } from '../../../../support/servers/postgres/postgres.ts'
import { toAccountId, addAccount, noon } from '../../../../support/store/contract/store-contract.ts'
import { createTestSchema, openTestStore } from '../test-store.ts'

const postgres = await providePostgres(t, createTestSchema)
const limits = { style: 'chat', maxBytes: 4_000_000, linkDays: 7, keepForDays: 10, keepBytes: 3_000_000 } as const
const day = 86_400_000

/** A unique image of many chunks. */
const picture = (bytes: number) => Buffer.concat([paintPng('a house'), randomBytes(bytes)])

if (postgres !== undefined) {
  const ground = async (t: Test) => {
    const url = await postgres.createDatabase(t)
    const client = new Client({ connectionString: url })
    await client.connect()
    t.teardown(() => client.end())
    let now = noon
    const stores = await Promise.all([1, 2, 3].map(() => openTestStore(t, url)))
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

  t.test('reads an image of one node completely on all nodes', async (t) => {
    const { one, nodes } = await ground(t)
    for (const bytes of [0, 700_000, 2 * 256 * 1024 - paintPng('a house').length]) {
      const painted = picture(bytes)
      const image = await one.put(painted, toAccountId(1))
      for (const node of nodes) t.ok((await bytesOf(node, image!.hash))?.equals(painted), `${painted.length} bytes`)
    }
    t.equal(await one.open('0'.repeat(64)), null)
  })

  t.test('stores equal bytes once, and keeps them until the last owner is removed', async (t) => {
    const { one, two, three, nodes, kept, pass } = await ground(t)
    const painted = picture(1_000)
    const images = await Promise.all(nodes.map((node) => node.put(painted, toAccountId(1))))
    t.same(await kept(), [images[0]!.hash])
    pass(6 * day)
    await two.put(painted, toAccountId(2))
    pass(6 * day)
    await three.cleanUp()
    t.ok((await bytesOf(one, images[0]!.hash))?.equals(painted), 'the second owner still has it')
    pass(6 * day)
    await three.cleanUp()
    t.same(await kept(), [], 'the bytes are deleted with the record')
    t.equal(await one.open(images[0]!.hash), null)
  })

  t.test('removes the oldest images above the limit, on one node or on all at once', async (t) => {
    const { one, two, nodes, kept, pass } = await ground(t)
    const hashes: string[] = []
    for (const node of [one, two, one, two]) {
      hashes.push((await node.put(picture(1_000_000), toAccountId(1)))!.hash)
      pass(1_000)
    }
    await Promise.all(nodes.map((node) => node.cleanUp()))
    t.same((await kept()).toSorted(), hashes.slice(2).toSorted(), 'the last two')
  })

  t.test('keeps an image that is stored during a clean-up', async (t) => {
    const { one, two, pass } = await ground(t)
    const painted = picture(1_000)
    for (let round = 0; round < 20; round++) {
      const [image] = await Promise.all([one.put(painted, toAccountId(1)), two.cleanUp()])
      t.ok((await bytesOf(two, image!.hash))?.equals(painted), `round ${round}`)
      pass(11 * day)
    }
  })

  t.test('fails the stream of an image that is deleted while it is read', async (t) => {
    const { one, two, pass } = await ground(t)
    const image = await one.put(picture(1_500_000), toAccountId(1))
    const { stream } = (await two.open(image!.hash)) as { stream: Readable }
    pass(11 * day)
    await one.cleanUp()
    await t.rejects(buffer(stream), { message: /was deleted while it was read/ })
  })
}
