/** A backup made beside a running server restores everything into an empty folder, which then serves. */
import { chownSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { Test } from 'tap'
import {
  getJournalPath,
  SettlementJournal,
  listJournalProcesses,
} from '../../../../../src/store/sqlite/process/settlement-journal.ts'
import { startGateway, createTemporaryFolder } from '../../../../support/gateway/test-gateway.ts'
import type { TestGateway } from '../../../../support/gateway/test-gateway.ts'
import { createOperatorCli } from '../../../../support/gateway/operator-cli.ts'

/** Returns standard output; throws standard error. */
async function operate(t: Test, dataDir: string, ...words: string[]): Promise<string> {
  const { code, stdout, stderr } = await createOperatorCli(t, dataDir)(...words)
  if (code !== 0) throw new Error(stderr)
  return stdout
}

async function collectOwned({ services }: TestGateway, account: string) {
  const at = services.clock.now()
  const limits = services.config.plans['max']?.pools ?? {
    fast: { day: 0, week: 0, month: 0 },
    premium: { day: 0, week: 0, month: 0 },
  }
  return services.ledger.balance({ account, at, periods: services.calendar.getPeriods(at), limits })
}

t.test('restores turns, grants, the secret and images on another machine', async (t) => {
  const g = await startGateway(t)
  const { id, token } = await g.createMember()
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
  const before = await collectOwned(g, id)
  t.ok(before.pools.some(({ used }) => used > 0))

  const data = g.config.store.dataDir
  const copy = join(createTemporaryFolder(t), 'today.db')
  t.match(await operate(t, data, 'backup', copy), /The secret and 1 image are in .*today\.db\.files/)
  for (const file of [copy, join(`${copy}.files`, 'secret.key')]) t.equal(statSync(file).mode & 0o777, 0o600, file)
  t.equal(statSync(`${copy}.files`).mode & 0o777, 0o700)
  await t.rejects(operate(t, data, 'backup', copy), /exists; a backup overwrites nothing/)
  await t.rejects(operate(t, data, 'backup', join(data, 'missing', 'today.db')), /The folder .*missing does not exist/)
  await g.close()
  t.same(
    readdirSync(data).filter((name) => name.startsWith('gateway.db')),
    ['gateway.db'],
    'a stopped server leaves one file',
  )

  const fresh = join(createTemporaryFolder(t), 'data')
  t.match(await operate(t, fresh, 'restore', copy), /was verified and is the database now[^]*Its secret and 1 image are back/)
  t.equal(statSync(fresh).mode & 0o777, 0o700)
  const again = await startGateway(t, { store: { dataDir: fresh } })
  t.equal(again.gateway.createdLocation, null)
  t.same(await collectOwned(again, id), before)
  const image = await fetch(again.url + link.pathname + link.search)
  t.equal(image.status, 200, 'a link sent before still opens')
  t.same(await image.bytes(), picture)
  t.equal((await again.chat(token)).status, 200, 'the key still works')
})

t.test('restores a copied data folder from its database, and keeps a different secret', async (t) => {
  const from = await startGateway(t)
  await from.close()
  const g = await startGateway(t)
  await g.close()
  const secretOf = (folder: string) => readFileSync(join(folder, 'secret.key'))
  const [data, copied] = [g.config.store.dataDir, join(createTemporaryFolder(t), 'copied')]
  cpSync(from.config.store.dataDir, copied, { recursive: true })
  const before = secretOf(data)
  t.match(await operate(t, data, 'restore', join(copied, 'gateway.db'), '--yes'), /the secret that was there is kept as/)
  t.ok(secretOf(data).equals(secretOf(copied)))
  t.ok(readFileSync(join(data, 'secret.key.before-restore-1')).equals(before))

  // An older backup, of the database alone.
  const alone = join(createTemporaryFolder(t), 'alone.db')
  renameSync(join(copied, 'gateway.db'), alone)
  t.match(await operate(t, data, 'restore', alone, '--yes'), /No secret or images came with it; those of .* stay/)
})

t.test('charges settlements that were pending at the time of the backup', async (t) => {
  const g = await startGateway(t)
  const { id, token } = await g.createMember()
  await (await g.chat(token)).text()
  const data = g.config.store.dataDir
  const at = g.services.clock.now()
  const balance = await collectOwned(g, id)
  // A settlement that the ledger does not accept: only the journal of its process has it.
  const reservation = await g.services.ledger.reserve({
    account: id,
    requestId: 'mbr_owed',
    model: 'svc-2.1',
    pool: 'premium',
    at,
    periods: g.services.calendar.getPeriods(at),
    limits: { day: 1e6, week: 1e6, month: 1e6 },
    amount: 1_000,
    minAmount: 1_000,
    price: { input: 1, output: 1, discountPercent: 0 },
    leaseUntil: at + 60_000,
    idempotency: null,
    maxConcurrentTurns: Infinity,
  })
  if (reservation.kind !== 'held') throw new Error(`it is ${reservation.kind}`)
  const [process = ''] = listJournalProcesses(join(data, 'gateway.db'))
  const beside = await SettlementJournal.create(join(data, 'elsewhere.db'), process)
  const how = { tokens: { input: 300, output: 400 }, estimated: false, contradicted: null, outcome: 'completed' } as const
  await beside.append({ kind: 'settle', hold: reservation.hold.id, at, credits: 700, target: null, upstreamStatus: 200, ...how })
  const lines = readFileSync(getJournalPath(join(data, 'elsewhere.db'), process))
  await beside.close(false)
  writeFileSync(getJournalPath(join(data, 'gateway.db'), process), lines)

  const copy = join(createTemporaryFolder(t), 'today.db')
  await operate(t, data, 'backup', copy)
  await g.services.ledger.refund({ hold: reservation.hold.id, at, code: 'upstream_error', target: null, upstreamStatus: null })
  const fresh = join(createTemporaryFolder(t), 'data')
  t.match(await operate(t, fresh, 'restore', copy), /Pending settlements were restored too/)
  const again = await startGateway(t, { store: { dataDir: fresh } })
  const used = ({ pools }: Awaited<ReturnType<typeof collectOwned>>): number =>
    pools.reduce((sum, one) => sum + (one.pool === 'premium' && one.window === 'day' ? one.used : 0), 0)
  t.equal(used(await collectOwned(again, id)) - used(balance), 700)
  t.match(await again.listTurns(), [{ requestId: 'mbr_owed', state: 'settled', credits: 700 }, { state: 'settled' }])
})

t.test(
  'files restored by root belong to the owner of the folder, so that the server can open them',
  { skip: process.getuid?.() !== 0 && 'needs root' },
  async (t) => {
    const g = await startGateway(t)
    const from = g.config.store.dataDir
    mkdirSync(join(from, 'images', 'ab'), { recursive: true })
    writeFileSync(join(from, 'images', 'ab', 'picture.png'), 'a picture')
    const copy = join(createTemporaryFolder(t), 'today.db')
    await operate(t, from, 'backup', copy)
    const data = join(createTemporaryFolder(t), 'data')
    mkdirSync(data, { mode: 0o700 })
    chownSync(data, 65_534, 65_534)
    await operate(t, data, 'restore', copy)
    t.ok(existsSync(join(data, 'images', 'ab', 'picture.png')))
    for (const name of readdirSync(data, { recursive: true, encoding: 'utf8' }))
      t.strictSame([name, statSync(join(data, name)).uid, statSync(join(data, name)).gid], [name, 65_534, 65_534])
  },
)

t.test('names the location of the images where they are missing', async (t) => {
  const g = await startGateway(t)
  const copy = join(createTemporaryFolder(t), 'today.db')
  t.match(
    await operate(t, g.config.store.dataDir, 'backup', '--no-images', copy),
    /The images stay in .*images; copy that folder/,
  )
  t.same(readdirSync(`${copy}.files`), ['secret.key'])
  t.ok(existsSync(copy))
})
