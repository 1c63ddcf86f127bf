/**
 * Plans the deletion of old turns and entries, so that the database stops growing. A checkpoint of all balances replaces the
 * links up to the last old one. The plan is computed on a snapshot beside the writer, which then only deletes. A chain with a
 * mismatch is not pruned, so that the mismatch can still be examined.
 */
import { BalanceReplay } from './balance-replay.ts'
import type { CheckpointTable } from '../schema/schema.ts'
import type { AccountReads } from './snapshot-reads.ts'
import type { VerifiedTurn } from './turn-columns.ts'

/** The rows that pruning reads, all of one snapshot. */
interface PruningSnapshot extends AccountReads {
  /** The oldest turns by id, held ones included, but never the newest turn: SQLite derives the next id from it. */
  oldestTurns(limit: number): Iterable<VerifiedTurn>
  /** Accounts with entries older than `before`. */
  accountsWithEntries(before: number, limit: number): readonly string[]
}

/** One transaction of the writer, for one account. */
export interface PruningStep {
  readonly account: string
  /** The position of the current checkpoint, 0 if there is none. */
  readonly previousSeq: number
  readonly checkpoint: CheckpointTable
  readonly turns: readonly number[]
  /** Buckets and packs that ended long ago, with the settled amount that they must still have. */
  readonly buckets: readonly (readonly [id: number, settled: number])[]
  readonly packs: readonly (readonly [id: string, settled: number])[]
  /** Sums of usage older than this are deleted. */
  readonly sumsBefore: number
}

/** Every other writer waits for a step. */
const maxTurnsPerStep = 1000

/** Members see their last thirty days, even if turns are kept for less time. */
const balanceRetentionMs = 31 * 86_400_000

export function planPruning(snapshot: PruningSnapshot, before: number, limit: number): readonly PruningStep[] {
  const endedTurns = new Map<string, VerifiedTurn[]>()
  for (const account of snapshot.accountsWithEntries(before, limit)) endedTurns.set(account, [])
  for (const turn of snapshot.oldestTurns(limit)) {
    if (turn.ended_at === null || turn.ended_at >= before) continue
    const turns = endedTurns.get(turn.account)
    if (turns === undefined) endedTurns.set(turn.account, [turn])
    else turns.push(turn)
  }
  return [...endedTurns].flatMap(([account, turns]) => planAccountPruning(account, turns, snapshot, before))
}

function planAccountPruning(
  account: string,
  turns: VerifiedTurn[],
  snapshot: PruningSnapshot,
  before: number,
): readonly PruningStep[] {
  let isIntact = true
  const replay = new BalanceReplay(account, () => (isIntact = false))
  const checkpoint = snapshot.checkpoint(account)
  if (checkpoint !== undefined) replay.resume(checkpoint)
  let previousSeq = replay.seq
  const entries = snapshot.entries(account)
  turns.sort((one, other) => one.seq - other.seq)

  const sumsBefore = before - balanceRetentionMs
  const steps: PruningStep[] = []
  let turnIds: number[] = []
  const addStep = (buckets: PruningStep['buckets'] = [], packs: PruningStep['packs'] = []): void => {
    steps.push({ account, previousSeq, checkpoint: replay.createCheckpoint(), turns: turnIds, buckets, packs, sumsBefore })
    previousSeq = replay.seq
    turnIds = []
  }
  // Link by link, as long as the next one is here and old. A link that is missing here is a turn that began later; a later run
  // prunes it.
  for (let turn = 0, entry = 0; ;) {
    const nextTurn = turns[turn]
    const nextEntry = entries[entry]
    if (nextEntry !== undefined && nextEntry.seq === replay.seq + 1 && nextEntry.at < before) {
      replay.applyEntry(nextEntry)
      entry += 1
    } else if (nextTurn !== undefined && nextTurn.seq === replay.seq + 1) {
      replay.applyTurn(nextTurn)
      turnIds.push(nextTurn.id)
      turn += 1
    } else break
    if (!isIntact) return []
    if (turnIds.length === maxTurnsPerStep) addStep()
  }
  if (replay.seq === previousSeq && steps.length === 0) return []
  addStep(...removeClosedBalances(replay, snapshot, sumsBefore))
  return steps
}

/** Removes buckets and packs that ended long ago and do not change after the checkpoint. */
function removeClosedBalances(
  replay: BalanceReplay,
  snapshot: PruningSnapshot,
  before: number,
): [buckets: PruningStep['buckets'], packs: PruningStep['packs']] {
  const buckets = snapshot.buckets(replay.account).filter(({ id, ends_at: end, granted, reserved, settled, debt }) => {
    const totals = replay.buckets.get(id)
    const isUnchanged = totals?.granted === granted && totals.settled === settled && totals.debt === debt
    return isUnchanged && end < before && reserved === 0
  })
  const packs = snapshot
    .packs(replay.account)
    .filter((pack) => replay.packs.get(pack.id)?.settled === pack.settled && pack.expires_at < before && pack.reserved === 0)
  for (const { id } of buckets) replay.buckets.delete(id)
  for (const { id } of packs) replay.packs.delete(id)
  return [buckets.map(({ id, settled }) => [id, settled] as const), packs.map(({ id, settled }) => [id, settled] as const)]
}
