/** The plan's requests a minute, over all credentials of an account, and its turns at once. The limit by address stands at the door. */
import { definePlugin, GatewayError, rateHeaders, tooManyAtOnce } from '../src/index.ts'
import type { Admission, Exchange, PluginServices, RateDecision, Slots } from '../src/index.ts'

export const rateLimit = definePlugin({
  name: 'rate-limit',
  needs: ['caller'],
  gives: ['admission'],
  onRequest(x, { limits, clock }) {
    const { account, plan } = x.caller
    const decision = x.within === undefined ? limits.byAccount.take(account.id, plan.rpm, clock.ticks()) : undefined
    if (decision instanceof Promise) return decision.then((decided) => admit(x, decided, limits.running))
    admit(x, decision, limits.running)
  },
  onSettle(x) {
    x.admission.release()
  },
})

type Running = PluginServices['limits']['running']

type Known = Exchange & Pick<Slots, 'caller'> & Partial<Pick<Slots, 'admission'>>

function admit(x: Known, decision: RateDecision | undefined, running: Running): void {
  const { account, plan } = x.caller
  if (decision !== undefined) {
    Object.assign(x.headers, rateHeaders('rpm', decision))
    if (!decision.allowed) {
      const seconds = decision.retryAfterMs / 1000
      throw new GatewayError('rate_limited', { retryAfter: seconds, ...(seconds > 60 ? { shouldRetry: false } : {}) })
    }
  }
  x.admission = x.kind === 'turn' ? enter(account.id, plan.concurrency, running) : free
}

const free: Admission = { release: () => undefined }

function enter(account: string, limit: number, running: Running): Admission {
  if (!running.enter(account, limit)) throw tooManyAtOnce(limit)
  return { release: () => running.leave(account) }
}
