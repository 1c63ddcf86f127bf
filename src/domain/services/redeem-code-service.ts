/**
 * Creates codes, shows what a code would do, and redeems it. A code for a plan becomes a subscription in the transaction that counts its use;
 * one for credits becomes a claim there, which is delivered at once or, if the process dies before, by the next sweep of boosts.
 */
import { createHmac } from 'node:crypto'
import type { BoostClaim } from '../billing/boost.ts'
import type { Pack } from '../billing/ledger.ts'
import type { CodeGift, CodeRefused, RedeemCode, RedeemCodes } from '../billing/redeem-code.ts'
import { codePrefixLength, findCodeRefusal, formatCode, hashCode, mintCode, parseCode } from '../billing/redeem-code.ts'
import { canBegin, projectStretches } from '../billing/subscriptions/subscription-queue.ts'
import type { Queue } from '../billing/subscriptions/subscription-queue.ts'
import { createSubscription } from '../billing/subscriptions/subscription.ts'
import type { Entitlement, Subscription } from '../billing/subscriptions/subscription.ts'
import type { Account } from '../identity/account.ts'
import type { AuditWriter } from '../identity/audit.ts'
import type { ClientInfo } from '../identity/client-info.ts'
import type { AttemptLimits } from '../identity/limits/attempt-limits.ts'
import type { Store } from '../store.ts'
import type { SubscriptionService } from './subscription-service.ts'

interface RedeemCodeDeps {
  readonly store: Pick<Store, 'subscriptions'> & { readonly redeemCodes: RedeemCodes }
  readonly subscriptions: SubscriptionService
  readonly boosts: { deliver(claim: BoostClaim): Promise<Pack> }
  readonly attemptLimits: Pick<AttemptLimits, 'consume' | 'consumeForNetwork' | 'restore' | 'restoreForNetwork'>
  readonly clock: { now(): number }
  readonly ids: { next(prefix: string, now: number): string; bytes(size: number): Uint8Array }
  readonly secret: Uint8Array
  readonly writeAudit: AuditWriter
  readonly onCredentialsChanged: (account: string) => void
}

/** What a code gives this account, and when. */
export type CodeOutcome =
  | {
      readonly kind: 'plan'
      readonly gift: Extract<CodeGift, { kind: 'plan' }>
      readonly startsAt: number
      readonly endsAt: number
      /** It begins when a higher or an earlier subscription ends. */
      readonly isWaiting: boolean
      /** The plan that it interrupts, whose rest follows. */
      readonly interrupts: string | null
    }
  | { readonly kind: 'credits'; readonly gift: Extract<CodeGift, { kind: 'credits' }>; readonly expiresAt: number }

export type CodeAnswer =
  | { readonly kind: 'good'; readonly outcome: CodeOutcome }
  | CodeRefused
  /** No code has this form. A typing error costs no attempt. */
  | { readonly kind: 'malformed' | 'mistyped' }

const dayMs = 86_400_000

export class RedeemCodeService {
  readonly #deps: RedeemCodeDeps
  /** The last redemption of each code here: many at once would make each other's transactions repeat. */
  readonly #running = new Map<string, Promise<unknown>>()

  constructor(deps: RedeemCodeDeps) {
    this.#deps = deps
  }

  /** Shows what the code would do, and changes nothing. @throws TooManyAttempts after wrong codes */
  async inspect(text: string, account: Account, client: Pick<ClientInfo, 'network'>): Promise<CodeAnswer> {
    const { store, clock } = this.#deps
    const parsedCode = parseCode(text)
    if (parsedCode.kind !== 'code') return parsedCode
    const now = clock.now()
    return this.#countWrong(account.id, client.network, async () => {
      const storedCode = await store.redeemCodes.findByHash(hashCode(parsedCode.code), account.id)
      const entitlement = await store.subscriptions.findEntitlement(account.id)
      if (storedCode === undefined || entitlement === undefined) return { kind: 'refused', reason: 'unknown' }
      const refusal = storedCode.isRedeemed ? 'redeemed_before' : findCodeRefusal(storedCode.code, now)
      if (refusal !== null) return { kind: 'refused', reason: refusal }
      const outcome = this.#plan(storedCode.code, entitlement, now, 'sub_new')
      return outcome === null ? { kind: 'refused', reason: 'never_begins' } : { kind: 'good', outcome: outcome.outcome }
    })
  }

  /** Redeems the code once for the account. @throws TooManyAttempts after wrong codes */
  async redeem(text: string, account: Account, client: ClientInfo): Promise<CodeAnswer> {
    const { store, subscriptions, boosts, clock, ids, writeAudit, onCredentialsChanged } = this.#deps
    const parsedCode = parseCode(text)
    if (parsedCode.kind !== 'code') return parsedCode
    const now = clock.now()
    const subscription = ids.next('sub_', now)
    let outcome: CodeOutcome | undefined
    const result = await this.#countWrong(account.id, client.network, () =>
      this.#inTurn(parsedCode.code, () =>
        store.redeemCodes.redeem(
          { hash: hashCode(parsedCode.code), account: account.id, redemption: ids.next('red_', now), now },
          (code, entitlement) => {
            const redemptionPlan = this.#plan(code, entitlement, now, subscription)
            if (redemptionPlan === null) return null
            outcome = redemptionPlan.outcome
            if (!('queue' in redemptionPlan))
              return { kind: 'credits', claim: this.#toClaim(code, redemptionPlan.outcome, account.id, now) }
            const { queue, added } = redemptionPlan
            const change = subscriptions.arrange(entitlement, queue, now, { endsDue: false })
            return { kind: 'plan', change, subscription: added }
          },
        ),
      ),
    )
    if (result.kind === 'refused' || outcome === undefined)
      return result.kind === 'refused' ? result : { kind: 'refused', reason: 'unknown' }
    const { code, effect } = result
    // The claim is stored: where this delivery fails, the sweep of boosts makes it.
    if (effect.kind === 'credits') await boosts.deliver(effect.claim).catch(() => undefined)
    else onCredentialsChanged(account.id)
    const { gift } = code
    const giftFacts =
      gift.kind === 'plan' ? { terms: gift.terms.id, span: gift.span } : { pool: gift.pool, credits: gift.credits }
    await writeAudit('code_redeemed', account.id, client, { code: code.id, prefix: code.prefix, ...giftFacts })
    return { kind: 'good', outcome }
  }

  /** One redemption of a code after the other. */
  async #inTurn<Result>(code: string, redeem: () => Promise<Result>): Promise<Result> {
    const result = (this.#running.get(code) ?? Promise.resolve()).then(redeem)
    const completion = result.catch(() => undefined)
    this.#running.set(code, completion)
    try {
      return await result
    } finally {
      if (this.#running.get(code) === completion) this.#running.delete(code)
    }
  }

  /** Counts the attempt, and takes that back unless the code is wrong: members with a right code are never refused for it. */
  async #countWrong<Answer extends { readonly kind: string; readonly reason?: unknown }>(
    account: string,
    network: string,
    attempt: () => Promise<Answer>,
  ): Promise<Answer> {
    const { attemptLimits, clock } = this.#deps
    const now = clock.now()
    await attemptLimits.consume('redeem-by-account', account, now)
    const restoreAccount = () => attemptLimits.restore('redeem-by-account', account)
    try {
      await attemptLimits.consumeForNetwork('redeem-by-network', network, now)
    } catch (error) {
      await restoreAccount()
      throw error
    }
    const answer = await attempt()
    if (answer.reason === 'unknown') return answer
    await restoreAccount()
    await attemptLimits.restoreForNetwork('redeem-by-network', network)
    return answer
  }

  #plan(code: RedeemCode, entitlement: Entitlement, now: number, id: string): Planned | null {
    const { subscriptions } = this.#deps
    const { gift } = code
    if (gift.kind === 'credits') return { outcome: { kind: 'credits', gift, expiresAt: now + gift.days * dayMs } }
    const queue = subscriptions.toQueue(entitlement)
    if (!canBegin(gift.terms.plan, queue.basePlan, subscriptions.rules)) return null
    const account = entitlement.account
    const redeemedSubscription = createSubscription({
      id,
      account,
      terms: gift.terms,
      source: 'code',
      span: gift.span,
      createdAt: now,
    })
    const extendedQueue = { ...queue, subscriptions: [...queue.subscriptions, redeemedSubscription] }
    const stretches = projectStretches(extendedQueue, now, subscriptions.rules)
    const stretch = stretches.find(({ subscription }) => subscription.id === id)
    if (stretch === undefined) return null
    const isWaiting = stretch.startsAt > now
    const runningSubscription = queue.subscriptions.find(({ state, source }) => state !== 'waiting' && source !== 'group')
    const interrupts = isWaiting || runningSubscription === undefined ? null : runningSubscription.terms.plan.name
    const { startsAt, endsAt } = stretch
    return {
      outcome: { kind: 'plan', gift, startsAt, endsAt, isWaiting, interrupts },
      queue: extendedQueue,
      added: redeemedSubscription,
    }
  }

  /** The same code of the same account is the same pack. */
  #toClaim({ id, gift }: RedeemCode, { expiresAt }: { readonly expiresAt: number }, account: string, at: number): BoostClaim {
    const pack = createHmac('sha256', this.#deps.secret).update(`pack\0code\0${id}\0${account}`).digest('hex').slice(0, 26)
    const { pool, credits } = gift.kind === 'credits' ? gift : { pool: 'fast' as const, credits: 0 }
    return { id: `pack_${pack}`, account, kind: 'grant', pool, credits, at, expiresAt }
  }
}

type Planned =
  | { readonly outcome: Extract<CodeOutcome, { kind: 'plan' }>; readonly queue: Queue; readonly added: Subscription }
  | { readonly outcome: Extract<CodeOutcome, { kind: 'credits' }> }

export interface CodeOrder {
  readonly gift: CodeGift
  readonly count: number
  readonly maxUses: number
  readonly expiresAt: number | null
  readonly batch: string | null
}

/** Creates codes and returns them as they are printed; nothing can show them again. */
export async function createCodes(
  { redeemCodes }: { readonly redeemCodes: Pick<RedeemCodes, 'create'> },
  ids: RedeemCodeDeps['ids'],
  { gift, count, maxUses, expiresAt, batch }: CodeOrder,
  now: number,
): Promise<readonly { readonly id: string; readonly code: string }[]> {
  const newCodes = Array.from({ length: count }, () => ({
    id: ids.next('code_', now),
    code: mintCode((size) => ids.bytes(size)),
  }))
  await redeemCodes.create(
    newCodes.map(({ id, code }) => ({
      id,
      hash: hashCode(code),
      prefix: code.slice(0, codePrefixLength),
      batch,
      gift,
      maxUses,
      createdAt: now,
      expiresAt,
    })),
  )
  return newCodes.map(({ id, code }) => ({ id, code: formatCode(code) }))
}
