/**
 * One history of terms: the configuration is changed twenty times under many subscribers of all states, by nodes of which one still has the
 * configuration before. After each event every account is compared with what was bought and announced, by a model of its own.
 */
import type { Money } from '../../../src/domain/billing/money.ts'
import { createCalendar } from '../../../src/domain/billing/period.ts'
import type { Plan } from '../../../src/domain/billing/catalog/plan.ts'
import { termsNoticeMs } from '../../../src/domain/billing/subscriptions/subscription-notice.ts'
import { renewalGraceMs } from '../../../src/domain/billing/subscriptions/subscription-queue.ts'
import { comparePlans, includesPlan, resolvePlan, serializePlan } from '../../../src/domain/billing/subscriptions/terms.ts'
import type { Account } from '../../../src/domain/identity/account.ts'
import { AttemptLimits, mergeAttemptLimits } from '../../../src/domain/identity/limits/attempt-limits.ts'
import type { PurchaseEmail } from '../../../src/domain/member-mailer.ts'
import { PurchaseMailService } from '../../../src/domain/services/orders/purchase-mail-service.ts'
import { createCodes, RedeemCodeService } from '../../../src/domain/services/redeem-code-service.ts'
import type { Store } from '../../../src/domain/store.ts'
import { drawPlans } from '../../support/payments/drawn-plans.ts'
import { createOrderWorld, createRequest, testClient, worldIds } from '../../support/payments/order-world.ts'
import { createManualProvider, PaymentProviderStandIn } from '../../support/payments/payment-provider-stand-in.ts'
import { createRandom } from '../random.ts'

export interface TermsHistoryOptions {
  readonly seed: number
  readonly accounts: readonly Account[]
  readonly begin: number
  readonly store: Omit<Store, 'backup' | 'close' | 'dailyUsage'>
}

export interface TermsHistory {
  readonly faults: readonly string[]
  readonly counts: Readonly<Record<string, number>>
}

const [hourMs, dayMs] = [3_600_000, 86_400_000]
const [configurationChanges, changePauseMs] = [20, 7 * dayMs]
/** A month has 28 to 31 days. */
const monthSlackMs = 3 * dayMs
const calendar = createCalendar('UTC')
const never = new AbortController().signal

/** What one purchase, code or gift promised. */
interface Promised {
  plan: Plan
  /** Until when it applies. */
  end: number
  /** By how much the end may differ: what begins at another date than was expected then has months of other lengths. */
  slackMs: number
  /** A renewal that its provider charges: what is charged at most, and the interval. */
  renewal: { price: Money; readonly interval: 'month' | 'year'; readonly reference: string; isCancelled: boolean } | null
}

interface Member {
  readonly account: Account
  /** The plan that was given without an end. */
  base: string | null
  promises: Promised[]
  readonly announced: { readonly at: number; readonly email: PurchaseEmail }[]
  /** Charged by the provider, and not seen here yet. */
  charged: { readonly money: Money; readonly at: number } | null
}

interface Node {
  readonly plans: Readonly<Record<string, Plan>>
  readonly world: ReturnType<typeof createOrderWorld>
  readonly mails: PurchaseMailService
  readonly codes: RedeemCodeService
}

export async function runTermsHistory(options: TermsHistoryOptions): Promise<TermsHistory> {
  return new Run(options).run()
}

class Run {
  readonly #store: TermsHistoryOptions['store']
  readonly #random: ReturnType<typeof createRandom>
  readonly #provider = new PaymentProviderStandIn()
  readonly #manual = createManualProvider()
  readonly #time: { now: number }
  readonly #end: number
  readonly #members: readonly Member[]
  readonly #events: { readonly at: number; readonly run: () => Promise<void> }[] = []
  readonly #counts: Record<string, number> = {}
  readonly #faults: string[] = []
  #nodes: readonly Node[] = []

  constructor({ seed, accounts, begin, store }: TermsHistoryOptions) {
    this.#store = store
    this.#random = createRandom(seed)
    this.#time = { now: begin }
    this.#end = begin + (configurationChanges + 2) * changePauseMs
    this.#members = accounts.map((account) => ({ account, base: null, promises: [], announced: [], charged: null }))
  }

  async run(): Promise<TermsHistory> {
    this.#nodes = [this.#createNode(drawPlans(createRandom(0)))]
    const begin = this.#time.now
    for (const [index, member] of this.#members.entries())
      this.#at(begin + this.#random.below(6 * dayMs), () => this.#begin(member, index))
    for (let change = 1; change <= configurationChanges; change++)
      this.#at(begin + change * changePauseMs, () => this.#configure())
    for (let at = begin; at < this.#end; at += dayMs) this.#at(at + this.#random.below(dayMs), () => this.#work())
    for (;;) {
      this.#events.sort((one, other) => one.at - other.at)
      const event = this.#events.shift()
      if (event === undefined || event.at > this.#end) break
      this.#time.now = Math.max(this.#time.now, event.at)
      await event.run()
      await this.#check()
    }
    return { faults: this.#faults, counts: this.#counts }
  }

  #at(at: number, run: () => Promise<void>): void {
    this.#events.push({ at, run })
  }

  get #node(): Node {
    return this.#random.choose(this.#nodes)
  }

  #createNode(plans: Readonly<Record<string, Plan>>): Node {
    const clock = { now: () => this.#time.now }
    const store = this.#store
    const mails = new PurchaseMailService({
      store,
      plans: { plans, defaultPlan: 'free' },
      clock,
      secret: new Uint8Array(32),
      timeZone: 'UTC',
      mailer: {
        deliverPurchaseEmail: async ({ to }, email) => {
          this.#count(`email ${email.kind}`)
          this.#members.find(({ account }) => account.email === to)?.announced.push({ at: this.#time.now, email })
          return 'sent'
        },
      },
    })
    const [anyone] = this.#members
    if (anyone === undefined) throw new Error('there are no accounts')
    const world = createOrderWorld({
      store,
      time: this.#time,
      providers: [this.#provider, this.#manual],
      account: anyone.account,
      plans,
      wasAnnounced: (subscription, terms) => mails.wasAnnounced(subscription, terms),
    })
    const codes = new RedeemCodeService({
      store,
      subscriptions: world.subscriptions,
      boosts: { deliver: async (claim) => store.ledger.grant(claim) },
      attemptLimits: new AttemptLimits(store.attempts, mergeAttemptLimits({})),
      clock,
      ids: codeIds,
      secret: new Uint8Array(32),
      writeAudit: async () => undefined,
      onCredentialsChanged: () => undefined,
    })
    return { plans, world, mails, codes }
  }

  /** A node with the new configuration starts, and the one before stops half a day later. */
  async #configure(): Promise<void> {
    const node = this.#createNode(drawPlans(this.#random))
    const former = this.#nodes.at(-1)
    this.#nodes = former === undefined ? [node] : [former, node]
    this.#at(this.#time.now + this.#random.below(12 * hourMs), async () => void (this.#nodes = [node]))
    this.#count('configurations')
    if (this.#random.isOne(0.8)) this.#at(this.#time.now + this.#random.below(3 * dayMs), () => this.#move())
  }

  /** The operator moves those who have older terms: with their renewal, or at once where that gives no less. */
  async #move(): Promise<void> {
    const { world } = this.#node
    const all = await this.#store.subscriptions.listTerms()
    const from = this.#random.choose(all.filter(({ running, plan }) => running > 0 && plan.id !== 'free'))
    const to = from === undefined ? undefined : await this.#store.subscriptions.findNewestTerms(from.plan.id)
    if (from === undefined || to === undefined || to.id === from.id) return
    const isNow = includesPlan(to.plan, from.plan)
    const served = await this.#store.accounts.list({ limit: 100 })
    await world.subscriptions.move({ from, to, at: isNow ? 'now' : 'renewal', isDryRun: false, reason: null })
    this.#count(isNow ? 'moves now' : 'moves at renewal')
    if (!isNow) return
    for (const member of this.#members) {
      const running = findHighest(member.promises, this.#time.now)
      if (running !== undefined && served.find(({ id }) => id === member.account.id)?.terms?.id === from.id)
        running.plan = to.plan
      this.#moveWaiting(member, from.plan, to.plan)
    }
  }

  /** What waits may now be higher than what runs, and goes before it. */
  #moveWaiting(member: Member, from: Plan, to: Plan): void {
    const { now } = this.#time
    const [, ...waiting] = listAlive(member.promises, now)
    const moved = waiting.filter(({ plan }) => serializePlan(plan) === serializePlan(from))
    if (moved.length === 0) return
    const rests = new Map<Promised, number>()
    let end = now
    for (const each of listAlive(member.promises, now)) {
      rests.set(each, each.end - end)
      end = each.end
    }
    for (const each of moved) each.plan = to
    end = now
    for (const each of listAlive(member.promises, now)) {
      end += rests.get(each) ?? 0
      moveEnd(each, end - each.end)
      this.#watchEnd(end)
    }
  }

  async #begin(member: Member, index: number): Promise<void> {
    const { world } = this.#node
    if (index % 5 === 0) return this.#buy(member, 'pro', this.#random.choose(['month', 'month', 'year']))
    if (index % 5 === 1) return this.#buyByHand(member, this.#random.choose(['pro', 'max']))
    if (index % 5 === 2) return this.#redeem(member, 20 + this.#random.below(90))
    if (index % 5 === 3) {
      const plan = this.#random.choose(Object.values(this.#node.plans).filter(({ id }) => id !== 'free'))
      if (plan === undefined) return
      const end = this.#time.now + (10 + this.#random.below(100)) * dayMs
      await world.subscriptions.give(member.account.id, plan, end)
      this.#promise(member, { plan, begin: this.#time.now, end, renewal: null })
      return
    }
    if (index % 10 === 4) {
      member.base = 'team'
      const { plans } = this.#node
      if (plans['team'] !== undefined) await world.subscriptions.give(member.account.id, plans['team'], null)
      return this.#buyByHand(member, 'pro')
    }
  }

  /** By a provider that charges the renewals; some fail, and some are cancelled. */
  async #buy(member: Member, plan: string, interval: 'month' | 'year'): Promise<void> {
    const { world, plans } = this.#node
    const request = createRequest(`${plan}/${interval}`)
    const quote = await world.orders.quote(member.account, request)
    const bought = plans[plan]
    if (quote.kind === 'refused' || bought === undefined) return this.#count(`refused ${'reason' in quote ? quote.reason : ''}`)
    const answer = await world.orders.create(member.account, request, testClient)
    if (answer.kind === 'refused') throw new Error(answer.reason)
    this.#provider.pay(answer.order.id)
    const order = await this.#node.world.orders.check(answer.order.id, 'return')
    const reference = order?.providerSubscription
    if (order?.state !== 'granted' || reference == null) return void this.#faults.push(`${order?.id} is not granted`)
    const renewal = { price: quote.quote.due, interval, reference, isCancelled: false }
    this.#promise(member, { plan: bought, begin: quote.quote.startsAt ?? 0, end: quote.quote.endsAt ?? 0, renewal })
    this.#count('bought')
    this.#charge(member)
    if (this.#random.isOne(0.2))
      this.#at(this.#time.now + this.#random.below(60 * dayMs), async () => {
        if ((await this.#node.world.orders.cancelRenewal(member.account.id)) !== 'cancelled') return
        renewal.isCancelled = true
        this.#count('cancelled')
      })
  }

  async #buyByHand(member: Member, plan: string): Promise<void> {
    const { world, plans } = this.#node
    const request = createRequest(`${plan}/month`, { provider: 'manual' })
    const quote = await world.orders.quote(member.account, request)
    const bought = plans[plan]
    if (quote.kind === 'refused' || bought === undefined) return this.#count(`refused ${'reason' in quote ? quote.reason : ''}`)
    const answer = await world.orders.create(member.account, request, testClient)
    if (answer.kind === 'refused') throw new Error(answer.reason)
    if (answer.order.due.amount > quote.quote.due.amount) this.#faults.push(`${answer.order.id} is dearer than its quote`)
    await this.#node.world.orders.confirm(answer.order.id, answer.order.due)
    if (quote.quote.formerSubscription !== null) this.#replace(member)
    this.#promise(member, { plan: bought, begin: quote.quote.startsAt ?? 0, end: quote.quote.endsAt ?? 0, renewal: null })
    this.#count('bought by hand')
    if (this.#random.isOne(0.7))
      this.#at(this.#time.now + this.#random.below(50 * dayMs), () =>
        this.#buyByHand(member, this.#random.choose(['pro', 'max'])),
      )
  }

  /** A code of the terms of its creation, redeemed under a later configuration. */
  async #redeem(member: Member, days: number): Promise<void> {
    const plan = this.#random.choose(Object.values(this.#node.plans).filter(({ id }) => id !== 'free'))
    if (plan === undefined) return
    const terms = await this.#store.subscriptions.ensureTerms(plan, this.#time.now)
    const gift = { kind: 'plan', terms, span: `${days}d` } as const
    const made = { gift, count: 1, maxUses: 1, expiresAt: null, batch: null }
    const [code] = await createCodes(this.#store, codeIds, made, this.#time.now)
    this.#at(this.#time.now + this.#random.below(12 * dayMs), async () => {
      const answer = await this.#node.codes.redeem(code?.code ?? '', member.account, testClient)
      if (answer.kind !== 'good' || answer.outcome.kind !== 'plan')
        return this.#count(answer.kind === 'refused' ? `code ${answer.reason}` : answer.kind)
      const { startsAt, endsAt } = answer.outcome
      this.#promise(member, { plan, begin: startsAt, end: endsAt, renewal: null })
      this.#count('redeemed')
      if (this.#random.isOne(0.4)) await this.#redeem(member, 10)
    })
  }

  /** What waits for a higher plan follows it with the rest of its span. */
  #promise(member: Member, { begin, ...bought }: Omit<Promised, 'slackMs'> & { readonly begin: number }): void {
    const promised = { ...bought, slackMs: 0 }
    for (const each of member.promises)
      if (each.end > this.#time.now && comparePlans(promised.plan, each.plan) > 0) moveEnd(each, promised.end - begin)
    member.promises.push(promised)
    for (const each of member.promises) this.#watchEnd(each.end)
  }

  /** Its unused days were taken off the price of a higher plan; what waited for its end follows sooner. */
  #replace(member: Member): void {
    const { now } = this.#time
    const former = findHighest(member.promises, now)
    if (former === undefined) return
    member.promises = member.promises.filter((each) => each !== former)
    for (const each of member.promises) if (each.end > former.end) moveEnd(each, now - former.end)
  }

  /** One check in the last instant, and one when the next plan begins. */
  #watchEnd(end: number): void {
    this.#at(end - 1, async () => undefined)
    this.#at(end, async () => void (await this.#node.world.subscriptions.advanceDue()))
    this.#at(end + renewalGraceMs, async () => void (await this.#node.world.subscriptions.advanceDue()))
  }

  /** About an hour after the end; some fail for days, or for good. */
  #charge(member: Member): void {
    const promised = member.promises.find(({ renewal }) => renewal !== null)
    if (promised?.renewal == null) return
    const { renewal } = promised
    const atProvider = this.#provider.getSubscription(renewal.reference)
    const attempt = async (): Promise<void> => {
      if (atProvider.state !== 'active' && atProvider.state !== 'past_due') return
      if (this.#random.isOne(0.25)) {
        atProvider.state = 'past_due'
        this.#count('failed charges')
        return this.#at(this.#time.now + (20 + this.#random.below(60)) * hourMs, attempt)
      }
      if (this.#time.now > promised.end + renewalGraceMs) return
      this.#provider.renew(renewal.reference, this.#time.now)
      this.#count('charges')
      const money = atProvider.invoices.at(-1)?.money ?? renewal.price
      this.#checkCharge(member, promised.end, renewal.price, money)
      member.charged = { money, at: this.#time.now }
    }
    this.#at(promised.end + hourMs + this.#random.below(hourMs), attempt)
  }

  /** What the provider takes: no more than before, or than what was announced thirty days before. */
  #checkCharge({ account, announced }: Member, end: number, before: Money, money: Money): void {
    const allowed = announced.flatMap(({ at, email }) =>
      email.kind === 'terms' && at + termsNoticeMs <= this.#time.now ? [email.newPrice.amount] : [],
    )
    if (money.amount > Math.max(before.amount, ...allowed))
      this.#faults.push(`${account.id} pays ${money.amount} after ${before.amount}, announced ${allowed.join(', ')}`)
    for (const { email } of announced)
      if (email.kind === 'renewal' && email.endsAt === end && email.renews && email.price.amount < money.amount)
        this.#faults.push(`${account.id} pays ${money.amount}, and the email before the renewal named ${email.price.amount}`)
  }

  async #work(): Promise<void> {
    const { world, mails } = this.#node
    await world.orders.sweep()
    await world.subscriptions.advanceDue()
    await mails.sendDue(never)
  }

  async #check(): Promise<void> {
    const stored = await this.#store.accounts.list({ limit: 100 })
    for (const member of this.#members) {
      const account = stored.find(({ id }) => id === member.account.id)
      if (account === undefined) throw new Error('an account is missing')
      for (const { plans } of this.#nodes) {
        const served = resolvePlan({ plans, defaultPlan: 'free' }, account)
        if (member.charged !== null) this.#checkRenewal(member, served, account.planUntil)
        const promised = findHighest(member.promises, this.#time.now)
        if (member.promises.some((each) => isEndUncertain(each, this.#time.now))) continue
        if (promised !== undefined && !includesPlan(served, promised.plan))
          this.#faults.push(
            `${account.id} has ${served.id} of ${served.pools.fast.month}, bought ${promised.plan.id} of ${promised.plan.pools.fast.month}`,
          )
      }
      this.#counts['checks'] = (this.#counts['checks'] ?? 0) + 1
    }
  }

  /** Once the gateway has seen the charge: the next span has the terms before, better ones, or those of the announcement. */
  #checkRenewal(member: Member, served: Plan, planUntil: number | null): void {
    const promised = member.promises.find(({ renewal }) => renewal !== null)
    if (promised?.renewal == null || member.charged === null) return
    if (planUntil === null || planUntil <= promised.end + renewalGraceMs) {
      if (this.#time.now > member.charged.at + 3 * dayMs) this.#faults.push(`${member.account.id} paid, and nothing was renewed`)
      return
    }
    const isAnnounced = member.announced.some(
      ({ at, email }) => email.kind === 'terms' && at + termsNoticeMs <= promised.end && includesPlan(served, email.to.plan),
    )
    if (!includesPlan(served, promised.plan) && !isAnnounced)
      this.#faults.push(
        `${member.account.id} was renewed with ${served.pools.fast.month} after ${promised.plan.pools.fast.month}`,
      )
    if (!includesPlan(served, promised.plan)) this.#count('announced terms')
    promised.plan = served
    promised.end =
      calendar.addSpan(promised.end, { count: 1, unit: promised.renewal.interval === 'month' ? 'mo' : 'y' }) - 4 * dayMs
    if (planUntil < promised.end) this.#faults.push(`${member.account.id} was renewed until ${planUntil}`)
    promised.end = planUntil
    promised.renewal.price = member.charged.money
    member.charged = null
    this.#watchEnd(planUntil)
    this.#charge(member)
  }

  #count(what: string): void {
    this.#counts[what] = (this.#counts[what] ?? 0) + 1
  }
}

function moveEnd(promised: Promised, ms: number): void {
  if (ms === 0) return
  promised.end += ms
  promised.slackMs += monthSlackMs
}

function isEndUncertain({ end, slackMs }: Promised, now: number): boolean {
  return Math.abs(now - end) < slackMs
}

function findHighest(promises: readonly Promised[], now: number): Promised | undefined {
  return listAlive(promises, now)[0]
}

/** What still applies, in the order in which it runs; a renewal that failed applies for seven days more. */
function listAlive(promises: readonly Promised[], now: number): readonly Promised[] {
  return promises
    .filter(({ end, renewal }) => now < (renewal === null || renewal.isCancelled ? end : end + renewalGraceMs))
    .toSorted((one, other) => comparePlans(other.plan, one.plan))
}

let lastCode = 0
const codeIds = {
  next: worldIds.next,
  bytes: (size: number) => Uint8Array.from({ length: size }, () => (lastCode = (lastCode * 31 + 17) % 251)),
}
