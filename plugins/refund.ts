/** A failed turn costs nothing: its hold is given back in full, durably, before the caller is told so. */
import { definePlugin } from '../src/index.ts'
import type { Exchange, GatewayError, PluginServices, Slots } from '../src/index.ts'

export const refund = definePlugin({
  name: 'refund',
  needs: ['hold'],
  on: 'turn',
  onSettle(x, outcome, services) {
    if (outcome.kind === 'failed') return giveBack(x, outcome.failure, services)
  },
})

async function giveBack(
  x: Exchange & Pick<Slots, 'hold'>,
  { code }: GatewayError,
  { ledger, clock }: PluginServices,
): Promise<void> {
  const { target, status } = x.attempted
  const { state } = await ledger.refund({ hold: x.hold.id, at: clock.now(), code, target, upstreamStatus: status })
  x.debug.quotaRefunded = state === 'refunded' || state === 'expired'
}
