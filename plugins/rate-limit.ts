/** The plan's requests a minute, over all credentials of an account, and its turns at once. The limit by address stands at the door. */
import { definePlugin, GatewayError, rateHeaders, tooManyAtOnce } from '../src/index.ts'
import type { Admission } from '../src/index.ts'

export const rateLimit = definePlugin({
  name: 'rate-limit',
  needs: ['caller'],
  gives: ['admission'],
  onRequest(x, { limits, clock }) {
    const { account, plan } = x.caller
    if (x.within === undefined) {
      const decision = limits.byAccount.take(account.id, plan.rpm, clock.ticks())
      Object.assign(x.headers, rateHeaders('rpm', decision))
      if (!decision.allowed) {
        const seconds = decision.retryAfterMs / 1000
        throw new GatewayError('rate_limited', { retryAfter: seconds, ...(seconds > 60 ? { shouldRetry: false } : {}) })
      }
    }
    x.admission = x.kind === 'turn' ? enter(account.id, plan.concurrency, limits.running) : free
  },
  onSettle(x) {
    x.admission.release()
  },
})

const free: Admission = { release: () => undefined }

function enter(
  account: string,
  limit: number,
  running: { enter(subject: string, limit: number): boolean; leave(subject: string): void },
): Admission {
  if (!running.enter(account, limit)) throw tooManyAtOnce(limit)
  return { release: () => running.leave(account) }
}
