/** Holds the maximum cost of a turn before the upstream is called, and settles its actual cost. */
import {
  addChargeHeaders,
  computeAffordableOutputTokens,
  computeTurnPrice,
  createQuotaRefusal,
  createTurnDetails,
  createTurnTrace,
  hasImages,
  isPurchasedPack,
  getBodyHash,
  computeCredits,
  definePlugin,
  GatewayError,
  poolForTier,
  getMediaFigures,
  measurePrompt,
  ClientDisconnected,
  refuseConcurrency,
  zeroUsage,
} from '../src/index.ts'
import type {
  Exchange,
  HeldTurn,
  Hold,
  Outcome,
  PluginServices,
  Product,
  QuotaShortage,
  Reservation,
  Slots,
  Usage,
} from '../src/index.ts'

/** A shorter answer is useless; below this the turn is rejected instead of clamped. */
const minOutputTokens = 16
/** A hold outlives the longest turn by this much, so that it expires only if the process died. */
const leaseMarginMs = 60_000
/** The longest tokens are runs of one character. A prompt with more bytes per context token than this cannot fit. */
const maxBytesPerToken = 128

export const quotaReserve = definePlugin({
  name: 'quota-reserve',
  needs: ['caller', 'chat', 'product'],
  gives: ['hold'],
  // Without `refund`, a failed turn would keep its hold until it expires.
  followedBy: ['refund'],
  on: 'turn',
  async onRequest(x, services) {
    const hold = await reserve(x, services)
    const settleEarly = async (usage: Usage): Promise<void> => {
      x.chargedCredits = await settle({ ...x, hold }, { kind: 'completed', usage }, services)
    }
    x.hold = { ...hold, settleEarly }
  },
  async onSettle(x, outcome, services) {
    if (outcome.kind === 'failed') return
    recordCostlyMedia(x, outcome.usage, services)
    x.chargedCredits = await settle(x, outcome, services)
    addChargeHeaders(x)
  },
})

type ReserveInput = Exchange & Pick<Slots, 'caller' | 'chat' | 'product'>

async function reserve(x: ReserveInput, services: PluginServices): Promise<HeldTurn> {
  const { clock, calendar, config, limits: accessLimits } = services
  const { chat, product, caller } = x
  const size = measurePrompt(chat, getMediaFigures(product, config.limits))
  // Media cannot cost more than the product's context, whatever a file's size or its own numbers.
  const mediaEstimate = Math.min(size.mediaTokens, product.contextLength)
  const inputEstimate = size.tokens - size.mediaTokens + mediaEstimate
  const isCostly = mediaEstimate > 0 && accessLimits.costlyMedia.has(caller.account.id, clock.monotonicMs())
  const maxMediaInput = isCostly ? product.contextLength : Math.min(size.maxMediaTokens, product.contextLength)
  const input = Math.max(inputEstimate, size.maxTokens - size.maxMediaTokens + maxMediaInput)
  // Rejects only what certainly cannot fit; the upstream decides the rest.
  const prompts = product.capabilities.includes('embedding') ? chat.messages.length : 1
  if (size.textBytes / maxBytesPerToken > product.contextLength * prompts) throw promptTooLongError(product)
  const cap = Math.min(chat.maxTokens ?? product.defaultOutputTokens, product.maxOutputTokens)
  const minOutput = Math.min(cap, minOutputTokens)
  const key = parseIdempotencyKey(x)
  const part = x.position === undefined ? {} : { part: x.position }
  const idempotency = key === null ? null : { key, bodyHash: getBodyHash(chat), ...part }
  const at = clock.now()
  const pool = poolForTier[product.tier]
  const limits = caller.plan.pools[pool]
  // The hold covers the maximum cost of the prompt: a turn admitted at its probable cost could overdraw the account.
  const minTurn = { inputTokens: input, outputTokens: minOutput, choices: chat.choices }
  const minAmount = computeTurnPrice(product, minTurn)
  const order = {
    account: caller.account.id,
    requestId: x.id,
    model: product.id,
    ...(x.translation === undefined ? {} : { apiFormat: x.translation.format }),
    requestedModel: getAlias(x),
    credential: caller.source,
    pool,
    at,
    periods: calendar.getPeriods(at),
    limits,
    amount: computeTurnPrice(product, { ...minTurn, outputTokens: cap }),
    minAmount,
    price: product.price,
    leaseUntil: Math.ceil(clock.monotonicMs() + config.timeouts.totalMs + leaseMarginMs),
    idempotency,
    maxConcurrentTurns: caller.plan.concurrency,
  }
  const reservation = await reserveInTurn(x, order, services)
  switch (reservation.kind) {
    case 'held': {
      const { hold } = reservation
      const affordableTokens = Math.floor(computeAffordableOutputTokens(hold.credits, input, product.price) / chat.choices)
      const outputCap = Math.max(minOutput, Math.min(cap, affordableTokens))
      if (outputCap < cap) x.headers[x.names.quotaClampedHeader] = String(outputCap)
      const windowLeft = reservation.left ?? null
      const billing = { pool, left: windowLeft, computeCredits: (usage: Usage) => computeCharge(hold, product, usage) }
      return { ...hold, inputEstimate, mediaEstimate, maxInput: input, maxMediaInput, outputCap, billing }
    }
    case 'insufficient': {
      const { window } = reservation
      throw await refuse(x, services, minTurn, minAmount > limits[window] ? { kind: 'above_plan', window } : reservation)
    }
    case 'reserved_elsewhere':
      throw await refuse(x, services, minTurn, reservation)
    case 'concurrency_limit':
      throw refuseConcurrency(x, services)
    case 'duplicate':
      throw duplicateError(reservation)
  }
}

/** Remembers an account whose files cost more than was reserved. */
function recordCostlyMedia(x: ReserveInput & Pick<Slots, 'hold'>, { disputed }: Usage, { limits, clock }: PluginServices): void {
  const { mediaEstimate = 0, maxInput } = x.hold
  if (disputed === undefined || maxInput === undefined || mediaEstimate === 0 || disputed.inputTokens <= maxInput) return
  limits.costlyMedia.add(x.caller.account.id, clock.monotonicMs())
}

function getAlias({ translation, product }: ReserveInput): string | null {
  const requestedModel = translation?.requestedModel
  if (requestedModel === undefined || requestedModel === product.id) return null
  // Not every database stores every character.
  return requestedModel.replaceAll(/[^\x20-\x7e]/g, '?')
}

/**
 * Reserves, and repeats while the account's turns of other threads and nodes occupy all slots: `rate-limit` counts and queues the turns of
 * this thread only.
 */
async function reserveInTurn(
  x: ReserveInput,
  order: Parameters<PluginServices['ledger']['reserve']>[0],
  { ledger, limits, clock }: PluginServices,
): Promise<Reservation> {
  let hasLeft = false
  for (let isFirst = true; ; isFirst = false) {
    const reservation = await ledger.reserve(order)
    if (reservation.kind !== 'concurrency_limit') return reservation
    if (clock.monotonicMs() - x.startedMonotonicMs + slotPollMs > limits.concurrency.maxWaitMs) return reservation
    if (isFirst) x.inbound.onDisconnect?.(() => (hasLeft = true))
    await clock.wait(slotPollMs)
    if (hasLeft) throw new ClientDisconnected(zeroUsage)
  }
}

const slotPollMs = 100

function promptTooLongError({ contextLength }: Product): GatewayError {
  return new GatewayError('context_length_exceeded', {
    param: 'messages',
    message: {
      en: `The conversation is longer than this model's maximum context length of ${contextLength} tokens.`,
      zh: `对话内容超出该模型的最大上下文长度（${contextLength} 个 token）。`,
    },
  })
}

/** The refusal, with the advice that follows from what this member has left. */
async function refuse(
  x: ReserveInput,
  services: PluginServices,
  turn: Parameters<typeof createQuotaRefusal>[0]['turn'],
  shortage: QuotaShortage,
): Promise<GatewayError> {
  const { ledger, boosts, purchases, products, calendar, clock, config, log, origins } = services
  const { product, chat } = x
  const { account, plan } = x.caller
  const at = clock.now()
  const headers: Record<string, string> =
    shortage.kind === 'insufficient' ? { [x.names.quotaResetHeader]: String(Math.ceil(shortage.resetsAt / 1000)) } : {}
  const kind = kinds.find((each) => product.capabilities.includes(each))
  const neededCapabilities = [
    ...(kind === undefined ? [] : [kind]),
    ...(kind === 'chat' && hasImages(chat) ? ['vision' as const] : []),
  ]
  const question = { account: account.id, at, periods: calendar.getPeriods(at), limits: plan.pools }
  const balance = await ledger.balance(question)
  const keepsPacks = balance.packs.some(isPurchasedPack) && !(await purchases.readSpendsPacks(account))
  // The refusal is right without this advice.
  const listOrNone = <Item>(what: string, list: Promise<readonly Item[]>): Promise<readonly Item[]> =>
    list.catch((error: unknown) => {
      log.warn({ requestId: x.id, err: error }, `the available ${what} could not be read`)
      return []
    })
  return createQuotaRefusal({
    shortage,
    at,
    product,
    plan,
    turn,
    headers,
    balance: keepsPacks ? { ...balance, packs: balance.packs.filter((pack) => !isPurchasedPack(pack)) } : balance,
    boosts: await listOrNone('boosts', boosts.listAvailable(account)),
    purchases: await listOrNone('offers', purchases.list(account)),
    keptPacksUrl: keepsPacks ? `${origins.site}/account/orders` : null,
    alternatives: products
      .availableTo(plan, at)
      .filter(
        ({ capabilities, contextLength }) =>
          neededCapabilities.every((each) => capabilities.includes(each)) && turn.inputTokens <= contextLength,
      ),
    plans: Object.values(config.plans),
  })
}

/** What a product is for; one that does the same can take its place. */
const kinds = ['image', 'search', 'embedding', 'chat'] as const

function parseIdempotencyKey(x: ReserveInput): string | null {
  const key = x.inbound.headers['idempotency-key']
  if (key === undefined) return null
  if (typeof key !== 'string' || key.length === 0 || key.length > 255) {
    throw new GatewayError('invalid_request', {
      params: {
        detail: {
          en: "the header 'Idempotency-Key' must have 1 to 255 characters.",
          zh: "请求头 'Idempotency-Key' 的长度必须是 1 到 255 个字符。",
        },
      },
    })
  }
  return key
}

/** The state of the first request with this key. Responses are not stored, so the error reports how it ended and what it cost. */
function duplicateError({
  state,
  sameBody,
  requestId,
  aborted,
  credits,
}: Extract<Reservation, { kind: 'duplicate' }>): GatewayError {
  if (!sameBody) {
    return new GatewayError('invalid_request', {
      params: {
        detail: {
          en: "this 'Idempotency-Key' was used with another body; use a new key for a new request.",
          zh: "该 'Idempotency-Key' 已用于其他请求内容，新的请求请使用新的 key。",
        },
      },
    })
  }
  return new GatewayError('conflict', {
    shouldRetry: false,
    stage: 'quota',
    message:
      state === 'held'
        ? {
            en: `The request with this Idempotency-Key is still running (${requestId}).`,
            zh: `该 Idempotency-Key 的请求仍在进行（${requestId}）。`,
          }
        : aborted
          ? {
              en: `The connection of the request with this Idempotency-Key closed before the response was complete. ${credits} credits were charged once for the output so far (${requestId}). Responses are not stored: use a new key to send it again.`,
              zh: `该 Idempotency-Key 的请求在回答完成前已断开连接，仅按已生成的内容计费一次（${credits} 点，${requestId}）。回答不会保存，如需重新请求请使用新的 Key。`,
            }
          : {
              en: `The request with this Idempotency-Key has been completed and charged once: ${credits} credits (${requestId}). Responses are not stored: use a new key to send it again.`,
              zh: `该 Idempotency-Key 的请求已完成并计费一次（${credits} 点，${requestId}）。回答不会保存，如需重新请求请使用新的 Key。`,
            },
  })
}

async function settle(
  x: ReserveInput & Pick<Slots, 'hold'>,
  outcome: Extract<Outcome, { usage: Usage }>,
  { ledger, clock }: PluginServices,
): Promise<number> {
  const { usage, kind } = outcome
  // A client that disconnected before the upstream was called used nothing, not even a flat price.
  const isUnused = usage.inputTokens + usage.outputTokens === 0 && kind === 'aborted'
  const tokens = toTokens(usage)
  const { credits } = await ledger.settle({
    hold: x.hold.id,
    at: clock.now(),
    credits: isUnused ? 0 : computeCharge(x.hold, x.product, usage),
    tokens,
    estimated: usage.estimated,
    disputed: usage.disputed === undefined ? null : { input: usage.disputed.inputTokens, output: usage.disputed.outputTokens },
    outcome: kind,
    target: x.lastAttempt.target,
    upstreamStatus: x.lastAttempt.status,
    details: createTurnDetails(x, isUnused ? null : usage),
    trace: createTurnTrace(x),
  })
  return credits
}

/** The member agreed to the hold. What an upstream produces or reports beyond it is the operator's loss. */
function computeCharge({ credits }: Hold, product: Product, usage: Usage): number {
  return Math.min(credits, computeFinalPrice(product, usage))
}

function computeFinalPrice(product: Product, usage: Usage): number {
  const { estimated, pieces = 1 } = usage
  // The flat price applies if the upstream reports no usage; a report is charged by its tokens.
  return estimated && product.flatCredits !== null ? product.flatCredits * pieces : computeCredits(toTokens(usage), product.price)
}

function toTokens({ inputTokens, cachedInputTokens = 0, outputTokens }: Usage) {
  return { input: inputTokens, cachedInput: cachedInputTokens, output: outputTokens }
}
