/** Holds the most a turn can cost before the upstream hears of it, and settles what it did cost. */
import {
  affordableOutput,
  bodyHash,
  creditsFor,
  definePlugin,
  GatewayError,
  poolOf,
  promptSize,
  tooManyAtOnce,
} from '../src/index.ts'
import type {
  Exchange,
  HeldTurn,
  Outcome,
  PluginServices,
  Pool,
  Product,
  Reservation,
  Slots,
  Usage,
  Window,
} from '../src/index.ts'

/** An answer of fewer tokens is no answer; below this the turn is refused instead of clamped. */
const leastOutput = 16
/** A hold outlives the longest turn by this much, so that only a dead process leaves one to expire. */
const leaseMarginMs = 60_000
/** The longest tokens there are: runs of one character. A prompt of more bytes than this a token fits by no count. */
const mostBytesPerToken = 128
/** A prompt that may cost as much is worth telling apart from an empty pool. */
const longPromptTokens = 2_000

export const quotaReserve = definePlugin({
  name: 'quota-reserve',
  needs: ['caller', 'chat', 'product'],
  gives: ['hold'],
  // Without it a failed turn would keep its hold until it expires.
  followedBy: ['refund'],
  on: 'turn',
  async onRequest(x, services) {
    x.hold = await reserve(x, services)
  },
  onSettle(x, outcome, services) {
    if (outcome.kind !== 'failed') return settle(x, outcome, services)
  },
})

type Asked = Exchange & Pick<Slots, 'caller' | 'chat' | 'product'>

async function reserve(x: Asked, { ledger, clock, calendar, config }: PluginServices): Promise<HeldTurn> {
  const { chat, product, caller } = x
  const { tokens: inputEstimate, mostTokens: input, textBytes } = promptSize(chat, config.limits.imageTokens)
  // Only what cannot fit by any count is refused here; the upstream decides the rest.
  if (textBytes / mostBytesPerToken > product.contextLength) throw tooLong(product)
  const cap = Math.min(chat.maxTokens ?? product.defaultOutputTokens, product.maxOutputTokens)
  const least = Math.min(cap, leastOutput)
  const key = idempotencyKeyOf(x)
  const idempotency = key === null ? null : { key, bodyHash: bodyHash(chat) }
  const at = clock.now()
  const pool = poolOf[product.tier]
  const limits = caller.plan.pools[pool]
  // Less than the most that the prompt can cost is no hold: a turn let in on what it probably costs could overdraw.
  const floor = priceOf(product, input, least, chat.choices)
  const reservation = await ledger.reserve({
    account: caller.account.id,
    requestId: x.id,
    model: product.id,
    pool,
    at,
    periods: calendar.at(at),
    limits,
    want: priceOf(product, input, cap, chat.choices),
    floor,
    price: product.price,
    until: Math.ceil(clock.ticks() + config.timeouts.totalMs + leaseMarginMs),
    idempotency,
    concurrency: caller.plan.concurrency,
  })
  switch (reservation.kind) {
    case 'held': {
      const { hold } = reservation
      const affordable = Math.floor(affordableOutput(hold.credits, input, product.price) / chat.choices)
      const outputCap = Math.max(least, Math.min(cap, affordable))
      if (outputCap < cap) x.headers[x.names.quotaClampedHeader] = String(outputCap)
      return { ...hold, inputEstimate, outputCap }
    }
    case 'empty':
      if (floor > limits[reservation.window]) throw tooDear(reservation.window, pool)
      throw emptyPool(x, reservation, { pool, at, isLong: input >= longPromptTokens })
    case 'busy':
      throw new GatewayError('quota_exceeded', {
        retryAfter: 2,
        actions: ['retry_later', 'use_boost', 'upgrade_plan'],
        message: {
          en: 'Your requests that are still running hold the rest of your included usage. Try again when one has finished.',
          zh: '正在进行的请求占用了剩余额度,请在其中一个完成后重试。',
        },
      })
    // What `rate-limit` has let in runs in this thread alone.
    case 'crowded':
      throw tooManyAtOnce(caller.plan.concurrency)
    case 'duplicate':
      throw duplicate(reservation)
  }
}

/** Free of charge is still a turn; each choice of a product of a fixed price costs at least that. `output` is a choice's own. */
function priceOf(product: Product, input: number, output: number, choices: number): number {
  const tokens = creditsFor({ input, output: output * choices }, product.price)
  return Math.max(tokens, (product.flatCredits ?? 0) * choices)
}

function tooLong({ contextLength }: Product): GatewayError {
  return new GatewayError('context_length_exceeded', {
    param: 'messages',
    message: {
      en: `The conversation is longer than this model's maximum context length of ${contextLength} tokens.`,
      zh: `对话内容超出该模型的最大上下文长度(${contextLength} 个 token)。`,
    },
  })
}

/** Not even a period that has just begun has room for it: there is nothing to wait for. */
function tooDear(window: Window, pool: Pool): GatewayError {
  const [models, when] = [poolNames[pool], windowNames[window]]
  return new GatewayError('quota_exceeded', {
    actions: ['shorten_prompt', 'use_boost', 'upgrade_plan'],
    message: {
      en: `This request may cost more than your plan includes of ${models.en} ${when.en}. Ask for less, or use a boost.`,
      zh: `该请求可能的用量超过套餐${when.zh}的${models.zh}额度,请缩短请求或使用加油包。`,
    },
  })
}

/** Named in words, because many programs show their users nothing of a refusal but its message. */
function emptyPool(
  x: Asked,
  { resetsAt, window }: Extract<Reservation, { kind: 'empty' }>,
  { pool, at, isLong }: { readonly pool: Pool; readonly at: number; readonly isLong: boolean },
): GatewayError {
  const headers = { [x.names.quotaResetHeader]: String(Math.ceil(resetsAt / 1000)) }
  const [models, when] = [poolNames[pool], windowNames[window]]
  const left = spanUntil(resetsAt - at)
  if (!isLong) {
    return new GatewayError('quota_exceeded', {
      headers,
      message: {
        en: `Your included usage of ${models.en} ${when.en} is used up. It begins anew in ${left.en}.`,
        zh: `${when.zh}的${models.zh}额度已用完,${left.zh}后重置。`,
      },
    })
  }
  return new GatewayError('quota_exceeded', {
    headers,
    actions: ['shorten_prompt', 'use_boost', 'upgrade_plan', 'retry_later'],
    message: {
      en: `What is left of your included usage of ${models.en} ${when.en} does not cover a prompt of this length. A shorter one may still fit; it begins anew in ${left.en}.`,
      zh: `${when.zh}剩余的${models.zh}额度不足以处理如此长的内容,较短的内容可能仍可使用;${left.zh}后重置。`,
    },
  })
}

const poolNames = {
  fast: { en: 'fast models', zh: '快速模型' },
  premium: { en: 'premium models', zh: '高级模型' },
} as const satisfies Record<Pool, unknown>

const windowNames = {
  day: { en: 'for today', zh: '今日' },
  week: { en: 'for this week', zh: '本周' },
  month: { en: 'for this month', zh: '本月' },
} as const satisfies Record<Window, unknown>

/** In the largest unit that leaves a number worth reading, rounded up: nobody shall come too early. */
function spanUntil(ms: number): { readonly en: string; readonly zh: string } {
  const minutes = Math.max(1, Math.ceil(ms / 60_000))
  const [count, unit, zh] =
    minutes < 120
      ? ([minutes, 'minute', '分钟'] as const)
      : minutes < 48 * 60
        ? ([Math.ceil(minutes / 60), 'hour', '小时'] as const)
        : ([Math.ceil(minutes / 1_440), 'day', '天'] as const)
  return { en: `${count} ${unit}${count === 1 ? '' : 's'}`, zh: `${count} ${zh}` }
}

function idempotencyKeyOf(x: Asked): string | null {
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

/** What became of the first request with this key. Its answer is not kept, so what can be told is how it ended and what it cost. */
function duplicate({ state, sameBody, requestId, aborted, credits }: Extract<Reservation, { kind: 'duplicate' }>): GatewayError {
  if (!sameBody) {
    return new GatewayError('invalid_request', {
      params: {
        detail: {
          en: "this 'Idempotency-Key' was used with another body; use a new key for a new request.",
          zh: "该 'Idempotency-Key' 已用于其他请求内容,新的请求请使用新的 key。",
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
            zh: `该 Idempotency-Key 的请求仍在进行(${requestId})。`,
          }
        : aborted
          ? {
              en: `The connection of the request with this Idempotency-Key ended before its answer did; ${credits} credits were charged once, for what had been produced (${requestId}). Answers are not kept: use a new key to ask again.`,
              zh: `该 Idempotency-Key 的请求在回答完成前已断开连接,仅按已生成的内容计费一次(${credits} 点,${requestId})。回答不会保存,如需重新请求请使用新的 Key。`,
            }
          : {
              en: `The request with this Idempotency-Key has been answered and charged once: ${credits} credits (${requestId}). Answers are not kept: use a new key to ask again.`,
              zh: `该 Idempotency-Key 的请求已完成并计费一次(${credits} 点,${requestId})。回答不会保存,如需重新请求请使用新的 Key。`,
            },
  })
}

async function settle(
  x: Asked & Pick<Slots, 'hold'>,
  outcome: Extract<Outcome, { usage: Usage }>,
  { ledger, clock }: PluginServices,
): Promise<void> {
  const { usage, kind } = outcome
  const tokens = { input: usage.inputTokens, output: usage.outputTokens }
  const { credits } = await ledger.settle({
    hold: x.hold.id,
    at: clock.now(),
    // A caller who left before the upstream was asked has used nothing, not even a fixed price.
    credits: tokens.input + tokens.output === 0 && kind === 'aborted' ? 0 : finalPrice(x.product, usage),
    tokens,
    estimated: usage.estimated,
    contradicted:
      usage.contradicted === undefined
        ? null
        : { input: usage.contradicted.inputTokens, output: usage.contradicted.outputTokens },
    outcome: kind,
    target: x.attempted.target,
    upstreamStatus: x.attempted.status,
  })
  x.charged = credits
}

function finalPrice(product: Product, { inputTokens, outputTokens, estimated, pieces = 1 }: Usage): number {
  const byTokens = creditsFor({ input: inputTokens, output: outputTokens }, product.price)
  // A fixed price stands for an upstream that reports nothing; one that reports is charged by its report.
  return estimated && product.flatCredits !== null ? product.flatCredits * pieces : byTokens
}
