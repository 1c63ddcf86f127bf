/**
 * How a turn's credits fall on what its account has: on the plan's three windows alike, then on packs in their order, and where nothing
 * has room any more on the windows as debt. Decided here alone, apart from how a store reads and writes.
 */
import type { Bucket } from './bucket.ts'

/** What a pack gives or has given. */
export type Share = readonly [pack: string, credits: number]

/** A pack that has credits and time left. `left` is what nobody has taken or holds. */
export interface OpenPack {
  readonly id: string
  readonly left: number
  readonly reserved: number
}

/** What a turn holds, or, where that would be less than its floor, the bucket to wait for; none where only running turns are in the way. */
export type HoldSplit =
  | { readonly held: number; readonly fromPlan: number; readonly shares: readonly Share[] }
  | { readonly held: undefined; readonly lacking: Bucket | undefined }

/** `openPacks`, earliest expiry first, are asked for only where the plan has not enough. */
export function splitHold(
  want: number,
  floor: number,
  buckets: readonly Bucket[],
  openPacks: () => readonly OpenPack[],
): HoldSplit {
  const fromPlan = Math.min(want, roomIn(buckets))
  const packs = fromPlan < want ? openPacks() : []
  const shares = takeFrom(packs, want - fromPlan)
  const held = fromPlan + total(shares)
  return held < floor ? { held: undefined, lacking: lastLacking(floor, buckets, packs) } : { held, fromPlan, shares }
}

export interface EndSplit {
  readonly fromPlan: number
  readonly shares: readonly Share[]
  readonly debt: number
  /** Of the debt, what each window owes: one has room where another has none. */
  readonly owed: readonly number[]
}

/** `held` is what the turn was held for; what it does not use of that goes back to where it came from. A refund uses nothing. */
export function splitEnd(
  credits: number,
  held: { readonly fromPlan: number; readonly shares: readonly Share[] },
  buckets: readonly Bucket[],
  openPacks: () => readonly OpenPack[],
): EndSplit {
  // First what was held, in the order it was taken.
  const planHeld = Math.min(credits, held.fromPlan)
  const used = new Map<string, number>()
  let left = credits - planHeld
  const use = (pack: string, most: number): void => {
    const share = Math.min(left, most)
    if (share === 0) return
    used.set(pack, (used.get(pack) ?? 0) + share)
    left -= share
  }
  for (const [pack, share] of held.shares) use(pack, share)

  // Then what has room just now: the same periods as far as all three have it, then packs.
  const more = left === 0 ? 0 : Math.min(left, roomIn(buckets))
  left -= more
  if (left > 0) for (const pack of openPacks()) use(pack.id, pack.left)

  // Whatever is still missing is charged to each window by itself: what it has room for is used up, the rest is that window's debt.
  const owed = left === 0 ? [] : buckets.map((bucket) => Math.max(0, left - (bucket.room - more)))
  return { fromPlan: planHeld + more, shares: [...used], debt: left, owed }
}

export function total(shares: readonly Share[]): number {
  return shares.reduce((sum, [, credits]) => sum + credits, 0)
}

/** As a turn's row has them. */
export function sharesIn(json: string | null): readonly Share[] {
  return json === null ? [] : (JSON.parse(json) as readonly Share[])
}

export function sharesOut(shares: readonly Share[]): string | null {
  return shares.length === 0 ? null : JSON.stringify(shares)
}

function roomIn(buckets: readonly Bucket[]): number {
  return buckets.reduce((room, bucket) => Math.min(room, bucket.room), Infinity)
}

function takeFrom(packs: readonly OpenPack[], want: number): readonly Share[] {
  const shares: Share[] = []
  let missing = want
  for (const { id, left } of packs) {
    const share = Math.min(missing, left)
    if (share === 0) continue
    shares.push([id, share])
    missing -= share
  }
  return shares
}

/** Every window that lacks room has to begin anew before such a turn fits again: the last of them to end. */
function lastLacking(floor: number, buckets: readonly Bucket[], packs: readonly OpenPack[]): Bucket | undefined {
  const inPacks = packs.reduce((sum, pack) => sum + pack.left + pack.reserved, 0)
  const lacking = buckets.filter((bucket) => bucket.get('granted') - bucket.covered + inPacks < floor)
  return lacking.toSorted((one, other) => other.get('endsAt') - one.get('endsAt'))[0]
}
