/**
 * One turn of an operator to a target, the way turns of members take, to see whether it answers. It is in no figure, no ledger and no history, and
 * says nothing to breakers and budgets. Bounded: one at a time for each operator, a few a minute, a short answer.
 */
import { createHash } from 'node:crypto'
import type { OperatorAuthor } from '../../domain/services/operators/operator-author.ts'
import { toAuditAuthor } from '../../domain/services/operators/operator-author.ts'
import { GatewayError } from '../../errors.ts'
import type { CallContext } from '../../exchange/plugins/plugin-chain.ts'
import type { Exchange, Route, Slots } from '../../exchange/exchange.ts'
import { toFailure } from '../../exchange/exchange.ts'
import type { LiveTarget } from '../../exchange/plugins/plugin-services.ts'
import { UpstreamFailure } from '../../exchange/upstream-failure.ts'
import { classifyFailure } from '../../upstream/errors/classify-failure.ts'
import { Forwarder } from '../../upstream/forward.ts'
import { createInternalCandidates } from '../../upstream/internal-request.ts'
import { PromptRatios } from '../../upstream/target/prompt-ratios.ts'
import { RetryBudget } from '../../upstream/target/retry-budget.ts'
import { TargetCapabilities } from '../../upstream/target/target-capabilities.ts'
import { TargetHealth } from '../../upstream/target/target-health.ts'
import type { Services } from '../services.ts'
import { getFallbackModel, listRoutedProducts } from './target-routing.ts'

/** A target alone, or the targets of a product in the order in which the router would call them. */
export type TrialSubject = { readonly target: string } | { readonly product: string }

export interface Trial {
  /** The one that answered, or failed last; null where none was called. */
  readonly target: string | null
  /** Of its answer; null without one. */
  readonly status: number | null
  readonly durationMs: number
  /** Null where nothing was answered, or by a product whose answers have no tokens. */
  readonly firstTokenMs: number | null
  /** As a member would receive it; null where it answered. */
  readonly failure: GatewayError | null
}

const question = 'Reply with the word OK.'
const maxAnswerTokens = 16
/** So that the page answers before proxies give up. */
const maxTrialMs = 30_000

/** @throws GatewayError `not_found`, `invalid_request` for pictures, `conflict` while one runs; TooManyAttempts */
export async function tryRoute(subject: TrialSubject, author: OperatorAuthor, services: Services): Promise<Trial> {
  const { membership, clock } = services
  const plan = planTrial(subject, services)
  const { actor } = author
  const operator = 'account' in actor ? actor.account : actor.systemUser
  const end = await claimTrial(operator, services)
  try {
    await membership.attemptLimits.consume('target-try-by-operator', operator, clock.now())
    const trial = await runTrial(plan, services)
    services.log.info(
      { trial: true, ...subject, called: trial.target, code: trial.failure?.code ?? null },
      'an operator tried a target',
    )
    const detail = { by: 'operator', ...subject, result: trial.failure?.code ?? 'completed', duration_ms: trial.durationMs }
    await membership.writeAudit('target_tried', null, author.client, detail, toAuditAuthor(author))
    return trial
  } finally {
    await end()
  }
}

/** One at a time for each operator, on all nodes. What a killed process has left is of no effect after the longest trial. */
async function claimTrial(operator: string, { store, clock }: Services): Promise<() => Promise<void>> {
  const hash = createHash('sha256').update(`trial\n${operator}`).digest()
  const end = () => store.operators.forgetRequest(hash)
  const claim = () => store.operators.beginRequest(hash, String(clock.now() + 2 * maxTrialMs), clock.now())
  let earlierRequest = await claim()
  if (earlierRequest !== undefined && Number(earlierRequest.fingerprint) <= clock.now()) {
    await end()
    earlierRequest = await claim()
  }
  if (earlierRequest === undefined) return end
  throw new GatewayError('conflict', {
    message: { en: 'Your last try still runs. Wait for its end.', zh: '你的上一次试用仍在进行，请等待其结束。' },
  })
}

interface TrialPlan {
  readonly isEmbedding: boolean
  readonly targets: readonly LiveTarget[]
}

function planTrial(subject: TrialSubject, services: Services): TrialPlan {
  const { upstreams, clock } = services
  const routedProducts = listRoutedProducts(services).filter(({ product, targets }) =>
    'product' in subject ? product.id === subject.product : targets.some(({ name }) => name === subject.target),
  )
  if (routedProducts.length === 0) throw new GatewayError('not_found')
  const trialProduct = routedProducts.find(({ product }) => !product.capabilities.includes('image'))?.product
  if (trialProduct === undefined)
    throw new GatewayError('conflict', {
      shouldRetry: false,
      message: {
        en: 'What only draws pictures is not tried: a picture has no short answer.',
        zh: '仅用于绘图的模型不能试用：图像没有简短的回答。',
      },
    })
  const fallback = getFallbackModel(trialProduct)
  return {
    isEmbedding: trialProduct.capabilities.includes('embedding'),
    targets:
      'product' in subject
        ? upstreams.selectCandidates(trialProduct.targets, fallback, clock.monotonicMs())
        : upstreams
            .listTargets(trialProduct.targets, fallback)
            .filter(({ name }) => name === subject.target)
            .slice(0, 1),
  }
}

async function runTrial({ isEmbedding, targets }: TrialPlan, services: Services): Promise<Trial> {
  const { clock, config, upstreams } = services
  const forwarder = new Forwarder({
    config: { ...config, timeouts: { ...config.timeouts, totalMs: Math.min(config.timeouts.totalMs, maxTrialMs) } },
    upstreams: {
      get: (name) => upstreams.get(name),
      getDialect: (name, upstream) => upstreams.getDialect(name, upstream),
      getHealth: () => new TargetHealth({ restAfterFailures: 0, rejectedKeyRestMs: 0 }),
      retryBudget: new RetryBudget(),
      capabilities: new TargetCapabilities(),
      promptRatios: new PromptRatios(),
    },
    clock,
    onAttempt: () => undefined,
  })
  const x = createTrialExchange(services)
  const candidates = targets.map(({ name, model, upstream }) => ({
    name,
    model,
    upstream: upstream.name,
    path: '',
    body: () => ({}),
  }))
  const route = { ...x.route, candidates }
  try {
    if (targets.length === 0) throw new GatewayError('upstream_model_unavailable')
    if (isEmbedding) {
      const toSend = createInternalCandidates({ ...x, route }, upstreams, '/embeddings', { input: question })
      await forwarder.fetchDocument({ ...x, route }, toSend, createDiscardingContext())
    } else {
      const body = { messages: [{ role: 'user', content: question }] }
      const toSend = createInternalCandidates({ ...x, route }, upstreams, '/chat/completions', body)
      await forwarder.call(Object.assign(x, { route: { ...route, candidates: toSend } }), createDiscardingContext())
    }
    return toTrial(x, null, services)
  } catch (error) {
    return toTrial(x, describeFailure(error, services), services)
  } finally {
    forwarder.close()
  }
}

function toTrial(x: Exchange, failure: GatewayError | null, { clock }: Services): Trial {
  const { startedMonotonicMs, firstTokenMonotonicMs, lastAttempt } = x
  const hasToken = firstTokenMonotonicMs !== undefined && failure === null
  return {
    target: lastAttempt.target,
    status: lastAttempt.status,
    durationMs: Math.round(clock.monotonicMs() - startedMonotonicMs),
    firstTokenMs: hasToken ? Math.round(firstTokenMonotonicMs - startedMonotonicMs) : null,
    failure,
  }
}

/** As a member would receive it, and without a word of the upstream's. */
function describeFailure(error: unknown, services: Services): GatewayError {
  if (!(error instanceof UpstreamFailure)) return toFailure(error)
  const { facts, retryAfterSeconds, redact } = error
  return classifyFailure(facts, { now: services.clock.now(), retryAfterSeconds, redact, cause: error })
}

function createTrialExchange({ clock, ids, names, origins }: Services): Exchange & Pick<Slots, 'hold' | 'route'> {
  const now = clock.now()
  const id = ids.next('mbr_', now)
  const startedMonotonicMs = clock.monotonicMs()
  const route: Route = { candidates: [], productId: 'trial', stream: true, includeUsage: false, inputEstimate: maxAnswerTokens }
  return {
    id,
    responseRequestId: id,
    kind: 'turn',
    names,
    siteUrl: origins.site,
    startedAt: now,
    startedMonotonicMs,
    callStartedMonotonicMs: startedMonotonicMs,
    inbound: {
      method: 'POST',
      path: '/operator',
      headers: {},
      address: '',
      cookieToken: null,
      chat: () => Promise.reject(new Error('a trial has no request of a member')),
    },
    headers: {},
    debug: {},
    lastAttempt: { target: null, status: null },
    hold: { id: 0, credits: 0, inputEstimate: maxAnswerTokens, outputCap: maxAnswerTokens },
    route,
  }
}

/** A client that discards the answer: only its first token and its end are shown. */
function createDiscardingContext(): CallContext {
  let headersSent = false
  return {
    client: {
      disconnected: false,
      get headersSent() {
        return headersSent
      },
      onDisconnect: () => undefined,
      writeHead: () => void (headersSent = true),
      write: () => true,
      onDrain: () => undefined,
      end: () => undefined,
      destroy: () => undefined,
      validateHeaders: () => undefined,
      reply: () => undefined,
    },
    onUpstreamHeaders: () => undefined,
    onEvent: null,
    headers: () => ({}),
  }
}
