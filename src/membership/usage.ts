/** Usage in the words members and operators read: the same in the API, which says of what shape it is, the pages and the commands. */
import { instant } from './instant.ts'
import type { Balance, Pack, Turn } from './ledger.ts'
import type { Period } from './period.ts'
import type { Pool } from './product.ts'

/** Credits that one day's pools were charged. */
export interface UsedDay {
  readonly period: Period
  readonly pool: Pool
  readonly used: number
}

export interface UsedDays {
  /** Days that end after `since`, the one at hand among them; without those nothing was asked on. */
  since(account: string, since: number): Promise<readonly UsedDay[]>
}

export function toUsagePools({ pools }: Balance) {
  return pools.map(({ pool, window, limit, used, reserved, remaining, resetsAt }) => ({
    tier: pool,
    window,
    limit,
    used,
    reserved,
    remaining,
    resets_at: instant(resetsAt),
  }))
}

export function toUsageBoosts({ packs }: Pick<Balance, 'packs'>) {
  return packs.map(toUsageBoost)
}

export function toUsageBoost({ id, kind, pool, granted, reserved, settled, expiresAt }: Pack) {
  const remaining = granted - reserved - settled
  return { id, kind, tier: pool, granted, remaining, expires_at: instant(expiresAt) }
}

export function toUsageTurn(turn: Turn) {
  return {
    request_id: turn.requestId,
    model: turn.model,
    tier: turn.pool,
    state: turn.state,
    credits: turn.credits,
    reserved: turn.reserved,
    input_tokens: turn.inputTokens,
    output_tokens: turn.outputTokens,
    estimated: turn.estimated,
    code: turn.code,
    upstream_status: turn.upstreamStatus,
    started_at: instant(turn.startedAt),
    ended_at: instant(turn.endedAt),
  }
}
