/**
 * Rebuilds every balance from the accounts' chains alone, compares it with the stored one and reports each broken rule,
 * whatever wrote to the database. Works on one snapshot, account by account, so that its memory does not grow with the ledger.
 */
import type { Mismatch, Verification } from '../../domain/billing/ledger.ts'
import type { BalanceTotals } from './balance-replay.ts'
import { BalanceReplay, formatBucketIdentity, getBucketIds, formatPackIdentity } from './balance-replay.ts'
import { genesisHash, hashHold, hashRegistryEntry, isSameHash } from './hash-chain.ts'
import type { ReplayTurn } from './account-balance.ts'
import { AccountBalance, toBucketRows } from './account-balance.ts'
import type { BucketTable, BalanceTable, LedgerAccountTable } from '../schema/schema.ts'
import type { LedgerReads } from './snapshot-reads.ts'
import { parseAllocations } from './engine/allocation.ts'
import type { VerifiedTurn } from './turn-columns.ts'
import { outcomeColumns, usageColumns, pickValues } from './turn-columns.ts'

/** The rows that verification reads, all of one snapshot. */
interface LedgerSnapshot extends LedgerReads {
  /** In the order of their numbers. */
  registry(): Iterable<LedgerAccountTable>
  /** The whole log, by account in the order of `accounts`, then by chain position. */
  turns(): Iterable<VerifiedTurn>
  watermark(): BalanceWatermark
  /** The stored row, which may be behind. */
  balance(account: string): BalanceTable | undefined
}

/** The turn after which stored balances may be behind, and the turns after it. */
export interface BalanceWatermark {
  readonly turn: number
  readonly holds: ReadonlySet<number>
  readonly newest: number
  /** The number of turns after `turn`, and the newest turn of the log. */
  readonly turnsAfter: number
  readonly newestTurn: number
}

type Report = (rule: string, account: string, detail: string) => void

/** The ending columns of a held turn, in their order. */
const openHoldOutcome = JSON.stringify([null, 0, 0, 0, 0, 0, null, null, null, null, null, null, null, 'held', 0, null, null, 1])

/** More mismatches add no information. */
const maxMismatches = 1000

export function verifyLedger(snapshot: LedgerSnapshot): Verification {
  const mismatches: Mismatch[] = []
  const report: Report = (rule, account, detail) => {
    if (mismatches.length < maxMismatches) mismatches.push({ rule, account, detail })
  }
  verifyRegistry(snapshot, report)
  const turnLog = new TurnLogReader(snapshot.turns())
  try {
    verifyAccounts(snapshot, turnLog, report)
  } finally {
    turnLog.close()
  }
  return {
    ok: mismatches.length === 0,
    accounts: snapshot.countAccounts(),
    turns: turnLog.turnCount,
    holdsOpen: turnLog.heldCount,
    mismatches,
  }
}

function verifyAccounts(snapshot: LedgerSnapshot, turnLog: TurnLogReader, report: Report): void {
  const watermark = snapshot.watermark()
  for (const { account, isRegistered } of snapshot.accounts()) {
    for (const stray of turnLog.readBefore(account))
      report('every turn belongs to a ledger account', stray.account, `turn ${stray.id}`)
    if (!isRegistered) report('every ledger account is registered', account, 'it is not registered')
    new AccountVerifier(account, snapshot, watermark, report).verify(turnLog.readAccount(account))
  }
  for (const stray of turnLog.readRest()) report('every turn belongs to a ledger account', stray.account, `turn ${stray.id}`)
  if (watermark.newestTurn !== watermark.newest || watermark.turnsAfter !== watermark.newest - watermark.turn)
    report(
      'no turn after the watermark is missing',
      '',
      `${watermark.turnsAfter} turns follow turn ${watermark.turn} and the last is ${watermark.newestTurn}, but turns up to ${watermark.newest} were begun`,
    )
}

/** Detects a missing account, in the middle of the registry or at its end. */
function verifyRegistry(snapshot: LedgerSnapshot, report: Report): void {
  const rule = 'no ledger account is missing'
  let last = 0
  let hash = genesisHash
  for (const row of snapshot.registry()) {
    if (row.number !== last + 1)
      report(rule, row.account, `${row.number - last - 1} accounts before it are missing in the registry`)
    else if (!isSameHash(hashRegistryEntry(hash, row.number, row.account), row.hash))
      report(rule, row.account, `number ${row.number} of the registry has another hash`)
    last = row.number
    hash = row.hash
  }
  const end = snapshot.registryHead()
  if (end === undefined) report(rule, '', 'the registry has no head')
  else if (end.number !== last || !isSameHash(end.hash, hash))
    report(rule, '', `${end.number} accounts were opened, the registry ends at ${last}`)
}

/** Reads the turn log once, from its beginning to its end. */
class TurnLogReader {
  readonly #turns: Iterator<VerifiedTurn>
  #next: VerifiedTurn | undefined
  turnCount = 0
  heldCount = 0

  constructor(turns: Iterable<VerifiedTurn>) {
    this.#turns = turns[Symbol.iterator]()
    this.#advance()
  }

  *readAccount(account: string): Iterable<VerifiedTurn> {
    while (this.#next?.account === account) yield this.#consume(this.#next)
  }

  /** The turns of accounts before this one. */
  *readBefore(account: string): Iterable<VerifiedTurn> {
    while (this.#next !== undefined && this.#next.account < account) yield this.#consume(this.#next)
  }

  *readRest(): Iterable<VerifiedTurn> {
    while (this.#next !== undefined) yield this.#consume(this.#next)
  }

  close(): void {
    this.#turns.return?.()
  }

  #consume(turn: VerifiedTurn): VerifiedTurn {
    this.turnCount += 1
    if (turn.state === 'held') this.heldCount += 1
    this.#advance()
    return turn
  }

  #advance(): void {
    const { done, value } = this.#turns.next()
    this.#next = done === true ? undefined : value
  }
}

class AccountVerifier {
  readonly #account: string
  readonly #snapshot: LedgerSnapshot
  readonly #replay: BalanceReplay
  readonly #reportMismatch: (rule: string, detail: string) => void
  /** Credits of open holds, by bucket or pack. */
  readonly #reserved = new Map<number | string, number>()
  readonly #watermark: BalanceWatermark
  readonly #balance: AccountBalance | undefined
  /** Turns that the stored balance lacks. */
  readonly #missingTurns: ReplayTurn[] = []

  constructor(account: string, snapshot: LedgerSnapshot, watermark: BalanceWatermark, report: Report) {
    this.#account = account
    this.#snapshot = snapshot
    this.#watermark = watermark
    const row = snapshot.balance(account)
    this.#balance = row === undefined ? undefined : AccountBalance.fromRow(row)
    const reportMismatch = (rule: string, detail: string): void => report(rule, account, detail)
    this.#reportMismatch = reportMismatch
    this.#replay = new BalanceReplay(account, reportMismatch)
  }

  verify(turns: Iterable<VerifiedTurn>): void {
    const replay = this.#replay
    const checkpoint = this.#snapshot.checkpoint(this.#account)
    if (checkpoint !== undefined) replay.resume(checkpoint)
    const entries = this.#snapshot.entries(this.#account)
    let next = 0
    const applyEntriesBefore = (seq: number): void => {
      for (let entry = entries[next]; entry !== undefined && entry.seq < seq; entry = entries[++next]) {
        replay.applyEntry(entry)
        this.#compareStoredBalance()
      }
    }
    this.#compareStoredBalance()
    for (const turn of turns) {
      if (this.#balance?.isMissing(turn) === true) this.#verifyMissing(turn)
      if (turn.state === 'held') {
        this.#verifyHold(turn)
        continue
      }
      applyEntriesBefore(turn.seq)
      replay.applyTurn(turn)
      this.#compareStoredBalance()
    }
    applyEntriesBefore(Number.POSITIVE_INFINITY)
    this.#compareBalances()
  }

  #verifyHold(turn: VerifiedTurn): void {
    if (turn.seq !== 0) this.#reportMismatch('a held turn is not in the chain yet', `turn ${turn.id} is at link ${turn.seq}`)
    const ending = [...pickValues(usageColumns, turn), ...pickValues(outcomeColumns, turn)]
    const actual = JSON.stringify([...ending, turn.hash_version])
    if (actual !== openHoldOutcome) this.#reportMismatch('a held turn has no ending yet', `turn ${turn.id} has ${actual}`)
    if (!isSameHash(hashHold(turn), turn.hash)) this.#reportMismatch('a held turn stays what it was held as', `turn ${turn.id}`)
    const add = (what: number | string, credits: number): void => {
      this.#reserved.set(what, (this.#reserved.get(what) ?? 0) + credits)
    }
    for (const bucket of getBucketIds(turn)) add(bucket, turn.reserved_plan)
    this.#replay.reportIfUnreadable(`turn ${turn.id}`, () => {
      for (const [pack, credits] of parseAllocations(turn.reserved_packs)) add(pack, credits)
    })
  }

  /** A turn that a reader would not find when it replays the missing turns. */
  #verifyMissing(turn: ReplayTurn): void {
    this.#missingTurns.push(turn)
    if (turn.id <= this.#watermark.turn && !this.#watermark.holds.has(turn.id))
      this.#reportMismatch('turns that a balance lacks are after the watermark', `turn ${turn.id} is not`)
  }

  /** The balance was written at this link. */
  #compareStoredBalance(): void {
    const { seq, hash } = this.#replay
    if (this.#balance?.seq === seq && !isSameHash(this.#balance.hash, hash))
      this.#reportMismatch('a chain has no holes', `the balance, written at link ${seq}, has another hash`)
  }

  #compareBalances(): void {
    const { buckets, packs, seq } = this.#replay
    const balance = this.#balance
    if (balance === undefined) this.#reportMismatch('every balance is stored', 'the balance is missing')
    else {
      if (balance.lastTurn > this.#watermark.newest)
        this.#reportMismatch(
          'a balance contains no unknown turn',
          `the balance contains turn ${balance.lastTurn}, the newest is ${this.#watermark.newest}`,
        )
      this.#replay.reportIfUnreadable('the balance', () => balance.replay(this.#missingTurns))
      if (balance.seq !== seq)
        this.#reportMismatch('a chain has no holes', `the balance is at link ${balance.seq}, the chain ends at ${seq}`)
    }

    const storedIds = new Set<number | string>()
    for (const row of [...this.#snapshot.buckets(this.#account), ...(balance === undefined ? [] : toBucketRows(balance))]) {
      const identity = formatBucketIdentity(row.pool, row.window, row.starts_at, row.ends_at)
      this.#compareTotals(`bucket ${row.id}`, row.id, identity, row, buckets.get(row.id))
      storedIds.add(row.id)
    }
    for (const row of this.#snapshot.packs(this.#account)) {
      const identity = formatPackIdentity(row.kind, row.pool, row.expires_at)
      this.#compareTotals(`pack ${row.id}`, row.id, identity, { ...row, debt: 0 }, packs.get(row.id))
      storedIds.add(row.id)
    }
    for (const id of new Set([...buckets.keys(), ...packs.keys(), ...this.#reserved.keys()])) {
      if (!storedIds.has(id)) this.#reportMismatch('every balance is stored', `${id} is in the chain only`)
    }
  }

  #compareTotals(
    label: string,
    id: number | string,
    identity: string,
    row: Pick<BucketTable, 'granted' | 'reserved' | 'settled' | 'debt'>,
    totals: BalanceTotals | undefined,
  ): void {
    if (totals === undefined) {
      this.#reportMismatch('every balance is in the chain', `${label} is not`)
      return
    }
    if (identity !== totals.identity)
      this.#reportMismatch('a balance stays what it was made as', `${label} is ${identity}, was made as ${totals.identity}`)
    for (const part of ['granted', 'settled', 'debt'] as const) {
      if (row[part] !== totals[part])
        this.#reportMismatch('balances follow from the chain', `${label} has ${part} ${row[part]}, by the chain ${totals[part]}`)
    }
    const reservedByTurns = this.#reserved.get(id) ?? 0
    if (row.reserved !== reservedByTurns)
      this.#reportMismatch(
        'reserved amounts follow from held turns',
        `${label} has reserved ${row.reserved}, by the held turns ${reservedByTurns}`,
      )
    if (row.granted - row.reserved - row.settled + row.debt < 0 || row.debt > row.settled) {
      this.#reportMismatch('granted = remaining + reserved + settled - debt', `${label} is overdrawn: ${JSON.stringify(row)}`)
    }
  }
}
