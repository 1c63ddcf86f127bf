/** A lost machine: what was backed up beside a running server is all there again in an empty folder, and serves. */
import { chownSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { Test } from 'tap'
import { journalOf, OwedJournal, processesWithJournal } from '../../src/store/sqlite/owed-journal.ts'
import { startGateway, temporaryFolder } from '../support/gateway.ts'
import type { TestGateway } from '../support/gateway.ts'
import { operatorOf } from '../support/operate.ts'

/** What it prints; throws what it complains of. */
async function operate(t: Test, dataDir: string, ...words: string[]): Promise<string> {
  const { code, output, complaint } = await operatorOf(t, dataDir)(...words)
  if (code !== 0) throw new Error(complaint)
  return output
}

async function owned({ services }: TestGateway, account: string) {
  const at = services.clock.now()
  const limits = services.config.plans['max']?.pools ?? {
    fast: { day: 0, week: 0, month: 0 },
    premium: { day: 0, week: 0, month: 0 },
  }
  return services.ledger.balance({ account, at, periods: services.calendar.at(at), limits })
}

t.test('turns, grants, the secret and images survive the machine', async (t) => {
  const g = await startGateway(t)
  const { id, token } = await g.member()
  await (await g.chat(token)).text()
  const painted = (await (await g.chat(token, { model: 'svc-img' })).json()) as {
    choices: readonly { message: { content: string } }[]
  }
  const link = new URL(/\((http[^)]+)\)/.exec(painted.choices[0]?.message.content ?? '')?.[1] ?? '')
  const picture = await (await fetch(link)).bytes()
  const at = g.services.clock.now()
  await g.services.ledger.grant({
    id: 'pack',
    account: id,
    kind: 'grant',
    pool: 'fast',
    credits: 777_777,
    at,
    expiresAt: at + 1e9,
  })
  const before = await owned(g, id)
  t.ok(before.pools.some(({ used }) => used > 0))

  const data = g.config.store.dataDir
  const copy = join(temporaryFolder(t), 'today.db')
  t.match(await operate(t, data, 'backup', copy), /The secret and 1 image are in .*today\.db\.files/)
  for (const file of [copy, join(`${copy}.files`, 'secret.key')]) t.equal(statSync(file).mode & 0o777, 0o600, file)
  t.equal(statSync(`${copy}.files`).mode & 0o777, 0o700)
  await t.rejects(operate(t, data, 'backup', copy), /exists; a backup overwrites nothing/)
  await g.close()
  t.same(
    readdirSync(data).filter((name) => name.startsWith('gateway.db')),
    ['gateway.db'],
    'a stopped server leaves one file',
  )

  const fresh = join(temporaryFolder(t), 'data')
  t.match(await operate(t, fresh, 'restore', copy), /was verified and is the database now[^]*Its secret and 1 image are back/)
  t.equal(statSync(fresh).mode & 0o777, 0o700)
  const again = await startGateway(t, { store: { dataDir: fresh } })
  t.equal(again.gateway.begunIn, null)
  t.same(await owned(again, id), before)
  const image = await fetch(again.url + link.pathname + link.search)
  t.equal(image.status, 200, 'a link sent before still opens')
  t.same(await image.bytes(), picture)
  t.equal((await again.chat(token)).status, 200, 'the key still works')
})

t.test('a data folder that was copied as it is is restored from its database; another secret is kept', async (t) => {
  const from = await startGateway(t)
  await from.close()
  const g = await startGateway(t)
  await g.close()
  const secretOf = (folder: string) => readFileSync(join(folder, 'secret.key'))
  const [data, copied] = [g.config.store.dataDir, join(temporaryFolder(t), 'copied')]
  cpSync(from.config.store.dataDir, copied, { recursive: true })
  const before = secretOf(data)
  t.match(await operate(t, data, 'restore', join(copied, 'gateway.db'), '--yes'), /the secret that was there is kept as/)
  t.ok(secretOf(data).equals(secretOf(copied)))
  t.ok(readFileSync(join(data, 'secret.key.before-restore-1')).equals(before))

  // An older backup, of the database alone.
  const alone = join(temporaryFolder(t), 'alone.db')
  renameSync(join(copied, 'gateway.db'), alone)
  t.match(await operate(t, data, 'restore', alone, '--yes'), /No secret or images came with it; those of .* stay/)
})

t.test('what was owed to the database when it was copied is charged after the restore', async (t) => {
  const g = await startGateway(t)
  const { id, token } = await g.member()
  await (await g.chat(token)).text()
  const data = g.config.store.dataDir
  const at = g.services.clock.now()
  const balance = await owned(g, id)
  // A turn whose ending the ledger does not take: it stands in its process's journal alone.
  const reservation = await g.services.ledger.reserve({
    account: id,
    requestId: 'mbr_owed',
    model: 'svc-2.1',
    pool: 'premium',
    at,
    periods: g.services.calendar.at(at),
    limits: { day: 1e6, week: 1e6, month: 1e6 },
    want: 1_000,
    floor: 1_000,
    price: { input: 1, output: 1, discountPercent: 0 },
    until: at + 60_000,
    idempotency: null,
    concurrency: Infinity,
  })
  if (reservation.kind !== 'held') throw new Error(`it is ${reservation.kind}`)
  const [process = ''] = processesWithJournal(join(data, 'gateway.db'))
  const beside = await OwedJournal.make(join(data, 'elsewhere.db'), process)
  const how = { tokens: { input: 300, output: 400 }, estimated: false, contradicted: null, outcome: 'completed' } as const
  await beside.write({ kind: 'settle', hold: reservation.hold.id, at, credits: 700, target: null, upstreamStatus: 200, ...how })
  const lines = readFileSync(journalOf(join(data, 'elsewhere.db'), process))
  await beside.close(false)
  writeFileSync(journalOf(join(data, 'gateway.db'), process), lines)

  const copy = join(temporaryFolder(t), 'today.db')
  await operate(t, data, 'backup', copy)
  await g.services.ledger.refund({ hold: reservation.hold.id, at, code: 'upstream_error', target: null, upstreamStatus: null })
  const fresh = join(temporaryFolder(t), 'data')
  t.match(await operate(t, fresh, 'restore', copy), /Endings of turns that were still owed to it are back too/)
  const again = await startGateway(t, { store: { dataDir: fresh } })
  const used = ({ pools }: Awaited<ReturnType<typeof owned>>): number =>
    pools.reduce((sum, one) => sum + (one.pool === 'premium' && one.window === 'day' ? one.used : 0), 0)
  t.equal(used(await owned(again, id)) - used(balance), 700)
  t.match(await again.turns(), [{ requestId: 'mbr_owed', state: 'settled', credits: 700 }, { state: 'settled' }])
})

t.test(
  'what root restores belongs to whom the folder belongs, or the server could not open it',
  { skip: process.getuid?.() !== 0 && 'needs root' },
  async (t) => {
    const g = await startGateway(t)
    const from = g.config.store.dataDir
    mkdirSync(join(from, 'images', 'ab'), { recursive: true })
    writeFileSync(join(from, 'images', 'ab', 'picture.png'), 'a picture')
    const copy = join(temporaryFolder(t), 'today.db')
    await operate(t, from, 'backup', copy)
    const data = join(temporaryFolder(t), 'data')
    mkdirSync(data, { mode: 0o700 })
    chownSync(data, 65_534, 65_534)
    await operate(t, data, 'restore', copy)
    t.ok(existsSync(join(data, 'images', 'ab', 'picture.png')))
    for (const name of readdirSync(data, { recursive: true, encoding: 'utf8' }))
      t.strictSame([name, statSync(join(data, name)).uid, statSync(join(data, name)).gid], [name, 65_534, 65_534])
  },
)

t.test('without the images, it is said where they are', async (t) => {
  const g = await startGateway(t)
  const copy = join(temporaryFolder(t), 'today.db')
  t.match(
    await operate(t, g.config.store.dataDir, 'backup', '--no-images', copy),
    /The images stay in .*images; copy that folder/,
  )
  t.same(readdirSync(`${copy}.files`), ['secret.key'])
  t.ok(existsSync(copy))
})
