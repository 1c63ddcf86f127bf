/**
 * The ledger's operations on the writer's connection, each called inside a transaction. What can be refused is refused before anything is
 * written; after that only a broken promise or a broken disk can throw, and then the transaction is undone.
 */
import type { Statement } from 'better-sqlite3'
import type { TurnState } from '../../membership/ledger.ts'
import type { Window } from '../../membership/plan.ts'
import type { Pool } from '../../membership/product.ts'
import { chainStart, entryHash } from '../entry-hash.ts'
import type { EntryKind, PackTable } from '../schema.ts'
import type { Connection } from './connection.ts'
import { Presence } from './presence.ts'
import type {
  CountResult,
  EndingResult,
  ExpireOp,
  GrantOp,
  Op,
  PackResult,
  RefundOp,
  ReserveOp,
  ReserveResult,
  Result,
  SettleOp,
  SqlOp,
} from './protocol.ts'

/** `covered` is what was settled without debt. */
interface Bucket {
  readonly id: number
  readonly granted: number
  readonly reserved: number
  readonly covered: number
}

/** `[pack, credits]` */
type PackShare = readonly [pack: string, credits: number]

interface OpenPack {
  readonly id: string
  readonly left: number
  readonly reserved: number
}

interface TurnRow {
  readonly id: number
  readonly account: string
  readonly pool: Pool
  readonly state: TurnState
  readonly reserved_plan: number
  readonly reserved_packs: string | null
  readonly day_bucket: number
  readonly week_bucket: number
  readonly month_bucket: number
  readonly credits: number
  readonly debt: number
}

export class LedgerStatements {
  readonly #sql: ReturnType<typeof prepare>
  readonly #presence: Presence
  readonly #owner: number
  /** Of the whole database: moved with each operation here, and read anew at each sweep for what other processes did. */
  #holdsOpen: number
  #holdsMoved = 0

  constructor(db: Connection, name: string, pid: number, at: number) {
    this.#sql = prepare(db)
    this.#presence = new Presence(db, name)
    this.#owner = this.#presence.enrol(pid, at)
    this.#holdsOpen = this.#countHolds()
  }

  get holdsOpen(): number {
    return this.#holdsOpen
  }

  apply(op: Exclude<Op, SqlOp>): Result {
    switch (op[0]) {
      case 'reserve':
        return this.#reserve(op)
      case 'settle':
        return this.#settle(op)
      case 'refund':
        return this.#refund(op)
      case 'grant':
        return this.#grant(op)
      case 'expire':
        return this.#expire(op)
    }
  }

  /** The transaction in which operations were applied is committed. */
  committed(): void {
    this.#holdsOpen += this.#holdsMoved
    this.#holdsMoved = 0
  }

  /** It was undone, and with it all that the operations did. */
  undone(): void {
    this.#holdsMoved = 0
  }

  leave(): void {
    this.#presence.leave()
  }

  #reserve(op: ReserveOp): ReserveResult {
    const [, account, requestId, model, pool, at, dayStart, dayEnd, weekStart, weekEnd, monthStart, monthEnd, ...rest] = op
    const [dayLimit, weekLimit, monthLimit, want, floor, priceInput, priceOutput, discountPercent, until, key, bodyHash] = rest
    if (key !== null) {
      const earlier = this.#sql.byKey.get(account, key)
      if (earlier !== undefined) return ['duplicate', earlier.state, earlier.body_hash === bodyHash, earlier.request_id]
    }

    const day = this.#bucket(account, pool, 'day', dayStart, dayEnd, dayLimit, at)
    const week = this.#bucket(account, pool, 'week', weekStart, weekEnd, weekLimit, at)
    const month = this.#bucket(account, pool, 'month', monthStart, monthEnd, monthLimit, at)
    const fromPlan = Math.min(want, room(day), room(week), room(month))
    const packs = fromPlan < want ? this.#sql.openPacks.all(account, pool, at) : []
    const shares = takeFromPacks(packs, want - fromPlan)
    const held = fromPlan + total(shares)
    if (held < want && held < floor) {
      const inPacks = packs.reduce((sum, pack) => sum + pack.left + pack.reserved, 0)
      const lacking = [
        { bucket: day, end: dayEnd },
        { bucket: week, end: weekEnd },
        { bucket: month, end: monthEnd },
      ].filter(({ bucket }) => bucket.granted - bucket.covered + inPacks < floor)
      // Every window that lacks room has to begin anew before a turn like this one fits again.
      return lacking.length === 0 ? ['busy'] : ['empty', Math.max(...lacking.map(({ end }) => end))]
    }

    this.#sql.holdBuckets.run(fromPlan, day.id, week.id, month.id)
    for (const [pack, credits] of shares) this.#sql.holdPack.run(credits, pack)
    const packsJson = shares.length === 0 ? null : JSON.stringify(shares)
    const { lastInsertRowid } = this.#sql.insertTurn.run(
      requestId,
      account,
      model,
      pool,
      this.#owner,
      until,
      at,
      held,
      fromPlan,
      packsJson,
      day.id,
      week.id,
      month.id,
      priceInput,
      priceOutput,
      discountPercent,
      key,
      bodyHash,
    )
    const turn = Number(lastInsertRowid)
    this.#enter(account, 'hold', at, turn, fromPlan, 0, JSON.stringify([day.id, week.id, month.id, shares]))
    this.#holdsMoved += 1
    return ['held', turn, held]
  }

  #settle(op: SettleOp): EndingResult {
    const [, hold, at, credits, inputTokens, outputTokens, estimated, code, target, upstreamStatus] = op
    const turn = this.#turn(hold)
    if (turn.state !== 'held') return alreadyEnded(turn)
    const { account, pool, day_bucket: day, week_bucket: week, month_bucket: month, reserved_plan: heldPlan } = turn
    const heldShares = toShares(turn.reserved_packs)

    // First what was held, in the order it was taken.
    let fromPlan = Math.min(credits, heldPlan)
    const used = new Map<string, number>()
    let left = credits - fromPlan
    for (const [pack, share] of heldShares) left -= use(used, pack, Math.min(left, share))

    // Then what has room just now: the same periods, then packs. Whatever is still missing is debt.
    if (left > 0) {
      const rooms = this.#sql.buckets.all(day, week, month).map(room)
      const more = Math.min(left, ...rooms)
      fromPlan += more
      left -= more
    }
    if (left > 0)
      for (const pack of this.#sql.openPacks.all(account, pool, at)) left -= use(used, pack.id, Math.min(left, pack.left))
    const debt = left

    const shares = [...used].filter(([, share]) => share > 0)
    this.#sql.settleBuckets.run(heldPlan, fromPlan + debt, debt, day, week, month)
    for (const [pack, share] of heldShares) this.#sql.settlePack.run(share, 0, pack)
    for (const [pack, share] of shares) this.#sql.settlePack.run(0, share, pack)
    this.#sql.endTurn.run('settled', at, credits, debt, inputTokens, outputTokens, estimated, code, target, upstreamStatus, hold)
    this.#enter(account, 'settle', at, hold, fromPlan, debt, shares.length === 0 ? null : JSON.stringify(shares))
    this.#holdsMoved -= 1
    return ['ended', true, 'settled', credits, debt]
  }

  #refund([, hold, at, code, target, upstreamStatus]: RefundOp): EndingResult {
    const turn = this.#turn(hold)
    if (turn.state !== 'held') return alreadyEnded(turn)
    this.#giveBack(turn, 'refunded', at, code, target, upstreamStatus)
    return ['ended', true, 'refunded', 0, 0]
  }

  /** Everything returns to where it came from, however long ago that period ended. */
  #giveBack(
    turn: TurnRow,
    state: 'refunded' | 'expired',
    at: number,
    code: string | null,
    target: string | null,
    upstreamStatus: number | null,
  ): void {
    this.#sql.settleBuckets.run(turn.reserved_plan, 0, 0, turn.day_bucket, turn.week_bucket, turn.month_bucket)
    for (const [pack, share] of toShares(turn.reserved_packs)) this.#sql.settlePack.run(share, 0, pack)
    this.#sql.endTurn.run(state, at, 0, 0, 0, 0, 0, code, target, upstreamStatus, turn.id)
    this.#enter(turn.account, state === 'refunded' ? 'refund' : 'expire', at, turn.id, 0, 0, null)
    this.#holdsMoved -= 1
  }

  #expire([, at]: ExpireOp): CountResult {
    const dead = this.#presence.dead()
    const overdue = [...this.#sql.overdue.all(at), ...dead.flatMap((owner) => this.#sql.heldBy.all(owner))]
    let count = 0
    for (const { id } of overdue) {
      const turn = this.#turn(id)
      // A dead process's hold may be overdue as well: it is in both lists.
      if (turn.state !== 'held') continue
      this.#giveBack(turn, 'expired', at, null, null, null)
      count += 1
    }
    for (const owner of dead) this.#presence.forget(owner)
    // What other processes began and ended since is in the table alone.
    this.#holdsMoved = this.#countHolds() - this.#holdsOpen
    return ['count', count]
  }

  #grant([, id, account, kind, pool, credits, at, expiresAt]: GrantOp): PackResult {
    const { changes } = this.#sql.insertPack.run(id, account, kind, pool, credits, expiresAt, at)
    if (changes > 0) this.#enter(account, 'grant', at, null, 0, 0, JSON.stringify([id, kind, pool, credits, expiresAt]))
    const pack = this.#sql.pack.get(id)
    if (pack === undefined) throw new Error(`pack ${id} is gone`)
    if (pack.account !== account) throw new Error(`pack ${id} belongs to another account`)
    return [
      'pack',
      pack.account,
      pack.kind,
      pack.pool,
      pack.granted,
      pack.reserved,
      pack.settled,
      pack.expires_at,
      pack.created_at,
    ]
  }

  /** The bucket of one window, opened if this is its first turn, and with what the plan now includes. */
  #bucket(account: string, pool: Pool, window: Window, start: number, end: number, limit: number, at: number): Bucket {
    const known = this.#sql.bucket.get(account, pool, window, start)
    if (known === undefined) {
      const id = Number(this.#sql.openBucket.run(account, pool, window, start, end, limit).lastInsertRowid)
      this.#enter(account, 'open', at, null, 0, 0, JSON.stringify([id, pool, window, start, end, limit]))
      return { id, granted: limit, reserved: 0, covered: 0 }
    }
    // A plan change keeps what was used: a smaller plan grants at least what is gone already.
    const granted = Math.max(limit, known.reserved + known.covered)
    if (granted === known.granted) return known
    this.#sql.limitBucket.run(granted, known.id)
    this.#enter(account, 'limit', at, null, 0, 0, JSON.stringify([known.id, granted]))
    return { ...known, granted }
  }

  #turn(id: number): TurnRow {
    const turn = this.#sql.turn.get(id)
    if (turn === undefined) throw new Error(`there is no hold ${id}`)
    return turn
  }

  #enter(
    account: string,
    kind: EntryKind,
    at: number,
    turn: number | null,
    plan: number,
    debt: number,
    detail: string | null,
  ): void {
    const last = this.#sql.lastEntry.get(account)
    const seq = (last?.seq ?? 0) + 1
    const hash = entryHash(last?.hash ?? chainStart, { account, seq, kind, at, turn, plan, debt, detail })
    this.#sql.insertEntry.run(account, seq, kind, at, turn, plan, debt, detail, hash)
  }

  #countHolds(): number {
    return this.#sql.holds.get()?.held ?? 0
  }
}

function room({ granted, reserved, covered }: Bucket): number {
  return granted - reserved - covered
}

function takeFromPacks(packs: readonly OpenPack[], want: number): readonly PackShare[] {
  const shares: PackShare[] = []
  let missing = want
  for (const { id, left } of packs) {
    const share = Math.min(missing, left)
    if (share === 0) continue
    shares.push([id, share])
    missing -= share
  }
  return shares
}

function total(shares: readonly PackShare[]): number {
  return shares.reduce((sum, [, credits]) => sum + credits, 0)
}

function use(used: Map<string, number>, pack: string, credits: number): number {
  used.set(pack, (used.get(pack) ?? 0) + credits)
  return credits
}

function toShares(json: string | null): readonly PackShare[] {
  return json === null ? [] : (JSON.parse(json) as readonly PackShare[])
}

function alreadyEnded(turn: TurnRow): EndingResult {
  return ['ended', false, turn.state, turn.credits, turn.debt]
}

/** Every statement, prepared once. */
function prepare(db: Connection) {
  const all = <Row>(text: string): Statement<unknown[], Row> => db.prepare<unknown[], Row>(text)
  return {
    byKey: all<{ state: 'held' | 'settled'; body_hash: string | null; request_id: string }>(`
      select state, body_hash, request_id from turn
      where account = ? and idempotency_key = ? and idempotency_key is not null and state in ('held', 'settled')`),
    bucket: all<Bucket>(`
      select id, granted, reserved, settled - debt as covered from bucket
      where account = ? and pool = ? and "window" = ? and starts_at = ?`),
    buckets: all<Bucket>('select id, granted, reserved, settled - debt as covered from bucket where id in (?, ?, ?)'),
    openBucket: all(`
      insert into bucket (account, pool, "window", starts_at, ends_at, granted, reserved, settled, debt)
      values (?, ?, ?, ?, ?, ?, 0, 0, 0)`),
    limitBucket: all('update bucket set granted = ? where id = ?'),
    holdBuckets: all('update bucket set reserved = reserved + ? where id in (?, ?, ?)'),
    settleBuckets: all('update bucket set reserved = reserved - ?, settled = settled + ?, debt = debt + ? where id in (?, ?, ?)'),
    openPacks: all<OpenPack>(`
      select id, granted - reserved - settled as left, reserved from pack
      where account = ? and pool = ? and expires_at > ? and settled < granted
      order by expires_at, id`),
    holdPack: all('update pack set reserved = reserved + ? where id = ?'),
    settlePack: all('update pack set reserved = reserved - ?, settled = settled + ? where id = ?'),
    pack: all<PackTable>('select * from pack where id = ?'),
    insertPack: all(`
      insert into pack (id, account, kind, pool, granted, reserved, settled, expires_at, created_at)
      values (?, ?, ?, ?, ?, 0, 0, ?, ?)
      on conflict (id) do nothing`),
    turn: all<TurnRow>(`
      select id, account, pool, state, reserved_plan, reserved_packs, day_bucket, week_bucket, month_bucket, credits, debt
      from turn where id = ?`),
    insertTurn: all(`
      insert into turn (request_id, account, model, pool, state, owner, until, started_at, reserved, reserved_plan, reserved_packs,
        day_bucket, week_bucket, month_bucket, price_input, price_output, discount_percent, idempotency_key, body_hash,
        credits, debt, input_tokens, output_tokens, estimated)
      values (?, ?, ?, ?, 'held', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, 0, 0, 0, 0)`),
    endTurn: all(`
      update turn set state = ?, ended_at = ?, credits = ?, debt = ?, input_tokens = ?, output_tokens = ?, estimated = ?,
        code = ?, target = ?, upstream_status = ?
      where id = ? and state = 'held'`),
    overdue: all<{ id: number }>(`select id from turn where state = 'held' and until <= ?`),
    heldBy: all<{ id: number }>(`select id from turn where state = 'held' and owner = ?`),
    holds: all<{ held: number }>(`select count(*) as held from turn where state = 'held'`),
    lastEntry: all<{ seq: number; hash: Uint8Array }>('select seq, hash from entry where account = ? order by seq desc limit 1'),
    insertEntry: all(
      'insert into entry (account, seq, kind, at, turn, plan, debt, detail, hash) values (?, ?, ?, ?, ?, ?, ?, ?, ?)',
    ),
  }
}
