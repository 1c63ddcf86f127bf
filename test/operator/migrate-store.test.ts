/** An installation moves from its folder to PostgreSQL and back, whole, however often it is interrupted. */
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
import type { Store } from '../../src/membership/store.ts'
import { CommandError } from '../../src/operator/installation.ts'
import { migrateStore } from '../../src/operator/migrate-store.ts'
import { move } from '../../src/store/moving/move.ts'
import { movedTables } from '../../src/store/moving/tables.ts'
import { openPostgresTarget } from '../../src/store/postgres/moving.ts'
import { openLedger } from '../../src/store/postgres/open-ledger.ts'
import { openSqliteSource } from '../../src/store/sqlite/moving.ts'
import { systemClock } from '../../src/system/clock.ts'
import { openSecret } from '../../src/system/secret.ts'
import { Unusable } from '../../src/system/unusable.ts'
import { ImageFolder } from '../../src/tools/images/image-folder.ts'
import { ImageStore } from '../../src/tools/images/image-store.ts'
import { keptCompiled } from '../support/bare-program.ts'
import { postgresFor } from '../support/postgres.ts'
import { accountId, addAccount, endOf, holdOf, keyOf, noon, refundOf } from '../store/contract.ts'
import { live } from '../store/ledger-life.ts'
import { furnish, openOn } from '../store/postgres/support.ts'
import { folderOf, openAt, raw } from '../store/sqlite/support.ts'

const program = fileURLToPath(new URL('../../src/operator/main.ts', import.meta.url))
const postgres = await postgresFor(t, furnish)

const picture = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)

/** What the ledger's life leaves empty; odd words among it. */
const more = `
  insert into invite_code values ('${accountId(1)}', 'ADA1');
  insert into invite values ('${accountId(2)}', '${accountId(1)}', x'01', x'02', 'paid', 5, null);
  insert into mail_code values (x'00ff', x'01', 'a@example.org', 'a@example.org', '10.0.0.0/24', 1, x'02', 5, 0, null, '', 0, 7);
  insert into identity values ('github', '42', '${accountId(1)}', 3), ('Google', 'é"\\', '${accountId(2)}', 4);
  insert into provider_login values (x'05', 'github', 'n', 'v', '/"next"', null, 9);
  insert into device_login values (x'06', 'ABCD', 'svc', null, 'a {b}, NULL', '10.0.0.1', '10.0.0.0/24', 'pending', null, 5, null, 0, 1, 2);
  insert into rush values ('rush_1', 3, 'fast', 9, 8, 1, 2, 1);
  insert into boost_claim values ('claim_1', '${accountId(1)}', 'rush', 'fast', 9, 'rush_1', 1, 9, 0);
  insert into attempt (id, subject, ends_at) values (41, 'letter:10.0.0.1', 5);
  insert into person_use values (zeroblob(32), 'fast', 'day', 1, 2, 9007199254740991);
  insert into audit values ('aud_1', '${accountId(1)}', 'signed_in', 1, null, null, '{"a":"\\u0041\n"}');
  insert into app values ('app_1', '{}', 1, null);
  insert into app_record values ('token', zeroblob(32), 'ses_1', '{}', null, 9);
`

/** A folder as a server leaves it that has served for a while; made once. */
const lived = (async () => {
  const folder = folderOf(t)
  const file = join(folder, 'gateway.db')
  const store = await openAt(t, file, { role: 'server' })
  await live(store, 20_261_122, 700)
  await store.keys.create(keyOf(1), 5)
  await store.sessions.create({
    id: 'ses_1',
    account: accountId(1),
    kind: 'cli',
    method: 'device',
    hash: Buffer.alloc(32, 7),
    client: 'svc',
    address: null,
    createdAt: noon,
    expiresAt: noon + 1e9,
  })
  await store.accounts.setPlan(accountId(1), 'pro')
  const limits = { style: 'chat' as const, linkDays: 9, keepForDays: 9, keepBytes: 1e9, maxBytes: 1e6 }
  const images = new ImageStore({
    files: new ImageFolder(join(folder, 'images'), store.images),
    records: store.images,
    limits,
    clock: { now: () => noon },
  })
  await images.put(picture, accountId(1))
  await images.put(Buffer.concat([picture, picture]), accountId(2))
  await store.close()
  raw(file, (db) => db.exec(more))
  openSecret(join(folder, 'secret.key'))
  return folder
})()

async function installation(t: Test): Promise<string> {
  const folder = join(folderOf(t), 'data')
  cpSync(await lived, folder, { recursive: true })
  return folder
}

function quietly(from: string, to: string) {
  const lines: string[] = []
  const told = migrateStore({ json: true, from, to }, { write: (line: string) => lines.push(line) })
  return told.then(({ text }) => ({ ...(JSON.parse(text) as Record<string, unknown>), lines }))
}

/** It is one sentence, for an operator. */
async function refused(t: Test, told: Promise<unknown>, sentence: RegExp): Promise<void> {
  const error = await told.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  t.ok(error instanceof Unusable || error instanceof CommandError, String(error))
  t.match((error as Error).message, sentence)
  t.notMatch((error as Error).message, /hunter2|\n/)
}

type Dump = Readonly<Record<string, readonly string[]>>

/** Every row of every table, but for who was alive, and from where on purses may be behind. */
function dumpOf(folder: string): Dump {
  return raw(join(folder, 'gateway.db'), (db) => {
    const names = db
      .prepare<[], string>(`select name from sqlite_schema where type = 'table' and name not like 'sqlite_%'`)
      .pluck()
      .all()
      .filter((name) => !['process', 'purse_mark', 'purse_mark_hold', 'migration'].includes(name))
    return Object.fromEntries(
      names.map((name) => [
        name === 'written_purse' ? 'purse' : name,
        textsOf(db.prepare<[], Record<string, unknown>>(`select * from ${name}`).all()),
      ]),
    )
  })
}

function textsOf(rows: readonly Record<string, unknown>[]): readonly string[] {
  return rows
    .map((row) => JSON.stringify(Object.fromEntries(Object.entries(row).toSorted(([one], [other]) => (one < other ? -1 : 1)))))
    .toSorted()
}

const onlyThere = ['version', 'running', 'packs', 'at']
const onlyHere = ['previous', 'last_turn']

/** As the file has it, but for what only one of the databases keeps. */
async function sharedDump(url: string): Promise<Dump> {
  const client = new Client({
    connectionString: url,
    types: { getTypeParser: (oid) => (oid === 20 ? Number : oid === 17 ? bytes : String) },
  })
  await client.connect()
  try {
    const dump: Record<string, readonly string[]> = {}
    for (const { name } of movedTables) {
      const { rows } = await client.query<Record<string, unknown>>(`select * from ${name}`)
      dump[name] = textsOf(
        rows.map((row) => without(row, name === 'purse' ? onlyThere : name === 'account_change' ? ['at'] : [])),
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

/** What both databases have. */
function shared(dump: Dump): Dump {
  const cut = (name: string, rows: readonly string[]) =>
    ['turn', 'purse'].includes(name)
      ? rows.map((row) => JSON.stringify(without(JSON.parse(row) as Record<string, unknown>, onlyHere))).toSorted()
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

  t.test('there and back: every row is what it was, and the service goes on in both', async (t) => {
    const folder = await installation(t)
    const url = await postgres.database(t, { empty: true })
    const before = dumpOf(folder)
    for (const [name, rows] of Object.entries(before)) t.ok(rows.length > 0, `${rows.length} of ${name}`)
    const there = await quietly(folder, url)
    t.match(there, { ok: true, from: folder, found: 0, images: 2, images_lost: 0 })
    t.match(there.lines.join(''), /Copying: \d+ of \d+ \(\d+ %\), \d+ a second: turn\n/)
    t.same(dumpOf(folder), before, 'the folder is as it was')
    t.same(await sharedDump(url), shared(before), 'PostgreSQL has all of it')
    const [purses] = await asked(url, 'select sum(packs)::int as packs, (select count(*)::int from pack) as given from purse')
    t.equal(purses?.['packs'], purses?.['given'], 'purses know of their packs')

    const home = join(folderOf(t), 'home')
    t.match(await quietly(url, home), { ok: true, to: home, images: 2 })
    const back = dumpOf(home)
    t.same(shared(back), shared(before))
    // From each turn to the account's turn before; where that was forgotten, to the one before it.
    const ways = (dump: Dump) =>
      (dump['turn'] ?? [])
        .map((row) => JSON.parse(row) as { id: number; account: string; previous: number })
        .toSorted((one, other) => one.id - other.id)
    const known = new Set(ways(before).map(({ id }) => id))
    const expected = ways(before).map((turn) => {
      const earlier = ways(before).filter(({ id, account }) => account === turn.account && id < turn.id)
      return { ...turn, previous: known.has(turn.previous) ? turn.previous : (earlier.at(-1)?.id ?? 0) }
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
        t.match(await store.keys.findByHash(keyOf(1).hash), { key: { id: 'key_1' }, account: { id: accountId(1), plan: 'pro' } })
        t.match(await store.sessions.findByHash(Buffer.alloc(32, 7)), { session: { id: 'ses_1' } })
        const hold = await holdOf(store, { account: accountId(5) })
        t.ok(hold.id > Math.max(...known), 'ids go on')
        t.match(await store.ledger.settle(endOf(hold.id, 7)), { done: true, state: 'settled' })
        t.equal(await store.accounts.setPlan(accountId(2), 'pro'), true)
        t.match(await store.ledger.verify(), { ok: true, mismatches: [] })
      })
    await goesOn('on PostgreSQL', (t) => openOn(t, url, { ledger: openLedger }))
    await goesOn('in the folder', (t) => openAt(t, join(home, 'gateway.db'), { role: 'server' }))
  })

  t.test('interrupted at any page, it goes on where it was', async (t) => {
    const folder = await installation(t)
    const url = await postgres.database(t)
    const attempt = async (until: number) => {
      const files = { secret: () => null, putSecret() {}, hasImage: () => false, image: () => picture, putImage() {} }
      const process_ = { id: `mover-${until}`, pid: process.pid }
      const source = await openSqliteSource({ file: join(folder, 'gateway.db'), files, process: process_, clock: systemClock })
      const target = await openPostgresTarget({ url, secret: null, clock: systemClock })
      let told = 0
      try {
        const tell = () => {
          told += 1
          if (told === until) throw new Error('interrupted')
        }
        return await move(source, target, tell, 40)
      } finally {
        await target.close()
        await source.close()
      }
    }
    for (const until of [1, 31, 36, 40, 47, 53]) await t.rejects(attempt(until), /interrupted/, `${until}`)
    await t.rejects(openOn(t, url), /is being moved to this database, and is not all there/, 'no server starts on half of it')
    const { found, rows } = await attempt(Infinity)
    t.ok(found > 100 && found <= rows, `${found} of ${rows} were there`)
    t.same(await sharedDump(url), shared(dumpOf(folder)))
    await openOn(t, url)
  })

  t.test('killed at several points, the command goes on where it was, there and back', async (t) => {
    const run = (from: string, to: string, killAt?: RegExp) => {
      const env = { PATH: process.env['PATH'] ?? '', ...keptCompiled }
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
    const before = dumpOf(folder)
    const url = await postgres.database(t)
    const killed = async (from: string, to: string, point: RegExp) => {
      const { how, said } = await run(from, to, point)
      t.equal(how, 'SIGKILL', `${point}`, { said })
    }
    for (const point of [/Copying: .*: purse/, /Comparing/]) await killed(folder, url, point)
    const there = await run(folder, url)
    t.match(there, { how: 0, output: /was moved to .* were there from before/ })
    t.match(there.said, /^Going on: \d+ of \d+ rows are there from before\.$/m)
    t.same(await sharedDump(url), shared(before))
    t.equal((await asked(url, 'select * from image_data')).length, 2)

    const home = join(folderOf(t), 'home')
    await killed(url, home, /Copying: .*: entry/)
    t.notOk(existsSync(join(home, 'gateway.db')), 'no server finds half of it')
    t.match(await run(url, home), { how: 0, output: /were there from before/ })
    t.same(shared(dumpOf(home)), shared(before))
  })

  t.test('what a killed server held is given back first, and what its purses lacked is in them', async (t) => {
    const folder = await installation(t)
    const store = await openAt(t, join(folder, 'gateway.db'), { role: 'server' })
    const newest = raw(join(folder, 'gateway.db'), (db) => db.prepare<[], number>('select max(id) from turn').pluck().get())
    for (let index = 0; index < 20; index += 1)
      await store.ledger.settle(endOf((await holdOf(store, { account: accountId(1), want: 9 })).id, 3))
    await holdOf(store, { account: accountId(1), want: 50 })
    const killed = join(folderOf(t), 'killed')
    cpSync(folder, killed, { recursive: true, filter: (path) => !/server|process-/.test(path) })
    await store.close()
    const url = await postgres.database(t)
    t.match(await quietly(killed, url), { ok: true })
    t.match(
      await asked(
        url,
        `select state, count(*)::int as turns from turn where account = '${accountId(1)}' and id > ${newest} group by state order by state`,
      ),
      [
        { state: 'expired', turns: 1 },
        { state: 'settled', turns: 20 },
      ],
    )

    // And on PostgreSQL, where another process did the holding.
    await t.test('a node begins a turn and goes', async (t) => {
      await holdOf(await openOn(t, url, { ledger: openLedger }), { account: accountId(1), want: 50 })
    })
    t.match(await quietly(url, join(folderOf(t), 'home')), { ok: true })
    t.match(await asked(url, `select count(*)::int as held from turn where state = 'held'`), [{ held: 0 }])
  })

  t.test('it is refused in a sentence', async (t) => {
    const folder = await installation(t)
    const file = join(folder, 'gateway.db')
    const url = await postgres.database(t)
    const empty = () => join(folderOf(t), 'empty')

    await refused(t, quietly(folder, empty()), /^One of the two must be a database/)
    await refused(t, quietly(url, url), /^Both are PostgreSQL/)
    await refused(t, quietly(empty(), url), /^There is no database in/)
    await refused(t, quietly(folder, 'mysql://ada:hunter2@db/svc'), /^The address of the store must be like postgres:/)
    await refused(t, quietly(folder, 'postgres://ada:hunter2@127.0.0.1:1/svc'), /^The database cannot be used: .*ECONNREFUSED/)
    await refused(t, quietly(url, file), /is a file\. Name an empty folder/)
    await refused(t, quietly(url, folder), /gateway\.db is there already/)
    await refused(t, quietly(url, empty()), /^The database has no installation/)

    const server = await openAt(t, file, { role: 'server' })
    await refused(t, quietly(folder, url), /^Another server works on this data: process \d+/)
    await server.close()
    const guest = await openAt(t, file)
    await addAccount(guest, 9)
    const hold = await holdOf(guest, { account: accountId(9) })
    await refused(t, quietly(folder, url), /^1 turns? .* held by a process that lives/)
    await guest.ledger.refund(refundOf(hold.id))
    await guest.close()

    await t.test('while a node works', async (t) => {
      const node = await openOn(t, url)
      await refused(t, quietly(folder, url), /^1 server works on this database/)
      await refused(t, quietly(url, empty()), /^1 server works on this database/)
      await addAccount(node)
    })
    await refused(t, quietly(folder, url), /^The database is not empty/)
  })

  t.test('half a move goes on from its very source alone, and with its version', async (t) => {
    const folder = await installation(t)
    const file = join(folder, 'gateway.db')
    const url = await postgres.database(t)
    const half = async () => {
      const lines: string[] = []
      const write = (line: string) => {
        lines.push(line)
        if (/^Copying: .*: turn/.test(line)) throw new Error('interrupted')
      }
      await t.rejects(migrateStore({ json: false, from: folder, to: url }, { write }), /interrupted/)
    }
    await half()
    await refused(t, quietly(url, join(folderOf(t), 'home')), /^The database is half filled itself/)
    const secret = readFileSync(join(folder, 'secret.key'))
    writeFileSync(join(folder, 'secret.key'), Buffer.alloc(32, 1))
    await refused(t, quietly(folder, url), /another secret/)
    writeFileSync(join(folder, 'secret.key'), secret)
    raw(file, (db) => db.exec(`update account set plan = 'max' where id = '${accountId(1)}'`))
    await refused(t, quietly(folder, url), /this one has changed since \(table account\)/)
    await asked(url, `insert into migration (name, applied_at) values ('0099-later', 0)`)
    await refused(t, quietly(folder, url), /half filled by another version/)
    raw(file, (db) => db.exec(`insert into migration (name, applied_at) values ('0099-later', 0)`))
    await refused(t, quietly(folder, url), /made by a newer version of svc-gateway/)
  })

  t.test('a ledger that does not add up stays where it is; an image without its file is told of', async (t) => {
    const folder = await installation(t)
    const file = join(folder, 'gateway.db')
    const url = await postgres.database(t)
    const wrong = await installation(t)
    raw(join(wrong, 'gateway.db'), (db) => db.exec(`update turn set credits = credits + 1, seq = seq where state = 'settled'`))
    await refused(t, quietly(wrong, url), /^What is to be moved does not add up: acc/)
    t.same(await asked(url, 'select id from account'), [], 'and nothing has come over')

    const hash = createHash('sha256').update(picture).digest('hex')
    rmSync(join(folder, 'images', hash.slice(0, 2), hash.slice(2, 4), `${hash}.png`))
    t.match(await quietly(folder, url), { images: 1, images_lost: 1 })
    t.ok(existsSync(file))
    raw(file, (db) => t.equal(db.pragma('quick_check', { simple: true }), 'ok'))
  })
}
