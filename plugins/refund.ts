/** A failed turn costs nothing: its hold is given back in full, durably, before the caller is told so. */
import { definePlugin } from '../src/index.ts'

export const refund = definePlugin({
  name: 'refund',
  needs: ['hold'],
  on: 'turn',
  async onSettle(x, outcome, { ledger, clock }) {
    if (outcome.kind !== 'failed') return
    const { failure } = outcome
    const { state } = await ledger.refund({
      hold: x.hold.id,
      at: clock.now(),
      code: failure.code,
      target: x.attempted.target,
      upstreamStatus: x.attempted.status,
    })
    x.debug.quotaRefunded = state === 'refunded' || state === 'expired'
  },
})
