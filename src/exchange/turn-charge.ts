/** What a turn costs and what it leaves, as answers carry it: a whole one in headers, a stream in its last event. */
import type { WindowLeft } from '../domain/billing/ledger.ts'
import type { Pool } from '../domain/billing/catalog/product.ts'
import { formatInstant } from '../domain/instant.ts'
import type { Exchange, HoldBilling, NestedCharge, Slots, Usage } from './exchange.ts'

export interface TurnCharge {
  readonly credits: number
  readonly pool: Pool
  /** What the turn leaves; null if it is not known. Boosts are not counted. */
  readonly left: WindowLeft | null
}

type Turn = Partial<Pick<Slots, 'hold'>> & Pick<Exchange, 'nestedCharge' | 'chargedCredits'>

/** The charge of a turn with this usage and of the turns within it; undefined where nothing is charged. It waits for no settlement. */
export function computeTurnCharge(x: Turn, usage: Usage): TurnCharge | undefined {
  const billing = x.hold?.billing
  return billing === undefined ? undefined : sumTurnCharge(billing, billing.computeCredits(usage), x.nestedCharge)
}

/** The charge of a turn that has ended; undefined before. A failed turn costs nothing. */
export function getTurnCharge({ hold, nestedCharge, chargedCredits = 0 }: Turn): TurnCharge | undefined {
  return hold?.billing === undefined ? undefined : sumTurnCharge(hold.billing, chargedCredits, nestedCharge)
}

function sumTurnCharge({ pool, left }: HoldBilling, credits: number, nested: NestedCharge | undefined): TurnCharge {
  const leftAfter = left === null ? null : { ...left, credits: Math.max(0, left.credits - credits) }
  return { credits: credits + (nested?.credits ?? 0), pool, left: nested?.left ?? leftAfter }
}

/** Adds the charge of a turn that ran within another one. */
export function addNestedCharge(outer: Turn, turn: Turn): void {
  const charge = getTurnCharge(turn)
  if (charge === undefined) return
  const { credits = 0, left = null } = outer.nestedCharge ?? {}
  const isSamePool = charge.pool === outer.hold?.billing?.pool
  outer.nestedCharge = { credits: credits + charge.credits, left: isSamePool ? (charge.left ?? left) : left }
}

/** The field `charge` of a stream's last event. */
export function toChargeFields({ credits, pool, left }: TurnCharge) {
  return {
    credits,
    tier: pool,
    left: left === null ? null : { window: left.window, credits: left.credits, resets_at: formatInstant(left.resetsAt) },
  }
}

/** Adds the charge of a turn that has ended to the headers of its answer. A stream has sent them before. */
export function addChargeHeaders(x: Turn & Pick<Exchange, 'headers' | 'names'>): void {
  const charge = getTurnCharge(x)
  if (charge === undefined) return
  const { headers, names } = x
  const { credits, pool, left } = charge
  headers[names.quotaChargedHeader] = String(credits)
  headers[names.quotaTierHeader] = pool
  if (left === null) return
  headers[names.quotaRemainingHeader] = String(left.credits)
  headers[names.quotaWindowHeader] = left.window
  headers[names.quotaResetHeader] = String(Math.ceil(left.resetsAt / 1000))
}
