/** What a turn's record keeps for operators, besides its bill: figures of reports, and how the turn went. */
import type { TurnDetails, TurnTrace } from '../domain/billing/ledger.ts'
import { computeUpstreamCost } from '../domain/billing/catalog/upstream-cost.ts'
import type { Exchange, Slots, Usage } from './exchange.ts'

/** `usage`: what the upstream produced; null: nothing, or nothing is known. */
export function createTurnDetails(x: Exchange & Partial<Slots>, usage: Usage | null): TurnDetails {
  const { lastAttempt, caller, searchCostNanodollars = null } = x
  const { cost = null, model, responseId } = lastAttempt
  const tokenCost =
    cost === null || usage === null
      ? null
      : computeUpstreamCost(
          { input: usage.inputTokens, cachedInput: usage.cachedInputTokens ?? 0, output: usage.outputTokens },
          cost,
          usage.pieces,
        )
  return {
    plan: caller?.plan.id ?? null,
    upstreamModel: toRecordedName(model),
    upstreamResponseId: toRecordedName(responseId),
    upstreamCostNanodollars: searchCostNanodollars === null ? tokenCost : searchCostNanodollars + (tokenCost ?? 0),
  }
}

export function createTurnTrace({ attempts, firstTokenMonotonicMs, startedMonotonicMs }: Exchange): TurnTrace {
  return {
    firstTokenMs: firstTokenMonotonicMs === undefined ? null : Math.round(firstTokenMonotonicMs - startedMonotonicMs),
    attempts: attempts ?? [],
  }
}

/** At most as much as a turn's row should carry, in characters that every database stores. */
function toRecordedName(name: unknown): string | null {
  if (typeof name !== 'string' || name === '') return null
  return name.slice(0, maxRecordedLength).replaceAll(/[^\x20-\x7e]/g, '?')
}

const maxRecordedLength = 256
