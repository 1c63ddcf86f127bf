/** The contract of codes on every store, with the service that redeems them. */
import { randomBytes } from 'node:crypto'
import type { Test } from 'tap'
import type { BoostClaim } from '../../../../src/domain/billing/boost.ts'
import type { CodeGift } from '../../../../src/domain/billing/redeem-code.ts'
import { isRunning } from '../../../../src/domain/billing/subscriptions/subscription.ts'
import { AttemptLimits, mergeAttemptLimits, TooManyAttempts } from '../../../../src/domain/identity/limits/attempt-limits.ts'
import { createCodes, RedeemCodeService } from '../../../../src/domain/services/redeem-code-service.ts'
import type { CodeOrder } from '../../../../src/domain/services/redeem-code-service.ts'
import { createPlan } from '../../../support/gateway/test-plans.ts'
import type { Repositories } from './repository-contract.ts'
import { createNodeTest } from './test-on-nodes.ts'
import type { OpenNodes } from './test-on-nodes.ts'
import { addAccount, noon, toAccountId } from '../../../support/store/contract/store-contract.ts'
import { createSubscriptionService } from './subscription-contract.ts'

const day = 86_400_000
const [pro, max] = [createPlan('pro', 10), createPlan('max', 100)]
let ids = 0
const testIds = {
  next: (prefix: string) => `${prefix}${String((ids += 1)).padStart(26, '0')}`,
  bytes: (size: number) => randomBytes(size),
}

interface Time {
  now: number
}

/** `delivered` has the packs that were delivered. With `isFailing` the delivery fails. */
function createService(store: Repositories, time: Time, delivered: BoostClaim[] = [], isFailing = false) {
  const clock = { now: () => time.now }
  return new RedeemCodeService({
    store,
    subscriptions: createSubscriptionService(store, time),
    boosts: {
      async deliver(claim) {
        if (isFailing) throw new Error('the disk is full')
        delivered.push(claim)
        await store.boosts.markDelivered(claim.id)
        return { ...claim, granted: claim.credits, reserved: 0, settled: 0, createdAt: claim.at }
      },
    },
    attemptLimits: new AttemptLimits(store.attempts, mergeAttemptLimits({})),
    clock,
    ids: testIds,
    secret: new Uint8Array(32),
    writeAudit: async () => undefined,
    onCredentialsChanged: () => undefined,
  })
}

const client = (network = '192.0.2.0/24') =>
  ({ network, ip: '192.0.2.1', requestId: 'mbr_1' }) as Parameters<RedeemCodeService['redeem']>[2]

async function createCode(store: Repositories, gift: CodeGift, change: Partial<CodeOrder> = {}) {
  const [created] = await createCodes(
    store,
    testIds,
    { gift, count: 1, maxUses: 1, expiresAt: null, batch: null, ...change },
    noon,
  )
  if (created === undefined) throw new Error('no code was created')
  return created
}

/** Leaves one row of each kind in the store of the first account. */
export async function redeemCode(store: Repositories): Promise<void> {
  const terms = await store.subscriptions.ensureTerms(pro, noon)
  const { code } = await createCode(store, { kind: 'plan', terms, span: '30d' })
  const account = await store.accounts.find(toAccountId(1))
  if (account === undefined) throw new Error('there is no such account')
  await createService(store, { now: noon }).redeem(code, account, client())
}

export function testRedeemCodeContract(t: Test, open: OpenNodes): void {
  const test = createNodeTest(t, open)
  const credits: CodeGift = { kind: 'credits', pool: 'premium', credits: 500, days: 365 }
  const planGift = async (store: Repositories, plan = pro, span = '30d'): Promise<CodeGift> => ({
    kind: 'plan',
    terms: await store.subscriptions.ensureTerms(plan, noon),
    span,
  })
  const member = async (store: Repositories, index = 1) => {
    const account = await store.accounts.find(toAccountId(index))
    if (account === undefined) throw new Error('there is no such account')
    return account
  }

  test('shows what a code will do without doing it, and then does it once', async (t, store) => {
    const time = { now: noon }
    const service = createService(store, time)
    const { code } = await createCode(store, await planGift(store))
    const account = await member(store)
    const expected = {
      kind: 'good',
      outcome: { kind: 'plan', startsAt: noon, endsAt: noon + 30 * day, isWaiting: false, interrupts: null },
    }
    t.match(await service.inspect(code, account, client()), expected)
    t.same(await store.subscriptions.list(account.id), [])
    t.match(await service.redeem(code.toLowerCase(), account, client()), expected)
    t.match(await store.accounts.find(account.id), { plan: 'pro', planUntil: noon + 30 * day, terms: { id: 'pro@1' } })
    t.match(await service.redeem(code, account, client()), { kind: 'refused', reason: 'redeemed_before' })
    t.match(await service.inspect(code, account, client()), { kind: 'refused', reason: 'redeemed_before' })
    await addAccount(store, 2)
    t.match(await service.redeem(code, await member(store, 2), client()), { kind: 'refused', reason: 'used_up' })
    t.equal((await store.subscriptions.list(account.id)).length, 1)
  })

  test('a code on the same plan follows it, a lower one waits, a higher one begins at once', async (t, store) => {
    const time = { now: noon }
    const service = createService(store, time)
    const account = await member(store)
    const redeem = async (plan: typeof pro, span: string) =>
      service.redeem((await createCode(store, await planGift(store, plan, span))).code, account, client())
    await redeem(pro, '30d')
    t.match(await redeem(pro, '1mo'), { outcome: { isWaiting: true, startsAt: noon + 30 * day } })
    time.now = noon + 10 * day
    t.match(await redeem(max, '7d'), {
      outcome: { isWaiting: false, interrupts: 'pro', startsAt: time.now, endsAt: noon + 17 * day },
    })
    t.match(await redeem(max, '7d'), { outcome: { isWaiting: true, startsAt: noon + 17 * day, endsAt: noon + 24 * day } })
    t.match(await redeem(pro, '5d'), { outcome: { isWaiting: true } })
    t.match(await store.accounts.find(account.id), { plan: 'max', planUntil: noon + 24 * day })
    time.now = noon + 24 * day
    await createSubscriptionService(store, time).advanceDue()
    t.match(await store.accounts.find(account.id), { plan: 'pro', terms: { id: 'pro@1' } })
    // Twenty days of the first are left, then a month and five days follow.
    t.equal((await store.subscriptions.list(account.id)).find(isRunning)?.endsAt, noon + 44 * day)
  })

  test('a plan that would never begin is refused, and the code stays good', async (t, store) => {
    const time = { now: noon }
    const service = createService(store, time)
    const { code, id } = await createCode(store, await planGift(store))
    await createSubscriptionService(store, time).give(toAccountId(1), max, null)
    t.match(await service.redeem(code, await member(store), client()), { kind: 'refused', reason: 'never_begins' })
    t.match(await service.inspect(code, await member(store), client()), { kind: 'refused', reason: 'never_begins' })
    t.match(await store.redeemCodes.find(id), { uses: 0 })
    t.match(await store.accounts.find(toAccountId(1)), { plan: 'max', planUntil: null })
  })

  test(
    'of a hundred parallel tries by one account and by many, each code gives what it promises once',
    async (t, store, nodes) => {
      const time = { now: noon }
      for (let index = 2; index <= 20; index += 1) await addAccount(store, index)
      const accounts = await Promise.all(Array.from({ length: 20 }, (_, index) => member(store, index + 1)))
      const first = await member(store)
      const delivered: BoostClaim[] = []
      const services = nodes.map((node) => createService(node, time, delivered))
      const tryAll = async (code: string, count: number, pick: (index: number) => (typeof accounts)[number]) => {
        const answers = await Promise.all(
          Array.from({ length: count }, (_, index) =>
            services[index % services.length]?.redeem(code, pick(index), client(`net-${index}`)).catch((error: unknown) => {
              // The budget of guesses counts tries that run at once.
              if (error instanceof TooManyAttempts) return { kind: 'refused' as const }
              throw error
            }),
          ),
        )
        return answers.filter((answer) => answer?.kind === 'good').length
      }
      const pickAny = (index: number) => accounts[index % accounts.length] ?? first
      const once = await createCode(store, await planGift(store))
      t.equal(await tryAll(once.code, 100, () => pickAny(0)), 1, 'one account')
      const many = await createCode(store, credits, { maxUses: 7 })
      t.equal(await tryAll(many.code, 100, pickAny), 7, 'twenty accounts, seven uses')
      t.match(await store.redeemCodes.find(many.id), { uses: 7 })
      t.equal(new Set(delivered.map(({ account }) => account)).size, 7)
      t.equal(delivered.length, 7)
      t.equal((await store.redeemCodes.listRedemptions(many.id, 100)).length, 7)
      t.equal((await store.subscriptions.list(toAccountId(1))).length, 1)
    },
    3,
  )

  test('credits that cannot be delivered at once are redeemed, and delivered by the next sweep', async (t, store) => {
    const time = { now: noon }
    const { code } = await createCode(store, credits)
    const account = await member(store)
    t.match(await createService(store, time, [], true).redeem(code, account, client()), { kind: 'good' })
    const [claim] = await store.boosts.listUndelivered(noon + 1, 10)
    t.match(claim, { account: account.id, kind: 'grant', pool: 'premium', credits: 500, expiresAt: noon + 365 * day })
    t.match(await createService(store, time).redeem(code, account, client()), { reason: 'redeemed_before' })
    t.equal((await store.boosts.listUndelivered(noon + 1, 10)).length, 1)
  })

  test('ten thousand guesses find nothing, and the budget ends them; a right code costs none of it', async (t, store) => {
    const time = { now: noon }
    const service = createService(store, time)
    const account = await member(store)
    const good = await createCode(store, credits, { maxUses: 1_000 })
    for (let index = 0; index < 20; index += 1) await service.inspect(good.code, account, client())
    const guess = async (network: string) => {
      const [wrong] = await createCodes({ redeemCodes: { create: async () => undefined } }, testIds, order, noon)
      return service.redeem(wrong?.code ?? '', account, client(network))
    }
    const order: CodeOrder = { gift: credits, count: 1, maxUses: 1, expiresAt: null, batch: null }
    let refused = 0
    let wrong = 0
    for (let index = 0; index < 10_000; index += 1) {
      try {
        const answer = await guess(`net-${index % 500}`)
        if (answer.kind === 'good') t.fail('a guess was right')
        wrong += 1
      } catch (error) {
        if (!(error instanceof TooManyAttempts)) throw error
        refused += 1
      }
      if (refused === 50) break
    }
    t.equal(wrong, 10)
    t.equal(refused, 50)
    t.match(await service.redeem('AAAAA-AAAAA-AAAAA-AAAAB', account, client()), { kind: 'mistyped' }, 'costs nothing')
    await addAccount(store, 2)
    t.match(await service.redeem(good.code, await member(store, 2), client('other')), { kind: 'good' })
    for (let index = 0; index < 3; index += 1) {
      await addAccount(store, 10 + index)
      const other = await member(store, 10 + index)
      for (let tries = 0; tries < 10; tries += 1) await service.redeem('00000-00000-00000-00000', other, client('one'))
    }
    await t.rejects(service.redeem(good.code, await member(store, 2), client('one')), TooManyAttempts)
  })

  test('lists and revokes codes by id, batch and prefix, and keeps what was redeemed', async (t, store) => {
    const time = { now: noon }
    const service = createService(store, time)
    const gift = await planGift(store)
    const spring = await createCodes(store, testIds, { gift, count: 3, maxUses: 2, expiresAt: null, batch: 'spring' }, noon)
    const other = await createCode(store, credits, { expiresAt: noon + day })
    t.match(await store.redeemCodes.list({ batch: 'spring', limit: 10 }), [{ batch: 'spring', gift, uses: 0 }, {}, {}])
    const prefix = other.code.slice(0, 4)
    t.match(await store.redeemCodes.list({ prefix, limit: 10 }), [{ id: other.id, prefix, gift: credits }])
    const page = await store.redeemCodes.list({ limit: 2 })
    t.equal((await store.redeemCodes.list({ limit: 10, after: page[1]?.id ?? '' })).length, 2)
    const [first, second] = spring
    await service.redeem(first?.code ?? '', await member(store), client())
    t.equal(await store.redeemCodes.revoke({ batch: 'spring' }, noon), 3)
    t.equal(await store.redeemCodes.revoke({ batch: 'spring' }, noon), 0)
    t.match(await service.redeem(second?.code ?? '', await member(store), client()), { reason: 'revoked' })
    t.match(await store.accounts.find(toAccountId(1)), { plan: 'pro' }, 'what was redeemed stays')
    time.now = noon + day
    t.match(await service.redeem(other.code, await member(store), client()), { reason: 'expired' })
    t.equal(await store.redeemCodes.revoke({ prefix }, noon), 1)
    t.equal(await store.redeemCodes.revoke({ id: 'code_none' }, noon), 0)
  })

  test('a code keeps the terms of its creation, whatever the configuration has become', async (t, store) => {
    const { code } = await createCode(store, await planGift(store))
    await store.subscriptions.ensureTerms(createPlan('pro', 1), noon)
    const withdrawn = createService(store, { now: noon })
    await withdrawn.redeem(code, await member(store), client())
    t.match(await store.accounts.find(toAccountId(1)), { terms: { id: 'pro@1', plan: { pools: { fast: { day: 10 } } } } })
  })
}
