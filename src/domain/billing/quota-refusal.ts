/** Refusal of a turn whose cost the member's quota does not cover: states what is left, and advises only what would help this member now. */
import { GatewayError } from '../../errors.ts'
import type { Action, LocalizedText } from '../../errors.ts'
import type { AvailableBoost } from './boost.ts'
import type { Balance } from './ledger.ts'
import type { Plan, Window } from './catalog/plan.ts'
import { windows } from './catalog/plan.ts'
import { poolForTier } from './catalog/product.ts'
import type { Pool, Product } from './catalog/product.ts'
import type { Purchase } from './purchase.ts'
import { computeTurnPrice } from './catalog/price.ts'

export type QuotaShortage =
  /** The pool has no room until `resetsAt`, when `window` resets. */
  | { readonly kind: 'insufficient'; readonly window: Window; readonly resetsAt: number }
  /** The cost exceeds the whole `window` of the plan: waiting does not help. */
  | { readonly kind: 'above_plan'; readonly window: Window }
  /** Running turns hold what is left. */
  | { readonly kind: 'reserved_elsewhere' }

interface QuotaRefusalInput {
  readonly shortage: QuotaShortage
  readonly at: number
  readonly product: Product
  readonly plan: Plan
  /** Upper bound of the prompt's tokens, the smallest output per choice, and the choices. */
  readonly turn: { readonly inputTokens: number; readonly outputTokens: number; readonly choices: number }
  readonly balance: Balance
  /** Boosts that the member can take now. */
  readonly boosts: readonly AvailableBoost[]
  /** What the member can buy now. */
  readonly purchases: readonly Purchase[]
  /** The address where bought packs, which are kept at the member's wish, are used again; null where none are kept. */
  readonly keptPacksUrl: string | null
  /** Products that could serve this request, in the order of the configuration. */
  readonly alternatives: readonly Product[]
  readonly plans: readonly Plan[]
  /** Headers of the refusal. */
  readonly headers: Readonly<Record<string, string>>
}

/** Less than the price of such a prompt counts as nothing left. */
const minPromptTokens = 200
/** A shorter prompt consists mostly of what surrounds it. */
const longPromptTokens = 2_000
/** A reset this near is worth a retry. */
const soonMs = 60_000

export function createQuotaRefusal(input: QuotaRefusalInput): GatewayError {
  const { shortage, at, product, plan, balance, headers } = input
  const pool = poolForTier[product.tier]
  const available = getAvailableCredits(balance, pool)
  const cost = priceOf(product, input)
  const alternative = findAlternative(input, pool)
  const boost = input.boosts.find((each) => each.pool === pool && available + each.credits >= cost)
  const canShorten =
    shortage.kind !== 'reserved_elsewhere' &&
    input.turn.inputTokens >= longPromptTokens &&
    priceOf(product, input, Math.ceil(input.turn.inputTokens / 2)) <= available
  const pack = input.purchases.find((each) => each.kind === 'pack' && each.pool === pool && available + each.credits >= cost)
  const soldPlan = input.purchases.find((each) => each.kind === 'plan' && getRoom(each.plan, balance, pool) >= cost)
  const canUpgrade = input.plans.some((other) => other.id !== plan.id && getRoom(other, balance, pool) >= cost)
  const isSoon = shortage.kind === 'insufficient' && shortage.resetsAt - at <= soonMs
  const retryAfter = shortage.kind === 'reserved_elsewhere' ? 2 : isSoon ? Math.max(1, (shortage.resetsAt - at) / 1000) : null
  const offers: readonly (readonly [Action, unknown])[] = [
    ['retry_later', retryAfter],
    ['switch_model', alternative],
    ['use_boost', boost],
    ['shorten_prompt', canShorten || null],
    // The page of plans has the packs too.
    ['upgrade_plan', canUpgrade || pack || null],
  ]
  const passes = shortage.kind === 'reserved_elsewhere'
  const isUsedUp = available < priceOf(product, input, minPromptTokens)
  const sentences = [
    ...describeShortage(shortage, { pool, at, isUsedUp }),
    ...(alternative === undefined ? [] : [describeAlternative(alternative)]),
    ...(boost === undefined ? [] : [describeBoost(boost)]),
    ...(canShorten ? [shorterText] : []),
    ...(passes ? [] : [...describeKeptPacks(input.keptPacksUrl), ...describePurchase(pack), ...describePurchase(soldPlan)]),
  ]
  // SDKs repeat a 429 and never a 402.
  return new GatewayError(passes ? 'rate_limited' : 'quota_exceeded', {
    headers,
    stage: 'quota',
    shouldRetry: passes,
    ...(retryAfter === null ? {} : { retryAfter }),
    actions: offers.flatMap(([action, reason]) => (reason === null || reason === undefined ? [] : [action])),
    message: { en: sentences.map(({ en }) => en).join(' '), zh: sentences.map(({ zh }) => zh).join('') },
  })
}

/** The price of this turn on a product, of a prompt of this many tokens. */
function priceOf(
  product: Pick<Product, 'price' | 'flatCredits'>,
  { turn }: Pick<QuotaRefusalInput, 'turn'>,
  inputTokens: number = turn.inputTokens,
): number {
  return computeTurnPrice(product, { ...turn, inputTokens })
}

/** What a turn could hold now: the fullest window's rest, and all packs of the pool. */
function getAvailableCredits(balance: Balance, pool: Pool): number {
  const packs = balance.packs.reduce(
    (sum, pack) => (pack.pool === pool ? sum + Math.max(0, pack.granted - pack.reserved - pack.settled) : sum),
    0,
  )
  const rests = balance.pools.flatMap((each) => (each.pool === pool ? [each.remaining] : []))
  return Math.max(0, Math.min(...rests)) + packs
}

/** What the plan would leave a member of this usage, without packs. */
function getRoom({ pools }: Plan, balance: Balance, pool: Pool): number {
  const remainingCredits = windows.map((window) => {
    const bucket = balance.pools.find((each) => each.pool === pool && each.window === window)
    return pools[pool][window] - (bucket?.used ?? 0) - (bucket?.reserved ?? 0) - (bucket?.debt ?? 0)
  })
  return Math.min(...remainingCredits)
}

/** The first product of another pool that does the same and whose pool covers this turn. */
function findAlternative(input: QuotaRefusalInput, pool: Pool): Product | undefined {
  return input.alternatives.find((product) => {
    const other = poolForTier[product.tier]
    return other !== pool && getAvailableCredits(input.balance, other) >= priceOf(product, input)
  })
}

/** Pool and period are in the sentence, because many clients show their users only the message. */
function describeShortage(
  shortage: QuotaShortage,
  { pool, at, isUsedUp }: { readonly pool: Pool; readonly at: number; readonly isUsedUp: boolean },
): LocalizedText[] {
  if (shortage.kind === 'reserved_elsewhere')
    return [
      {
        en: 'Your running requests hold the rest of your included usage. Try again when one has finished.',
        zh: '正在进行的请求占用了剩余额度，请在其中一个完成后重试。',
      },
    ]
  const [models, when] = [poolNames[pool], windowNames[shortage.window]]
  if (shortage.kind === 'above_plan')
    return [
      {
        en: `This request may cost more than your plan includes of ${models.en} ${when.en}.`,
        zh: `该请求可能的用量超过套餐${when.zh}的${models.zh}额度。`,
      },
    ]
  const timeUntilReset = formatDuration(shortage.resetsAt - at)
  const reset = { en: `Resets in ${timeUntilReset.en}.`, zh: `${timeUntilReset.zh}后重置。` }
  return [
    isUsedUp
      ? {
          en: `Your included usage of ${models.en} ${when.en} is used up.`,
          zh: `${when.zh}的${models.zh}额度已用完，`,
        }
      : {
          en: `What is left of your included usage of ${models.en} ${when.en} does not cover this request.`,
          zh: `${when.zh}剩余的${models.zh}额度不足以处理该请求，`,
        },
    reset,
  ]
}

function describeAlternative({ id, tier }: Product): LocalizedText {
  const models = poolNames[poolForTier[tier]]
  return {
    en: `Switch to '${id}': your usage of ${models.en} covers it.`,
    zh: `可切换到 '${id}'，${models.zh}额度足以处理。`,
  }
}

function describeBoost({ kind, pool, credits }: AvailableBoost): LocalizedText {
  const models = poolNames[pool]
  return kind === 'checkin'
    ? {
        en: `Your daily check-in adds ${credits} credits of ${models.en}.`,
        zh: `每日签到可获得 ${credits} 点${models.zh}额度。`,
      }
    : {
        en: `The current rush adds ${credits} credits of ${models.en}.`,
        zh: `当前抢购可获得 ${credits} 点${models.zh}额度。`,
      }
}

function describeKeptPacks(url: string | null): LocalizedText[] {
  if (url === null) return []
  return [{ en: `You keep your bought packs; to use them: ${url} .`, zh: `你选择保留购买的加油包，如需使用：${url} 。` }]
}

/** A blank follows each address, because many programs take a full stop for a part of it. */
function describePurchase(purchase: Purchase | undefined): LocalizedText[] {
  if (purchase === undefined) return []
  const { url } = purchase
  if (purchase.kind === 'plan')
    return [{ en: `${purchase.plan.name} covers it: ${url} .`, zh: `${purchase.plan.name} 足以处理：${url} 。` }]
  const models = poolNames[purchase.pool]
  return [
    {
      en: `A pack adds ${purchase.credits} credits of ${models.en}: ${url} .`,
      zh: `加油包可增加 ${purchase.credits} 点${models.zh}额度：${url} 。`,
    },
  ]
}

const shorterText: LocalizedText = { en: 'A prompt of half the length still fits.', zh: '缩短一半的内容仍可使用。' }

const poolNames = {
  fast: { en: 'fast models', zh: '快速模型' },
  premium: { en: 'premium models', zh: '高级模型' },
} as const satisfies Record<Pool, LocalizedText>

const windowNames = {
  day: { en: 'for today', zh: '今日' },
  week: { en: 'for this week', zh: '本周' },
  month: { en: 'for this month', zh: '本月' },
} as const satisfies Record<Window, LocalizedText>

/** Uses the largest unit with a useful number, rounded up so that a client does not return too early. */
function formatDuration(ms: number): LocalizedText {
  const minutes = Math.max(1, Math.ceil(ms / 60_000))
  const [count, unit, zh] =
    minutes < 120
      ? ([minutes, 'minute', '分钟'] as const)
      : minutes < 48 * 60
        ? ([Math.ceil(minutes / 60), 'hour', '小时'] as const)
        : ([Math.ceil(minutes / 1_440), 'day', '天'] as const)
  return { en: `${count} ${unit}${count === 1 ? '' : 's'}`, zh: `${count} ${zh}` }
}
