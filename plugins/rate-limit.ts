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
  return kind === 'unmetered' && (inbound.path === '/v1/messages/count_tokens' || inbound.path.endsWith(':countTokens'))
}

/** Four times the plan's requests a minute, but at least a hundred. */
const tokenCountsPerRequest = 4
const minTokenCountsPerMinute = 100

function admitTokenCount(x: AdmissionInput, services: PluginServices): void | Promise<void> {
  const { limits, clock } = services
  const { account, plan } = x.caller
  const perMinute = Math.max(minTokenCountsPerMinute, tokenCountsPerRequest * plan.rpm)
  const decision = limits.byAccount.consume(`${account.id}:token-counts`, perMinute, clock.monotonicMs())
  return decision instanceof Promise
    ? decision.then((decided) => takeTokenCountSlot(x, decided, services))
    : takeTokenCountSlot(x, decision, services)
}

function takeTokenCountSlot(
  x: AdmissionInput,
  { allowed, retryAfterMs }: RateDecision,
  { limits }: PluginServices,
): void | Promise<void> {
  if (!allowed) throw new GatewayError('rate_limited', { retryAfter: retryAfterMs / 1000 })
  const { id } = x.caller.account
  const admit = (): void => {
    x.admission = { release: () => limits.tokenCounts.release(id) }
  }
  if (limits.tokenCounts.acquire(id)) return admit()
  return limits.tokenCounts
    .wait(id, (listener) => x.inbound.onDisconnect?.(listener))
    .then((isAcquired) => {
      if (!isAcquired) throw tooManyTokenCountsError()
      admit()
    })
}

function tooManyTokenCountsError(): GatewayError {
  return new GatewayError('rate_limited', {
    retryAfter: 1,
    shouldRetry: true,
    message: {
      en: 'Too many token counts of your account run at once. Please wait for one to finish.',
      zh: '你的账户同时进行的 token 计数过多，请等待其中一个完成。',
    },
  })
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
