/** What happens by itself: credentials that another process revokes, holds of lost turns, plans that end, and a wall clock that is wrong. */
import t from 'tap'
import { getPlan } from '../../src/domain/billing/catalog/plan.ts'
import { getBalance } from '../../src/services/member-usage.ts'
import { createReserveOrder } from '../support/store/contract/store-contract.ts'
import { describeTurn, oneTarget, openTurns } from './gateway/open-turns.ts'
import type { SentTurn, SimulatedGateway } from './gateway/simulated-gateway.ts'
import { answer } from './gateway/simulated-upstream.ts'

const [minuteMs, hourMs, dayMs] = [60_000, 3_600_000, 86_400_000]

async function sendWhole(gateway: SimulatedGateway, token: string): Promise<string> {
  const turn = gateway.send(token)
  await gateway.clock.run(100)
  return getKind(gateway, turn)
}

function getKind(gateway: SimulatedGateway, turn: SentTurn): string {
  return describeTurn(gateway, turn).split(' after')[0] ?? ''
}

t.test('a key that another process revokes is refused two seconds later', async (t) => {
  const { gateway } = await openTurns(t, answer(1))
  gateway.startJobs()
  await gateway.clock.run(5_000)
  const { id, token, keyId } = await gateway.createAccount()
  t.equal(await sendWhole(gateway, token), 'completed')
  await gateway.services.store.apiKeys.revoke(id, keyId, gateway.clock.now())
  await gateway.clock.run(2_500)
  t.equal(await sendWhole(gateway, token), 'failed sign_in_required')
})

t.test('a key that was revoked is refused half a minute later where no change can be read', async (t) => {
  const { gateway } = await openTurns(t, answer(1))
  const { id, token, keyId } = await gateway.createAccount()
  t.equal(await sendWhole(gateway, token), 'completed')
  await gateway.services.store.apiKeys.revoke(id, keyId, gateway.clock.now())
  await gateway.clock.run(29_000)
  t.equal(await sendWhole(gateway, token), 'completed', 'from the cache')
  gateway.clock.skip(2_000)
  t.equal(await sendWhole(gateway, token), 'failed sign_in_required')
})

t.test('the hold of a turn that was lost is released after its lease, and none before', async (t) => {
  const { gateway } = await openTurns(t, answer(1))
  const { clock, services } = gateway
  const { id } = await gateway.createAccount()
  gateway.startJobs()
  const leaseUntil = clock.monotonicMs() + 10 * minuteMs
  await services.ledger.reserve(createReserveOrder({ account: id, requestId: 'mbr_lost', at: clock.now(), leaseUntil }))
  clock.setNow(clock.now() + 2 * dayMs)
  await clock.run(10 * minuteMs - 1_000)
  t.equal(gateway.readTurn({ id: 'mbr_lost' })?.state, 'held')
  await clock.run(5_000)
  t.match(gateway.readTurn({ id: 'mbr_lost' }), { state: 'expired', credits: 0 })
})

t.test('a plan ends at its time, also when the machine was suspended meanwhile', async (t) => {
  const { gateway } = await openTurns(t, answer(1))
  const { clock, services } = gateway
  const { id } = await gateway.createAccount('free')
  const readPlan = async () => (await services.store.accounts.find(id))?.plan
  await services.store.accounts.setPlan(id, 'pro', clock.now() + hourMs)
  gateway.startJobs()
  await clock.run(minuteMs)
  t.equal(await readPlan(), 'pro')
  clock.skip(hourMs)
  await clock.run(5_000)
  t.equal(await readPlan(), 'free')
})

t.test('a plan of groups lapses twelve hours after the last sign-in, and sign-ins refill no pool', async (t) => {
  const { gateway } = await openTurns(t, answer(1))
  const { clock, services } = gateway
  const { store, membership, config } = services
  const { id, token } = await gateway.createAccount('free')
  const signIn = () => membership.subscriptions.applyGroupPlan(id, 'acme', getPlan(config, 'pro'))
  const readPlan = async () => (await store.accounts.find(id))?.plan
  const readUsed = async (): Promise<readonly number[]> => {
    const account = await store.accounts.find(id)
    if (account === undefined) return []
    const { pools } = await getBalance(account, services)
    return pools.filter(({ window }) => window === 'month').map(({ used }) => used)
  }
  gateway.startJobs()
  await signIn()
  t.equal(await sendWhole(gateway, token), 'completed')
  await clock.run(minuteMs)
  const used = await readUsed()
  t.ok(used.some((credits) => credits > 0))
  for (let count = 0; count < 5; count += 1) {
    clock.skip(hourMs)
    await clock.run(5_000)
    await signIn()
    t.same(await readUsed(), used, 'what was used stays used')
  }
  clock.skip(12 * hourMs - minuteMs)
  await clock.run(5_000)
  t.equal(await readPlan(), 'pro')
  clock.skip(minuteMs)
  await clock.run(5_000)
  t.equal(await readPlan(), 'free')
  await signIn()
  t.equal(await readPlan(), 'pro')
  t.same(await readUsed(), used)
})

t.test('a wall clock that is set 40 days ahead ends no plan for an hour, and none when it is corrected', async (t) => {
  const { gateway, token } = await openTurns(t, answer(1))
  const { clock, services } = gateway
  await sendWhole(gateway, token)
  const { id } = await gateway.createAccount('free')
  const readPlan = async () => (await services.store.accounts.find(id))?.plan
  await services.store.accounts.setPlan(id, 'pro', clock.now() + 30 * dayMs)
  gateway.startJobs()
  await clock.run(10_000)
  clock.setNow(clock.now() + 40 * dayMs)
  await clock.run(10_000)
  clock.skip(50 * minuteMs)
  await clock.run(10_000)
  t.equal(await readPlan(), 'pro')
  clock.setNow(clock.now() - 40 * dayMs)
  clock.skip(20 * minuteMs)
  await clock.run(10_000)
  t.equal(await readPlan(), 'pro')
  // Forty days have really passed.
  clock.skip(40 * dayMs)
  await clock.run(10_000)
  t.equal(await readPlan(), 'free')
})

t.test('a wall clock that is set back ends no turn and opens no minute anew', async (t) => {
  const { gateway, token } = await openTurns(t, answer(20, { betweenMs: 500 }), {
    ...oneTarget,
    plans: { max: { rpm: 2, concurrency: 10 } },
  })
  const turns = [gateway.send(token), gateway.send(token)]
  await gateway.clock.run(1_000)
  gateway.clock.setNow(gateway.clock.now() - dayMs)
  const third = gateway.send(token)
  await gateway.clock.run(20_000)
  for (const turn of turns) t.match(describeTurn(gateway, turn), /^completed after 10\d{3} ms: whole, settled$/)
  t.equal(getKind(gateway, third), 'failed rate_limited')
})
