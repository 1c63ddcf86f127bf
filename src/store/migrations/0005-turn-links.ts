/**
 * A turn's row becomes its own link of the account's chain, instead of two entries beside it; and an account's chain may be cut off
 * behind a checkpoint, so that the file stops growing.
 *
 * What there is is carried over: the old chain must add up to what is stored, or the database stays as it was. Each account then goes on
 * from a checkpoint at its old chain's end, on which the turns still in the log are linked anew; the checkpoint is what is stored without
 * those. Hashes and columns are spelled out here as they were at this step, whatever they become later.
 */
import { hash } from 'node:crypto'
import type { Kysely } from 'kysely'
import { sql } from 'kysely'
import type { Schema } from '../schema.ts'
import type { Migration } from './migration.ts'

export const turnLinks: Migration = {
  async up(db, { whole, bytes, noBytes, tableEnd, clusteredTableEnd, sealed, kept }) {
    const accounts = await readOldBooks(db)

    await db.schema.alterTable('turn').addColumn('window_debts', 'text').execute()
    await db.schema.alterTable('turn').addColumn('settled_packs', 'text').execute()
    await db.schema
      .alterTable('turn')
      .addColumn('seq', whole, (column) => column.notNull().defaultTo(0))
      .execute()
    await db.schema
      .alterTable('turn')
      .addColumn('hash', bytes, (column) => column.notNull().defaultTo(noBytes))
      .execute()
    await db.schema.dropTable('entry').execute()
    await db.schema
      .createTable('entry')
      .addColumn('account', 'text', (column) => column.notNull())
      .addColumn('seq', whole, (column) => column.notNull().check(sql`seq > 0`))
      .addColumn('kind', 'text', (column) => column.notNull())
      .addColumn('at', whole, (column) => column.notNull())
      .addColumn('detail', 'text', (column) => column.notNull())
      .addColumn('hash', bytes, (column) => column.notNull())
      .addPrimaryKeyConstraint('entry_key', ['account', 'seq'])
      .modifyEnd(clusteredTableEnd)
      .execute()
    await db.schema.createIndex('entry_at').on('entry').column('at').execute()
    await db.schema
      .createTable('checkpoint')
      .addColumn('account', 'text', (column) => column.primaryKey().notNull())
      .addColumn('seq', whole, (column) => column.notNull())
      .addColumn('hash', bytes, (column) => column.notNull())
      .addColumn('balances', 'text', (column) => column.notNull())
      .addColumn('seal', bytes, (column) => column.notNull())
      .modifyEnd(clusteredTableEnd)
      .execute()
    await db.schema
      .createTable('roster')
      .addColumn('number', whole, (column) => column.primaryKey().notNull())
      .addColumn('account', 'text', (column) => column.notNull().unique())
      .addColumn('hash', bytes, (column) => column.notNull())
      .modifyEnd(tableEnd)
      .execute()
    await db.schema
      .createTable('roster_end')
      .addColumn('number', whole, (column) => column.notNull())
      .addColumn('hash', bytes, (column) => column.notNull())
      .modifyEnd(tableEnd)
      .execute()
    // Verifying asks for an account's packs, whatever is left of them.
    await db.schema.createIndex('pack_account').on('pack').column('account').execute()

    await linkTurns(db, accounts)
    await writeBooks(db, accounts)

    const cutOff = sql<boolean>`exists (select 1 from checkpoint where checkpoint.account = old.account and checkpoint.seq >= old.seq)`
    for (const statement of [
      ...sealed('roster'),
      ...kept('entry', { change: sql`true`, deletion: sql`not ${cutOff}` }),
      ...kept('turn', { change: null, deletion: sql`old.state = 'held' or not ${cutOff}` }),
    ])
      await statement.execute(db)
  },
}

interface Sums {
  readonly id: string | number
  readonly identity: string
  granted: number
  reserved: number
  settled: number
  debt: number
}

interface Hold {
  readonly plan: number
  readonly buckets: readonly number[]
  readonly packs: readonly Share[]
}

type Share = readonly [pack: string, credits: number]

/** An account's books at the end of its old chain. */
interface OldBooks {
  seq: number
  hash: Uint8Array
  readonly sums: Map<string | number, Sums>
  readonly holds: Map<number, Hold>
  /** Where the old chain ended; `seq` and `hash` go on from there. */
  end?: { readonly seq: number; readonly hash: Uint8Array }
}

interface OldEntry {
  readonly id: number
  readonly account: string
  readonly seq: number
  readonly kind: string
  readonly at: number
  readonly turn: number | null
  readonly plan: number
  readonly debt: number
  readonly detail: string | null
  readonly hash: Uint8Array
  /** Of its turn, null where the log has forgotten it. */
  readonly state: string | null
  readonly credits: number | null
  readonly turn_debt: number | null
}

interface OldTurn {
  readonly id: number
  readonly account: string
  readonly state: string
  readonly credits: number
  readonly debt: number
  readonly day_bucket: number
  readonly week_bucket: number
  readonly month_bucket: number
  readonly [column: string]: string | number | null
}

const atOnce = 500
const hashBytes = 16
const stateAfter: Readonly<Record<string, string>> = { hold: 'held', settle: 'settled', refund: 'refunded', expire: 'expired' }

function wrong(account: string, what: string): Error {
  return new Error(
    `The ledger of account ${account} does not add up (${what}), so this version does not take the database over. Nothing was changed: look at it with the version it is from (ledger verify), or restore a backup.`,
  )
}

/** The packs that paid for turns, by turn: the old chain said so, the row will. */
type PaidByPacks = Map<number, string>

async function readOldBooks(db: Kysely<Schema>): Promise<{ readonly books: Map<string, OldBooks>; readonly paid: PaidByPacks }> {
  const books = new Map<string, OldBooks>()
  const paid: PaidByPacks = new Map()
  let logged = 0
  for (let last = 0; ;) {
    const { rows } = await sql<OldEntry>`
      select entry.*, turn.state, turn.credits, turn.debt as turn_debt from entry
      left join turn on turn.id = entry.turn and turn.account = entry.account
      where entry.id > ${last} order by entry.id limit ${atOnce * 10}`.execute(db)
    for (const entry of rows) {
      const known = books.get(entry.account)
      const account = known ?? { seq: 0, hash: new Uint8Array(hashBytes), sums: new Map(), holds: new Map() }
      if (known === undefined) books.set(entry.account, account)
      logged += apply(entry, account, paid)
      last = entry.id
    }
    if (rows.length === 0) break
  }
  const counted = await db
    .selectFrom('turn')
    .select((select) => select.fn.countAll<number>().as('turns'))
    .executeTakeFirst()
  const held = [...books.values()].reduce((sum, { holds }) => sum + holds.size, 0)
  if (Number(counted?.turns ?? 0) !== logged + held) throw wrong('', 'the turn log and the entries differ')
  await compareWithStored(db, books)
  return { books, paid }
}

/** Returns 1 for the ending of a turn that is still in the log. */
function apply(entry: OldEntry, books: OldBooks, paid: PaidByPacks): number {
  const { account, seq, kind, at, turn, plan, debt, detail } = entry
  const before = Buffer.from(books.hash).toString('base64')
  const text = `${before}\n${account}\n${seq}\n${kind}\n${at}\n${turn}\n${plan}\n${debt}\n${detail}`
  if (seq !== books.seq + 1 || Buffer.compare(digest(text), entry.hash) !== 0) throw wrong(account, `entry ${seq}`)
  books.seq = seq
  books.hash = entry.hash
  const read = <Shape>(): Shape => JSON.parse(detail ?? 'null') as Shape
  const move = (id: string | number, reserved: number, settled: number, owed: number): void => {
    const sums = books.sums.get(id)
    if (sums === undefined) throw wrong(account, `entry ${seq} moves ${id}`)
    sums.reserved += reserved
    sums.settled += settled
    sums.debt += owed
  }
  const open = (id: string | number, identity: string, granted: number): void => {
    books.sums.set(id, { id, identity, granted, reserved: 0, settled: 0, debt: 0 })
  }
  switch (kind) {
    case 'open': {
      const [id, pool, window, start, end, granted] = read<[number, string, string, number, number, number]>()
      open(id, `${pool} ${window} ${start} ${end}`, granted)
      return 0
    }
    case 'limit': {
      const [id, granted] = read<[number, number]>()
      const sums = books.sums.get(id)
      if (sums === undefined) throw wrong(account, `entry ${seq} limits ${id}`)
      sums.granted = granted
      return 0
    }
    case 'grant': {
      const [id, packKind, pool, granted, expiresAt] = read<[string, string, string, number, number]>()
      open(id, `${packKind} ${pool} ${expiresAt}`, granted)
      return 0
    }
    case 'hold': {
      const [day, week, month, ...packs] = read<[number, number, number, ...Share[]]>()
      for (const id of [day, week, month]) move(id, plan, 0, 0)
      for (const [id, credits] of packs) move(id, credits, 0, 0)
      books.holds.set(turn ?? 0, { plan, buckets: [day, week, month], packs })
      return 0
    }
    default: {
      const hold = books.holds.get(turn ?? 0)
      const state = stateAfter[kind]
      if (turn === null || hold === undefined || state === undefined) throw wrong(account, `entry ${seq}`)
      books.holds.delete(turn)
      const used = detail === null ? [] : read<Share[]>()
      for (const id of hold.buckets) move(id, -hold.plan, plan + debt, debt)
      for (const [id, credits] of hold.packs) move(id, -credits, 0, 0)
      for (const [id, credits] of used) move(id, 0, credits, 0)
      if (entry.state === null) return 0
      const credits = plan + debt + used.reduce((sum, [, share]) => sum + share, 0)
      if (entry.state !== state || entry.credits !== credits || entry.turn_debt !== debt) throw wrong(account, `turn ${turn}`)
      if (detail !== null) paid.set(turn, detail)
      return 1
    }
  }
}

/** Purses, buckets and packs are what the old chain comes to; and nobody has any that it does not know. */
async function compareWithStored(db: Kysely<Schema>, books: ReadonlyMap<string, OldBooks>): Promise<void> {
  const stored = new Map<string, Map<string | number, Sums>>()
  const put = (account: string, sums: Sums): void => {
    const known = stored.get(account) ?? new Map<string | number, Sums>()
    known.set(sums.id, sums)
    stored.set(account, known)
  }
  const { rows: buckets } = await sql<
    Sums & { account: string; pool: string; window: string; starts_at: number; ends_at: number }
  >`
    select * from bucket`.execute(db)
  for (const { account, id, pool, window, starts_at, ends_at, granted, reserved, settled, debt } of buckets)
    put(account, { id, identity: `${pool} ${window} ${starts_at} ${ends_at}`, granted, reserved, settled, debt })
  const { rows: packs } = await sql<Sums & { account: string; kind: string; pool: string; expires_at: number }>`
    select * from pack`.execute(db)
  for (const { account, id, kind, pool, expires_at, granted, reserved, settled } of packs)
    put(account, { id, identity: `${kind} ${pool} ${expires_at}`, granted, reserved, settled, debt: 0 })
  const { rows: purses } = await sql<Record<string, number> & { account: string; seq: number; hash: Uint8Array }>`
    select * from purse`.execute(db)
  for (const purse of purses) {
    const known = books.get(purse.account)
    if (known === undefined || known.seq !== purse.seq || Buffer.compare(known.hash, purse.hash) !== 0)
      throw wrong(purse.account, 'its last entry')
    for (const pool of ['fast', 'premium']) {
      for (const window of ['day', 'week', 'month']) {
        const cell = (name: string): number => purse[`${pool}_${window}_${name}`] ?? 0
        if (cell('id') === 0) continue
        const identity = `${pool} ${window} ${cell('starts_at')} ${cell('ends_at')}`
        const [granted, reserved, settled, debt] = [cell('granted'), cell('reserved'), cell('settled'), cell('debt')]
        put(purse.account, { id: cell('id'), identity, granted, reserved, settled, debt })
      }
    }
  }
  for (const account of new Set([...books.keys(), ...stored.keys()])) {
    const [is, should] = [stored.get(account) ?? new Map(), books.get(account)?.sums ?? new Map<string | number, Sums>()]
    for (const id of new Set([...is.keys(), ...should.keys()])) {
      if (JSON.stringify(is.get(id)) !== JSON.stringify(should.get(id))) throw wrong(account, `${id}`)
    }
  }
}

/** As they were when this migration was written: it does not follow `turn-columns.ts`, or old databases would be hashed by new rules. */
const heldColumns = [
  'request_id',
  'account',
  'model',
  'pool',
  'started_at',
  'price_input',
  'price_output',
  'discount_percent',
  'idempotency_key',
  'body_hash',
  'reserved',
  'reserved_plan',
  'reserved_packs',
  'day_bucket',
  'week_bucket',
  'month_bucket',
] as const

const endedColumns = [
  'ended_at',
  'credits',
  'input_tokens',
  'output_tokens',
  'estimated',
  'code',
  'target',
  'upstream_status',
  'state',
  'debt',
] as const

/** Gives every turn in the log its hash, and the ended ones their place; takes what they came to out of the books, which become the checkpoint's. */
async function linkTurns(
  db: Kysely<Schema>,
  { books, paid }: { readonly books: ReadonlyMap<string, OldBooks>; readonly paid: PaidByPacks },
): Promise<void> {
  for (const account of books.values()) account.end = { seq: account.seq, hash: account.hash }
  await sql`create temporary table link (id integer primary key, seq integer, hash blob, debts text, packs text)`.execute(db)
  for (let last = 0; ;) {
    const { rows } = await sql<OldTurn>`select * from turn where id > ${last} order by id limit ${atOnce}`.execute(db)
    if (rows.length === 0) break
    const links = rows.map((turn) => {
      last = turn.id
      const account = books.get(turn.account)
      if (account === undefined) throw wrong(turn.account, `turn ${turn.id}`)
      const held = digest(JSON.stringify(heldColumns.map((column) => turn[column])))
      if (turn.state === 'held') return sql`(${turn.id}, 0, ${held}, null, null)`
      const packs = paid.get(turn.id) ?? null
      const debts = turn.debt === 0 ? null : JSON.stringify([turn.debt, turn.debt, turn.debt])
      takeOut(turn, account, packs)
      account.seq += 1
      const ending = [turn.id, account.seq, ...endedColumns.map((column) => turn[column]), debts, packs]
      account.hash = digest(base64(account.hash) + base64(held) + JSON.stringify(ending))
      return sql`(${turn.id}, ${account.seq}, ${account.hash}, ${debts}, ${packs})`
    })
    await sql`insert into link (id, seq, hash, debts, packs) values ${sql.join(links)}`.execute(db)
  }
  await sql`update turn set seq = link.seq, hash = link.hash, window_debts = link.debts, settled_packs = link.packs
    from link where link.id = turn.id`.execute(db)
  await sql`drop table link`.execute(db)
}

function takeOut(turn: OldTurn, { sums }: OldBooks, packs: string | null): void {
  const shares = packs === null ? [] : (JSON.parse(packs) as readonly Share[])
  const fromPlan = turn.credits - shares.reduce((sum, [, credits]) => sum + credits, 0)
  for (const id of [turn.day_bucket, turn.week_bucket, turn.month_bucket]) {
    const bucket = sums.get(id)
    if (bucket === undefined) throw wrong(turn.account, `turn ${turn.id}`)
    bucket.settled -= fromPlan
    bucket.debt -= turn.debt
  }
  for (const [id, credits] of shares) {
    const pack = sums.get(id)
    if (pack === undefined) throw wrong(turn.account, `turn ${turn.id}`)
    pack.settled -= credits
  }
}

async function writeBooks(db: Kysely<Schema>, { books }: { readonly books: ReadonlyMap<string, OldBooks> }): Promise<void> {
  let number = 0
  let roster: Uint8Array = new Uint8Array(hashBytes)
  for (const [account, { seq, hash: link, sums, end }] of books) {
    if (end === undefined) continue
    const all = [...sums.values()]
    const balances = JSON.stringify({
      buckets: all
        .filter(({ id }) => typeof id === 'number')
        .map(({ id, identity, granted, settled, debt }) => [id, identity, granted, settled, debt]),
      packs: all
        .filter(({ id }) => typeof id === 'string')
        .map(({ id, identity, granted, settled }) => [id, identity, granted, settled]),
    })
    const seal = digest(base64(end.hash) + JSON.stringify([account, end.seq, balances]))
    await sql`insert into checkpoint (account, seq, hash, balances, seal) values (${account}, ${end.seq}, ${end.hash}, ${balances}, ${seal})`.execute(
      db,
    )
    await sql`update purse set seq = ${seq}, hash = ${link} where account = ${account}`.execute(db)
    number += 1
    roster = digest(base64(roster) + JSON.stringify([number, account]))
    await sql`insert into roster (number, account, hash) values (${number}, ${account}, ${roster})`.execute(db)
  }
  await sql`insert into roster_end (number, hash) values (${number}, ${roster})`.execute(db)
}

function digest(text: string): Uint8Array {
  return hash('sha256', text, 'buffer').subarray(0, hashBytes)
}

function base64(hash: Uint8Array): string {
  return Buffer.from(hash).toString('base64')
}
