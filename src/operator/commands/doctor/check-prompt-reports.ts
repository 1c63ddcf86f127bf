/** Whether targets report larger prompts than any hold covered: what is above a hold is never charged, so it is the operator's loss. */
import type { Turn } from '../../../domain/billing/ledger.ts'
import type { HealthCheck } from '../../../services/health/health-checks.ts'
import { pluralize } from '../../output.ts'

/** How many of the newest turns are looked at. */
export const maxReadTurns = 1_000

type ReportedTurn = Pick<Turn, 'target' | 'inputTokens' | 'disputed'>

/** A finding for each target with such a report; it keeps no server from working. */
export function checkPromptReports(turns: readonly ReportedTurn[]): HealthCheck[] {
  return [...Map.groupBy(turns, ({ target }) => target)].flatMap(([target, all]) => {
    const above = all.flatMap(({ disputed, inputTokens }) =>
      disputed !== null && disputed.input > inputTokens ? [{ reported: disputed.input, charged: inputTokens }] : [],
    )
    const largest = above.toSorted((a, b) => b.reported - a.reported)[0]
    if (target === null || largest === undefined) return []
    const detail =
      `${target} reported a larger prompt than was reserved in ${above.length} of its last ${pluralize(all.length, 'turn')}, ` +
      `at most ${largest.reported} tokens where ${largest.charged} were charged; ` +
      'where it counts pictures or files dear, raise media of its products'
    return [{ what: 'usage reports', ok: true, detail }]
  })
}
