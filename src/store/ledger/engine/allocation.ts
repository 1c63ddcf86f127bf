/**
 * Decides how a turn's credits are distributed: on the plan's three windows alike, then on packs in their order, and the rest
 * on the windows as debt. Pure functions, independent of how a store reads and writes.
 */
import type { Bucket } from '../bucket.ts'
import { parseJson } from '../../../system/parse-json.ts'

/** The credits of one pack. */
export type Allocation = readonly [pack: string, credits: number]

/** A pack with credits left that has not expired. `left` excludes reserved credits. */
export interface OpenPack {
  readonly id: string
  readonly left: number
  readonly reserved: number
}

/**
 * The held credits or, below the minimum, the bucket whose period must end first; no bucket if only other running turns are in
 * the way.
 */
type HoldAllocation =
  | { readonly held: number; readonly fromPlan: number; readonly fromPacks: readonly Allocation[] }
  | { readonly held: undefined; readonly exhaustedBucket: Bucket | undefined }

/** `openPacks`, earliest expiry first, are read only if the plan is not enough. */
export function allocateHold(
  amount: number,
  minAmount: number,
  buckets: readonly Bucket[],
  openPacks: () => readonly OpenPack[],
): HoldAllocation {
  const fromPlan = Math.min(amount, getMinAvailable(buckets))
  const packs = fromPlan < amount ? openPacks() : []
  const fromPacks = allocateFromPacks(packs, amount - fromPlan)
  const heldCredits = fromPlan + sumAllocations(fromPacks)
  return heldCredits < minAmount
    ? { held: undefined, exhaustedBucket: findLastExhausted(minAmount, buckets, packs) }
    : { held: heldCredits, fromPlan, fromPacks }
}

interface SettlementAllocation {
  readonly fromPlan: number
  readonly fromPacks: readonly Allocation[]
  readonly debt: number
  /** The debt of each window: one window may have room where another has none. */
  readonly windowDebts: readonly number[]
}

/** `held` is the turn's reservation; what is not used returns to where it came from. A refund uses nothing. */
export function allocateSettlement(
  credits: number,
  held: { readonly fromPlan: number; readonly fromPacks: readonly Allocation[] },
  buckets: readonly Bucket[],
  openPacks: () => readonly OpenPack[],
): SettlementAllocation {
  // First the held credits, in the order they were taken.
  const fromHeldPlan = Math.min(credits, held.fromPlan)
  const usedByPack = new Map<string, number>()
  let remainingCredits = credits - fromHeldPlan
  const use = (pack: string, max: number): void => {
    const share = Math.min(remainingCredits, max)
    if (share === 0) return
    usedByPack.set(pack, (usedByPack.get(pack) ?? 0) + share)
    remainingCredits -= share
  }
  for (const [pack, share] of held.fromPacks) use(pack, share)

  // Then available credits: from the plan as far as all three windows have room, then from packs.
  const fromAvailablePlan = remainingCredits === 0 ? 0 : Math.min(remainingCredits, getMinAvailable(buckets))
  remainingCredits -= fromAvailablePlan
  if (remainingCredits > 0) for (const pack of openPacks()) use(pack.id, pack.left)

  // The rest is charged to each window separately: it uses up the window's room, and what remains is that window's debt.
  const windowDebts =
    remainingCredits === 0 ? [] : buckets.map((bucket) => Math.max(0, remainingCredits - (bucket.available - fromAvailablePlan)))
  return { fromPlan: fromHeldPlan + fromAvailablePlan, fromPacks: [...usedByPack], debt: remainingCredits, windowDebts }
}

export function sumAllocations(allocations: readonly Allocation[]): number {
  return allocations.reduce((sum, [, credits]) => sum + credits, 0)
}

/** From the JSON in a turn's row. */
export function parseAllocations(json: string | null): readonly Allocation[] {
  return json === null ? [] : (parseJson(json) as readonly Allocation[])
}

export function serializeAllocations(allocations: readonly Allocation[]): string | null {
  return allocations.length === 0 ? null : JSON.stringify(allocations)
}

function getMinAvailable(buckets: readonly Bucket[]): number {
  return buckets.reduce((minAvailable, bucket) => Math.min(minAvailable, bucket.available), Infinity)
}

function allocateFromPacks(packs: readonly OpenPack[], amount: number): readonly Allocation[] {
  const allocations: Allocation[] = []
  let missingCredits = amount
  for (const { id, left } of packs) {
    const share = Math.min(missingCredits, left)
    if (share === 0) continue
    allocations.push([id, share])
    missingCredits -= share
  }
  return allocations
}

/** The turn fits again once every window without room has ended: returns the last of them to end. */
function findLastExhausted(minAmount: number, buckets: readonly Bucket[], packs: readonly OpenPack[]): Bucket | undefined {
  const inPacks = packs.reduce((sum, pack) => sum + pack.left + pack.reserved, 0)
  const exhaustedBuckets = buckets.filter((bucket) => bucket.get('granted') - bucket.paid + inPacks < minAmount)
  return exhaustedBuckets.toSorted((one, other) => other.get('endsAt') - one.get('endsAt'))[0]
}
