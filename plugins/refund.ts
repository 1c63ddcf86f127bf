/** Refunds the hold of a failed turn in full, durably, before the client receives the error. */
import { addChargeHeaders, createTurnDetails, createTurnTrace, definePlugin } from '../src/index.ts'
import type { Exchange, GatewayError, PluginServices, Slots } from '../src/index.ts'

export const refund = definePlugin({
  name: 'refund',
  needs: ['hold'],
  on: 'turn',
  onSettle(x, outcome, services) {
    if (outcome.kind !== 'failed') return
    // The first call of a turn with searches was charged before a later call failed. While the database cannot be written, that settlement
    // is only in the journal, and a refund could reach the ledger before it.
    if (x.chargedCredits === undefined) return refundHold(x, outcome.failure, services)
    x.debug.quotaRefunded = false
    addChargeHeaders(x)
  },
})

async function refundHold(
  x: Exchange & Pick<Slots, 'hold'>,
  { code }: GatewayError,
  { ledger, clock }: PluginServices,
): Promise<void> {
  const { target, status, failedUsage = null } = x.lastAttempt
  const details = createTurnDetails(x, failedUsage)
  const trace = createTurnTrace(x)
  const { state } = await ledger.refund({
    hold: x.hold.id,
    at: clock.now(),
    code,
    target,
    upstreamStatus: status,
    details,
    trace,
  })
  x.debug.quotaRefunded = state === 'refunded' || state === 'expired'
  if (x.debug.quotaRefunded) addChargeHeaders(x)
}
