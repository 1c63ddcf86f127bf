/**
 * Enforces the plan's requests per minute over all credentials of an account, and its concurrent turns. The limit per IP address is
 * enforced before the plugins.
 */
import { definePlugin, GatewayError, toRateLimitHeaders, refuseConcurrency } from '../src/index.ts'
import type { Admission, Exchange, PluginServices, RateDecision, Slots } from '../src/index.ts'

export const rateLimit = definePlugin({
  name: 'rate-limit',
  needs: ['caller'],
  gives: ['admission'],
  onRequest(x, services) {
    const { limits, clock } = services
    const { account, plan } = x.caller
    if (isTokenCount(x)) return admitTokenCount(x, services)
    const decision = x.parent === undefined ? limits.byAccount.consume(account.id, plan.rpm, clock.monotonicMs()) : undefined
    if (decision instanceof Promise) return decision.then((decided) => admit(x, decided, services))
    return admit(x, decision, services)
  },
  onSettle(x) {
    x.admission.release()
  },
})

/** Agents send these by the dozen. They cost nothing, and must not use up the requests a minute of the plan. */
function isTokenCount({ inbound, kind }: Exchange): boolean {
  return kind === 'unmetered' && inbound.path === '/v1/messages/count_tokens'
}

/** As many counts as requests a minute, but at least a hundred. */
const minTokenCountsPerMinute = 100

function admitTokenCount(x: AdmissionInput, { limits, clock }: PluginServices): void | Promise<void> {
  const { account, plan } = x.caller
  const perMinute = Math.max(minTokenCountsPerMinute, plan.rpm)
  const assertAllowed = ({ allowed, retryAfterMs }: RateDecision): void => {
    if (!allowed) throw new GatewayError('rate_limited', { retryAfter: retryAfterMs / 1000 })
    x.admission = unlimitedAdmission
  }
  const decision = limits.byAccount.consume(`${account.id}:token-counts`, perMinute, clock.monotonicMs())
  return decision instanceof Promise ? decision.then(assertAllowed) : assertAllowed(decision)
}

type AdmissionInput = Exchange & Pick<Slots, 'caller'> & Partial<Pick<Slots, 'admission'>>

function admit(x: AdmissionInput, decision: RateDecision | undefined, services: PluginServices): void | Promise<void> {
  const { limits, clock } = services
  const { account, plan } = x.caller
  if (decision !== undefined) {
    Object.assign(x.headers, toRateLimitHeaders('rpm', decision))
    if (!decision.allowed) {
      const time = { earliestMs: decision.retryAfterMs, stepMs: minuteMs / plan.rpm }
      const seconds = limits.retryTimes.next(account.id, time, clock.monotonicMs()) / 1000
      throw new GatewayError('rate_limited', { retryAfter: seconds, ...(seconds > 60 ? { shouldRetry: false } : {}) })
    }
  }
  x.admission = unlimitedAdmission
  // A call within a turn uses the turn's slot.
  if (x.kind !== 'turn' || x.parent?.kind === 'turn') return
  if (limits.concurrency.acquire(account.id, plan.concurrency)) x.admission = createAdmission(account.id, services)
  else if (limits.concurrency.maxWaitMs === 0) throw refuseConcurrency(x, services)
  else return waitForSlot(x, services)
}

async function waitForSlot(x: AdmissionInput, services: PluginServices): Promise<void> {
  const { account, plan } = x.caller
  const onDisconnect = (listener: () => void): void => x.inbound.onDisconnect?.(listener)
  if (!(await services.limits.concurrency.wait(account.id, plan.concurrency, onDisconnect))) throw refuseConcurrency(x, services)
  x.admission = createAdmission(account.id, services)
}

const minuteMs = 60_000
const unlimitedAdmission: Admission = { release: () => undefined }

function createAdmission(account: string, { limits }: PluginServices): Admission {
  return { release: () => limits.concurrency.release(account) }
}
