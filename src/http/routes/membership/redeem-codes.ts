/** Codes: what one would give, and redeeming it. */
import type { ResponseOf } from '../../../api/endpoint.ts'
import { inspectCode, redeemCode } from '../../../api/membership/redeem-codes.ts'
import { formatInstant } from '../../../domain/instant.ts'
import type { CodeOutcome } from '../../../domain/services/redeem-code-service.ts'
import { requireCodeOutcome } from '../../../services/membership-errors.ts'
import type { Services } from '../../../services/services.ts'
import type { ServeEndpoint } from '../../endpoint-handler.ts'

export function mountRedeemCodeRoutes(serve: ServeEndpoint, { membership: { redeemCodes } }: Pick<Services, 'membership'>): void {
  serve(inspectCode, async ({ member: { account }, clientInfo, body: { code } }) =>
    toOutcome(requireCodeOutcome(await redeemCodes.inspect(code, account, clientInfo))),
  )

  serve(redeemCode, async ({ member: { account }, clientInfo, body: { code } }) => ({
    ok: true,
    outcome: toOutcome(requireCodeOutcome(await redeemCodes.redeem(code, account, clientInfo))),
  }))
}

function toOutcome(outcome: CodeOutcome): ResponseOf<typeof inspectCode> {
  if (outcome.kind === 'credits') {
    const { pool, credits, days } = outcome.gift
    return { kind: 'credits', plan: null, credits: { pool, credits, days, expires_at: formatInstant(outcome.expiresAt) } }
  }
  const { gift, startsAt, endsAt, isWaiting, interrupts } = outcome
  const { id, name } = gift.terms.plan
  const times = { starts_at: formatInstant(startsAt), ends_at: formatInstant(endsAt) }
  return { kind: 'plan', plan: { id, name, span: gift.span, ...times, is_waiting: isWaiting, interrupts }, credits: null }
}
