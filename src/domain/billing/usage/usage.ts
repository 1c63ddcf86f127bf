/** Usage in the terms shown to members and operators: the same in the API (which defines the schema), the pages and the commands. */
import { formatInstant } from '../../instant.ts'
import type { Balance, Pack, Turn, UsageSource } from '../ledger.ts'
import type { Period } from '../period.ts'
import type { Pool } from '../catalog/product.ts'

/** Credits charged to the pools on one day. */
export interface DailyUsage {
  readonly period: Period
  readonly pool: Pool
  readonly used: number
}

export interface DailyUsages {
  /** Days that end after `since`, today included; days without a request are missing. */
  listSince(account: string, since: number): Promise<readonly DailyUsage[]>
}

/** Sums of the turns that began in one quarter of an hour, alike in all that members filter by. */
export interface UsageSum {
  readonly startsAt: number
  readonly pool: Pool
  readonly model: string
  readonly credential: UsageSource
  readonly apiFormat: string
  /** Turns that were charged. */
  readonly turns: number
  /** Turns that cost nothing because they failed. */
  readonly failed: number
  readonly credits: number
  readonly inputTokens: number
  readonly cachedInputTokens: number
  readonly outputTokens: number
}

export interface UsageSums {
  /** The sums of an account from `since` on, oldest first. Turns that run are not in them. */
  listSince(account: string, since: number): Promise<readonly UsageSum[]>
}

export function toUsagePools({ pools }: Balance) {
  return pools.map(({ pool, window, limit, used, reserved, remaining, resetsAt }) => ({
    tier: pool,
    window,
    limit,
    used,
    reserved,
    remaining,
    resets_at: formatInstant(resetsAt),
  }))
}

export function toUsageBoosts({ packs }: Pick<Balance, 'packs'>) {
  return packs.map(toUsageBoost)
}

export function toUsageBoost({ id, kind, pool, granted, reserved, settled, expiresAt }: Pack) {
  const remaining = granted - reserved - settled
  return { id, kind, tier: pool, granted, remaining, expires_at: formatInstant(expiresAt) }
}

export function toUsageTurn(turn: Turn) {
  return {
    request_id: turn.requestId,
    model: turn.model,
    api_format: turn.apiFormat,
    requested_model: turn.requestedModel,
    credential: turn.credential,
    tier: turn.pool,
    state: turn.state,
    credits: turn.credits,
    reserved: turn.reserved,
    input_tokens: turn.inputTokens,
    cached_input_tokens: turn.cachedInputTokens,
    output_tokens: turn.outputTokens,
    estimated: turn.estimated,
    code: turn.code,
    upstream_status: turn.upstreamStatus,
    started_at: formatInstant(turn.startedAt),
    ended_at: formatInstant(turn.endedAt),
  }
}
