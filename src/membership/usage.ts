/** Usage in the words members and operators read: the same in the API, the pages and the commands. */
import type { Balance, Pack, PackKind, Turn, TurnState } from './ledger.ts'
import type { Period } from './period.ts'
import type { Window } from './plan.ts'
import type { Pool } from './product.ts'

export interface UsagePool {
  readonly tier: Pool
  readonly window: Window
  readonly limit: number
  readonly used: number
  readonly reserved: number
  readonly remaining: number
  /** RFC 3339. */
  readonly resets_at: string
}

export interface UsageBoost {
  readonly id: string
  readonly kind: PackKind
  readonly tier: Pool
  readonly granted: number
  readonly remaining: number
  readonly expires_at: string
}

export interface UsageTurn {
  readonly request_id: string
  readonly model: string
  readonly tier: Pool
  readonly state: TurnState
  readonly credits: number
  readonly reserved: number
  readonly input_tokens: number
  readonly output_tokens: number
  readonly estimated: boolean
  readonly code: string | null
  readonly upstream_status: number | null
  readonly started_at: string
  readonly ended_at: string | null
}

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

export function toUsagePools({ pools }: Balance): UsagePool[] {
  return pools.map(({ pool, window, limit, used, reserved, remaining, resetsAt }) => ({
    tier: pool,
    window,
    limit,
    used,
    reserved,
    remaining,
    resets_at: new Date(resetsAt).toISOString(),
  }))
}

export function toUsageBoosts({ packs }: Pick<Balance, 'packs'>): UsageBoost[] {
  return packs.map(toUsageBoost)
}

export function toUsageBoost({ id, kind, pool, granted, reserved, settled, expiresAt }: Pack): UsageBoost {
  const remaining = granted - reserved - settled
  return { id, kind, tier: pool, granted, remaining, expires_at: new Date(expiresAt).toISOString() }
}

export function toUsageTurn(turn: Turn): UsageTurn {
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
    started_at: new Date(turn.startedAt).toISOString(),
    ended_at: turn.endedAt === null ? null : new Date(turn.endedAt).toISOString(),
  }
}
