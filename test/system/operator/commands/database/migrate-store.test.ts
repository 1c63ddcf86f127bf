/** An installation is transferred completely from its folder to PostgreSQL and back, however often it is interrupted. */
import { spawn } from 'node:child_process'
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { createHash } from 'node:crypto'
import { Client } from 'pg'
import t from 'tap'
import type { Test } from 'tap'
import type { Store } from '../../../../../src/domain/store.ts'
import { CommandError } from '../../../../../src/operator/installation.ts'
import { migrateStore } from '../../../../../src/operator/commands/database/migrate-store.ts'
import { transfer } from '../../../../../src/store/transfer/transfer.ts'
import type { TransferProgress } from '../../../../../src/store/transfer/transfer.ts'
import { transferTables } from '../../../../../src/store/transfer/tables.ts'
import { openPostgresTarget } from '../../../../../src/store/postgres/transfer.ts'
import { openLedger } from '../../../../../src/store/postgres/open-ledger.ts'
import { openSqliteSource } from '../../../../../src/store/sqlite/transfer.ts'
import { systemClock } from '../../../../../src/system/clock.ts'
import { loadOrCreateSecret } from '../../../../../src/system/secret.ts'
import { OperatorError } from '../../../../../src/system/operator-error.ts'
import { ImageFolder } from '../../../../../src/images/image-folder.ts'
import { ImageStore } from '../../../../../src/images/image-store.ts'
import { compileCacheEnvironment } from '../../../../runner/clean-command.ts'
import { createPlan } from '../../../../support/gateway/test-plans.ts'
import { createOrderWorld, placeOrder } from '../../../../support/payments/order-world.ts'
import { PaymentProviderStandIn } from '../../../../support/payments/payment-provider-stand-in.ts'
import { redeemCode } from '../../../store/contract/redeem-code-contract.ts'
import { createSubscriptionService } from '../../../store/contract/subscription-contract.ts'
import { providePostgres } from '../../../../support/servers/postgres/postgres.ts'
import {
  toAccountId,
  addAccount,
  createSettleOrder,
  reserveHold,
  createApiKey,
  noon,
  createRefundOrder,
} from '../../../../support/store/contract/store-contract.ts'
import { runLedgerScenario } from '../../../store/ledger/ledger-scenario.ts'
import { createTestSchema, openTestStore } from '../../../store/postgres/test-store.ts'
import { createTemporaryFolder, openStoreAt, withRawDatabase } from '../../../../support/store/sqlite/support.ts'

const program = fileURLToPath(new URL('../../../../../src/operator/main.ts', import.meta.url))
const postgres = await providePostgres(t, createTestSchema)

const picture = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)

/** Rows for tables that the ledger scenario leaves empty; unusual text among them. */
const extraConfig = `
  insert into invite_code values ('${toAccountId(1)}', 'ADA1');
  insert into invite values ('${toAccountId(2)}', '${toAccountId(1)}', x'01', x'02', 'paid', 5, null);
  insert into email_verification values (x'00ff', x'01', 'a@example.org', 'a@example.org', '10.0.0.0/24', 1, x'02', 5, 0, null, '', 0, 7);
  insert into identity values ('github', '42', '${toAccountId(1)}', 3), ('Google', 'é"\\', '${toAccountId(2)}', 4);
  insert into provider_login values (x'05', 'github', 'n', 'v', '/"next"', null, 9);
  insert into device_login values (x'06', 'ABCD', 'svc', null, 'a {b}, NULL', '10.0.0.1', '10.0.0.0/24', 'pending', null, 5, null, 0, 1, 2);
  insert into rush values ('rush_1', 3, 'fast', 9, 8, 1, 2, 1);
  insert into boost_claim values ('claim_1', '${toAccountId(1)}', 'rush', 'fast', 9, 'rush_1', 1, 9, 0);
  insert into attempt (id, subject, ends_at) values (41, 'letter:10.0.0.1', 5);
  insert into carried_usage values (zeroblob(32), 'fast', 'day', 1, 2, 9007199254740991);
  insert into usage_alert_subscription values ('${toAccountId(1)}', 'zh', 'Asia/Shanghai', 4);
  insert into usage_alert values ('${toAccountId(1)}', 'premium', 'week', 5, 80, 'sent', 1, 3);
  insert into notification_event values (7, 'msg_7', 'account_created', 'once', '${toAccountId(1)}', null, '{"plan":"é"}', 1, 1);
  insert into notification_delivery values (3, 7, 'crm', 'account_created', '${toAccountId(1)}', 'waiting', 1, 1, 2, null, 500, 'HTTP 500');
  insert into notification_incident values ('upstream_down', 'main/model', 'it "fails"', 5);
  insert into notification_receiver values ('crm', 1, 5, 4, null);
  insert into audit values ('aud_1', '${toAccountId(1)}', 'signed_in', 1, null, null, '{"a":"\\u0041\n"}', 'operator', 'asked "twice"');
  insert into operator values ('${toAccountId(1)}', 'owner', null, 5);
  insert into account_deletion values ('${toAccountId(3)}', 5, 9, 2, 'zh', 'Asia/Shanghai');
  insert into second_factor values ('${toAccountId(1)}', x'00ff', 5, 9);
  insert into recovery_code values ('${toAccountId(1)}', zeroblob(32), null);
  insert into passkey values ('psk_1', '${toAccountId(1)}', 'a "key"', x'00', x'00ff', 4294967295, 'usb nfc', 5, null);
  insert into passkey_challenge values ('ses_1', 'sign_in', zeroblob(32), 9);
  insert into operator_session values ('ops_1', zeroblob(32), null, null, 'root', '::1', null, 1, 2, 3);
  insert into shell_link values (zeroblob(32), 'root', 1, 2, null);
  insert into operator_key values ('opk_1', '${toAccountId(1)}', 'ci', 'svc_op_1', 'abcd', zeroblob(32), 'members:read', null, 5, 1, 2, 3, null, 9, null);
  insert into operator_request values (zeroblob(32), 'f', 200, '{"a":1}', 5);
  insert into taken_out_target values ('main/model', 1, 2, 'it "fails"');
  insert into notice values ('ntc_1', 'maintenance', 'down "soon"', null, 1, 2, 3, 4);
  insert into oauth_client values ('app_1', '{}', 1, null);
  insert into oauth_record values ('token', zeroblob(32), 'ses_1', '{}', null, 9);
`

/** A folder as a server leaves it after some use; created once. */
const usedInstallation = (async () => {
  const folder = createTemporaryFolder(t)
  const file = join(folder, 'gateway.db')
  const store = await openStoreAt(t, file, { role: 'server' })
  await runLedgerScenario(store, 20_261_122, 700)
  await store.apiKeys.create(createApiKey(1), 5)
  await store.sessions.create({
    id: 'ses_1',
    account: toAccountId(1),
    kind: 'cli',
    method: 'device',
    hash: Buffer.alloc(32, 7),
    client: 'svc',
    address: null,
    createdAt: noon,
    expiresAt: noon + 1e9,
  })
  await createSubscriptionService(store, { now: noon }).give(toAccountId(1), createPlan('pro', 10), noon + 1e9)
  await redeemCode(store)
  const member = await store.accounts.find(toAccountId(1))
  if (member === undefined) throw new Error('there is no account')
  const provider = new PaymentProviderStandIn()
  const world = createOrderWorld({ store, time: { now: noon }, account: member, providers: [provider] })
  for (const what of ['small', 'pro/month']) {
    const { id } = await placeOrder(world, what)
    provider.pay(id)
    await world.orders.receive('stand-in', provider.signNotification([{ kind: 'order', order: id }], noon + 1))
  }
  const limits = { style: 'chat' as const, linkDays: 9, keepForDays: 9, keepBytes: 1e9, maxBytes: 1e6 }
  const images = new ImageStore({
    files: new ImageFolder(join(folder, 'images'), store.images),
    records: store.images,
    limits,
    clock: { now: () => noon },
  })
  await images.put(picture, toAccountId(1))
  await images.put(Buffer.concat([picture, picture]), toAccountId(2))
  await store.close()
  withRawDatabase(file, (db) => db.exec(extraConfig))
  loadOrCreateSecret(join(folder, 'secret.key'))
  return folder
})()

async function installation(t: Test): Promise<string> {
  const folder = join(createTemporaryFolder(t), 'data')
  cpSync(await usedInstallation, folder, { recursive: true })
  return folder
}

function migrateQuietly(from: string, to: string) {
  const lines: string[] = []
  const told = migrateStore({ json: true, from, to }, { write: (line: string) => lines.push(line) })
  return told.then(({ text }) => ({ ...(JSON.parse(text) as Record<string, unknown>), lines }))
}

/** Expects one sentence for an operator. */
async function assertRefused(t: Test, told: Promise<unknown>, sentence: RegExp): Promise<void> {
  const error = await told.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  t.ok(error instanceof OperatorError || error instanceof CommandError, String(error))
  t.match((error as Error).message, sentence)
  t.notMatch((error as Error).message, /hunter2|\n/)
}

type Dump = Readonly<Record<string, readonly string[]>>

/** Every row of every table, except live processes, balance watermarks, and lists and sums of turns, which are made anew. */
function dumpSqlite(folder: string): Dump {
  return withRawDatabase(join(folder, 'gateway.db'), (db) => {
    const names = db
      .prepare<[], string>(`select name from sqlite_schema where type = 'table' and name not like 'sqlite_%'`)
      .pluck()
      .all()
      .filter(
        (name) =>
          !['process', 'notification_node', 'balance_watermark', 'balance_watermark_hold', 'migration'].includes(name) &&
          !name.startsWith('turn_'),
      )
    return Object.fromEntries(
      names.map((name) => [name, toTexts(db.prepare<[], Record<string, unknown>>(`select * from ${name}`).all())]),
    )
  })
}

function toTexts(rows: readonly Record<string, unknown>[]): readonly string[] {
  return rows
    .map((row) => JSON.stringify(Object.fromEntries(Object.entries(row).toSorted(([one], [other]) => (one < other ? -1 : 1)))))
    .toSorted()
}

const postgresOnlyColumns = ['version', 'open_holds', 'pack_count', 'at']
const sqliteOnlyColumns = ['previous_turn', 'last_turn']

/** The rows of the file, without tables that only one of the databases has. */
async function dumpPostgres(url: string): Promise<Dump> {
  const client = new Client({
    connectionString: url,
    types: { getTypeParser: (oid) => (oid === 20 ? Number : oid === 17 ? bytes : String) },
  })
  await client.connect()
  try {
    const dump: Record<string, readonly string[]> = {}
    for (const { name } of transferTables) {
      const { rows } = await client.query<Record<string, unknown>>(`select * from ${name}`)
      dump[name] = toTexts(
        rows.map((row) => without(row, name === 'balance' ? postgresOnlyColumns : name === 'account_change' ? ['at'] : [])),
      )
    }
    return dump
  } finally {
    await client.end()
  }
}

function bytes(text: string): Buffer {
  return Buffer.from(text.slice(2), 'hex')
}

function without(row: Record<string, unknown>, names: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(Object.entries(row).filter(([name]) => !names.includes(name)))
}

/** The tables that both databases have. */
function shared(dump: Dump): Dump {
  const cut = (name: string, rows: readonly string[]) =>
    ['turn', 'balance'].includes(name)
      ? rows.map((row) => JSON.stringify(without(JSON.parse(row) as Record<string, unknown>, sqliteOnlyColumns))).toSorted()
      : rows
  return Object.fromEntries(Object.entries(dump).map(([name, rows]) => [name, cut(name, rows)]))
}

if (postgres !== undefined) {
  const asked = async (url: string, statement: string): Promise<readonly Record<string, unknown>[]> => {
    const client = new Client({ connectionString: url })
    await client.connect()
    try {
      return (await client.query<Record<string, unknown>>(statement)).rows
    } finally {
      await client.end()
    }
  }

  t.test('transfers every row there and back, and serves in both', async (t) => {
    const folder = await installation(t)
    const url = await postgres.createDatabase(t, { empty: true })
    const before = dumpSqlite(folder)
    for (const [name, rows] of Object.entries(before)) t.ok(rows.length > 0, `${rows.length} of ${name}`)
    const there = await migrateQuietly(folder, url)
    t.match(there, { ok: true, from: folder, found: 0, images: 2, images_lost: 0 })
    t.match(there.lines.join(''), /Copying: \d+ of \d+ \(\d+ %\), \d+ a second: turn\n/)
    t.same(dumpSqlite(folder), before, 'the folder is as it was')
    t.same(await dumpPostgres(url), shared(before), 'PostgreSQL has all of it')
    const [packTotals] = await asked(
      url,
      'select sum(pack_count)::int as packs, (select count(*)::int from pack) as given from balance',
    )
    t.equal(packTotals?.['packs'], packTotals?.['given'], 'balances include their packs')

    const home = join(createTemporaryFolder(t), 'home')
    t.match(await migrateQuietly(url, home), { ok: true, to: home, images: 2 })
    const back = dumpSqlite(home)
    t.same(shared(back), shared(before))
    // From each turn to the account's previous turn; where that was pruned, to the one before it.
    const ways = (dump: Dump) =>
      (dump['turn'] ?? [])
        .map((row) => JSON.parse(row) as { id: number; account: string; previous_turn: number })
        .toSorted((one, other) => one.id - other.id)
    const known = new Set(ways(before).map(({ id }) => id))
    const expected = ways(before).map((turn) => {
      const earlier = ways(before).filter(({ id, account }) => account === turn.account && id < turn.id)
      return { ...turn, previous_turn: known.has(turn.previous_turn) ? turn.previous_turn : (earlier.at(-1)?.id ?? 0) }
    })
    t.same(ways(back), expected)
    t.ok(readFileSync(join(home, 'secret.key')).equals(readFileSync(join(folder, 'secret.key'))))
    const images = readdirSync(join(folder, 'images'), { recursive: true })
    t.same(readdirSync(join(home, 'images'), { recursive: true }).toSorted(), images.toSorted())
    t.equal(statSync(home).mode & 0o777, 0o700)
    t.same(readdirSync(home).toSorted(), ['gateway.db', 'images', 'secret.key'])

    const goesOn = (name: string, open: (t: Test) => Promise<Store>) =>
      t.test(name, async (t) => {
        const store = await open(t)
        t.match(await store.apiKeys.findByHash(createApiKey(1).hash), {
          key: { id: 'key_1' },
          account: { id: toAccountId(1), plan: 'pro' },
        })
        t.match(await store.sessions.findByHash(Buffer.alloc(32, 7)), { session: { id: 'ses_1' } })
        const hold = await reserveHold(store, { account: toAccountId(5) })
        t.ok(hold.id > Math.max(...known), 'ids go on')
        t.match(await store.ledger.settle(createSettleOrder(hold.id, 7)), { applied: true, state: 'settled' })
        t.equal(await store.accounts.setPlan(toAccountId(2), 'pro'), true)
        t.match(await store.ledger.verify(), { ok: true, mismatches: [] })
      })
    await goesOn('on PostgreSQL', (t) => openTestStore(t, url, { ledger: openLedger }))
    await goesOn('in the folder', (t) => openStoreAt(t, join(home, 'gateway.db'), { role: 'server' }))
  })

  t.test('resumes after an interruption at any page', async (t) => {
    const folder = await installation(t)
    const url = await postgres.createDatabase(t)
    /** Interrupted as soon as so many rows were copied; with 0 before anything is. */
    const attempt = async (until: number) => {
      const files = { readSecret: () => null, writeSecret() {}, hasImage: () => false, readImage: () => picture, writeImage() {} }
      const process_ = { id: `mover-${until}`, pid: process.pid }
      const source = await openSqliteSource({ file: join(folder, 'gateway.db'), files, process: process_, clock: systemClock })
      const target = await openPostgresTarget({ url, secret: null, clock: systemClock })
      try {
        const tell = ({ step, done }: TransferProgress) => {
          if (until === 0 || (step === 'copying' && done >= until)) throw new Error('interrupted')
        }
        return await transfer(source, target, tell, 40)
      } finally {
        await target.close()
        await source.close()
      }
    }
    for (const until of [0, 1, 80, 160, 320, 480]) await t.rejects(attempt(until), /interrupted/, `${until}`)
    await t.rejects(
      openTestStore(t, url),
      /is being moved to this database, and is not complete/,
      'no server starts on half of it',
    )
    const { found, rows } = await attempt(Infinity)
    t.ok(found >= 480 && found <= rows, `${found} of ${rows} were there`)
    t.same(await dumpPostgres(url), shared(dumpSqlite(folder)))
    await openTestStore(t, url)
  })

  t.test('resumes after being killed at several points, there and back', async (t) => {
    const run = (from: string, to: string, killAt?: RegExp) => {
      const env = { PATH: process.env['PATH'] ?? '', ...compileCacheEnvironment }
      const words = [program, 'migrate-store', '--from', from, '--to', to]
      const child = spawn(process.execPath, words, { env, stdio: ['ignore', 'pipe', 'pipe'] })
      const ended = new Promise<string | number | null>((resolve) => child.on('close', (code, signal) => resolve(signal ?? code)))
      const said: string[] = []
      createInterface({ input: child.stderr }).on('line', (line) => {
        said.push(line)
        if (killAt?.test(line) === true) child.kill('SIGKILL')
      })
      return Promise.all([ended, text(child.stdout)]).then(([how, output]) => ({ how, output, said: said.join('\n') }))
    }
    const folder = await installation(t)
    const before = dumpSqlite(folder)
    const url = await postgres.createDatabase(t)
    const killed = async (from: string, to: string, point: RegExp) => {
      const { how, said } = await run(from, to, point)
      t.equal(how, 'SIGKILL', `${point}`, { said })
    }
    for (const point of [/Copying: .*: balance/, /Comparing/]) await killed(folder, url, point)
    const there = await run(folder, url)
    t.match(there, { how: 0, output: /was moved to .* were there from before/ })
    t.match(there.said, /^Going on: \d+ of \d+ rows are there from before\.$/m)
    t.same(await dumpPostgres(url), shared(before))
    t.equal((await asked(url, 'select * from image_data')).length, 2)

    const home = join(createTemporaryFolder(t), 'home')
    await killed(url, home, /Copying: .*: entry/)
    t.notOk(existsSync(join(home, 'gateway.db')), 'no server finds half of it')
    t.match(await run(url, home), { how: 0, output: /were there from before/ })
    t.same(shared(dumpSqlite(home)), shared(before))
  })

  t.test('releases the holds of a killed server first and brings its balances up to date', async (t) => {
    const folder = await installation(t)
    const store = await openStoreAt(t, join(folder, 'gateway.db'), { role: 'server' })
    const newest = withRawDatabase(join(folder, 'gateway.db'), (db) =>
      db.prepare<[], number>('select max(id) from turn').pluck().get(),
    )
    for (let index = 0; index < 20; index += 1)
      await store.ledger.settle(createSettleOrder((await reserveHold(store, { account: toAccountId(1), amount: 9 })).id, 3))
    await reserveHold(store, { account: toAccountId(1), amount: 50 })
    const killed = join(createTemporaryFolder(t), 'killed')
    cpSync(folder, killed, { recursive: true, filter: (path) => !/server|process-/.test(path) })
    await store.close()
    const url = await postgres.createDatabase(t)
    t.match(await migrateQuietly(killed, url), { ok: true })
    t.match(
      await asked(
        url,
        `select state, count(*)::int as turns from turn where account = '${toAccountId(1)}' and id > ${newest} group by state order by state`,
      ),
      [
        { state: 'expired', turns: 1 },
        { state: 'settled', turns: 20 },
      ],
    )

    // And on PostgreSQL, where another process placed the hold.
    await t.test('a node begins a turn and ends', async (t) => {
      await reserveHold(await openTestStore(t, url, { ledger: openLedger }), { account: toAccountId(1), amount: 50 })
    })
    t.match(await migrateQuietly(url, join(createTemporaryFolder(t), 'home')), { ok: true })
    t.match(await asked(url, `select count(*)::int as held from turn where state = 'held'`), [{ held: 0 }])
  })

  t.test('refuses an impossible transfer in one sentence', async (t) => {
    const folder = await installation(t)
    const file = join(folder, 'gateway.db')
    const url = await postgres.createDatabase(t)
    const empty = () => join(createTemporaryFolder(t), 'empty')

    await assertRefused(t, migrateQuietly(folder, empty()), /^One of the two must be a database/)
    await assertRefused(t, migrateQuietly(url, url), /^Both are PostgreSQL/)
    await assertRefused(t, migrateQuietly(empty(), url), /^There is no database in/)
    await assertRefused(
      t,
      migrateQuietly(folder, 'mysql://ada:hunter2@db/svc'),
      /^The address of the store must be like postgres:/,
    )
    await assertRefused(
      t,
      migrateQuietly(folder, 'postgres://ada:hunter2@127.0.0.1:1/svc'),
      /^The database cannot be used: .*ECONNREFUSED/,
    )
    await assertRefused(t, migrateQuietly(url, file), /is a file\. Name an empty folder/)
    await assertRefused(t, migrateQuietly(url, folder), /gateway\.db is there already/)
    await assertRefused(t, migrateQuietly(url, empty()), /^The database has no installation/)

    const server = await openStoreAt(t, file, { role: 'server' })
    await assertRefused(t, migrateQuietly(folder, url), /^Another server works on this data: process \d+/)
    await server.close()
    const guest = await openStoreAt(t, file)
    await addAccount(guest, 9)
    const hold = await reserveHold(guest, { account: toAccountId(9) })
    await assertRefused(t, migrateQuietly(folder, url), /^1 turns? .* held by a process that lives/)
    await guest.ledger.refund(createRefundOrder(hold.id))
    await guest.close()

    await t.test('while a node is running', async (t) => {
      const node = await openTestStore(t, url)
      await assertRefused(t, migrateQuietly(folder, url), /^1 server uses this database/)
      await assertRefused(t, migrateQuietly(url, empty()), /^1 server uses this database/)
      await addAccount(node)
    })
    await assertRefused(t, migrateQuietly(folder, url), /^The database is not empty/)
  })

  t.test('resumes a partial transfer only from the same source and version', async (t) => {
    const folder = await installation(t)
    const file = join(folder, 'gateway.db')
    const url = await postgres.createDatabase(t)
    const half = async () => {
      const lines: string[] = []
      const write = (line: string) => {
        lines.push(line)
        if (/^Copying: .*: turn/.test(line)) throw new Error('interrupted')
      }
      await t.rejects(migrateStore({ json: false, from: folder, to: url }, { write }), /interrupted/)
    }
    await half()
    await assertRefused(
      t,
      migrateQuietly(url, join(createTemporaryFolder(t), 'home')),
      /^The database is the target of an unfinished transfer/,
    )
    const secret = readFileSync(join(folder, 'secret.key'))
    writeFileSync(join(folder, 'secret.key'), Buffer.alloc(32, 1))
    await assertRefused(t, migrateQuietly(folder, url), /another secret/)
    writeFileSync(join(folder, 'secret.key'), secret)
    withRawDatabase(file, (db) => db.exec(`update account set plan = 'max' where id = '${toAccountId(1)}'`))
    await assertRefused(t, migrateQuietly(folder, url), /this one has changed since the move began \(table account\)/)
    await asked(url, `insert into migration (name, applied_at) values ('0099-later', 0)`)
    await assertRefused(t, migrateQuietly(folder, url), /Another version of svc-gateway began a transfer/)
    withRawDatabase(file, (db) => db.exec(`insert into migration (name, applied_at) values ('0099-later', 0)`))
    await assertRefused(t, migrateQuietly(folder, url), /made by a newer version of svc-gateway/)
  })

  t.test('refuses a ledger with a mismatch and reports an image without its file', async (t) => {
    const folder = await installation(t)
    const file = join(folder, 'gateway.db')
    const url = await postgres.createDatabase(t)
    const wrong = await installation(t)
    withRawDatabase(join(wrong, 'gateway.db'), (db) =>
      db.exec(`update turn set credits = credits + 1, seq = seq where state = 'settled'`),
    )
    await assertRefused(t, migrateQuietly(wrong, url), /^The ledger of the source does not verify: acc/)
    t.same(await asked(url, 'select id from account'), [], 'and nothing has come over')

    const hash = createHash('sha256').update(picture).digest('hex')
    rmSync(join(folder, 'images', hash.slice(0, 2), hash.slice(2, 4), `${hash}.png`))
    t.match(await migrateQuietly(folder, url), { images: 1, images_lost: 1 })
    t.ok(existsSync(file))
    withRawDatabase(file, (db) => t.equal(db.pragma('quick_check', { simple: true }), 'ok'))
  })
}
