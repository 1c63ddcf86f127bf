/** The contract of the notifications' store: which events are recorded, and how their deliveries wait, are claimed and end. */
import type { Test } from 'tap'
import type { ClaimedDelivery, Condition } from '../../../../src/domain/notification.ts'
import type { Store } from '../../../../src/domain/store.ts'
import {
  addAccount,
  createSettleOrder,
  limits,
  noon,
  reserveHold,
  toAccountId,
} from '../../../support/store/contract/store-contract.ts'

const minute = 60_000
const hour = 60 * minute
const day = 24 * hour
const maxWaiting = 20
const upstreamDown: Condition = { kind: 'upstream_down', subject: 'main/model', text: 'main/model fails' }

/** `openStore` returns an empty store and closes it at the end of the test. */
export function testNotificationContract(t: Test, openStore: (t: Test) => Promise<Store>): void {
  let ids = 0
  const nextMessageId = () => `msg_${++ids}`
  const announce = ({ notifications }: Store, ...names: string[]) =>
    notifications.announceReceivers(
      names.map((name) => ({ name, wantsMemberEvents: true })),
      noon,
    )
  const dispatch = ({ notifications }: Store, receivers: readonly string[] = ['crm'], now = noon) =>
    notifications.dispatch({ limit: 1_000, maxWaiting, findReceivers: () => receivers, now })
  const begin = ({ notifications }: Store, condition = upstreamDown, at = noon) =>
    notifications.recordIncidents({ began: [condition], ended: [] }, nextMessageId, at)
  const claim = ({ notifications }: Store, now = noon, change: { limit?: number; kinds?: readonly ['ledger_mismatch'] } = {}) =>
    notifications.claim({
      receiver: 'crm',
      now,
      leaseUntil: now + minute,
      unblockedBefore: now - hour,
      limit: 100,
      ...change,
    })
  const describe = (claimed: readonly ClaimedDelivery[]) =>
    claimed.map(({ event: { kind, phase, account, subject } }) => [kind, phase, account ?? subject])
  const listDetails = async ({ notifications }: Store) =>
    (await claim({ notifications } as Store)).map(({ event: { kind, detail } }) => [kind, detail])

  t.test('an account and a change of its plan are events only while a receiver wants them', async (t) => {
    const store = await openStore(t)
    await addAccount(store, 1)
    t.equal(await dispatch(store), 0)
    await announce(store, 'crm')
    const account = await addAccount(store, 2)
    await store.accounts.setPlan(account, 'pro', noon + day)
    await store.accounts.setPlan(account, 'pro', noon + 2 * day)
    await store.accounts.setStatus(account, 'disabled')
    await store.accounts.endExpiredPlans(noon + 3 * day, 'free')
    t.equal(await dispatch(store), 3)
    const waiting = await claim(store)
    t.same(
      waiting.map(({ event: { kind, account, detail } }) => [kind, account, detail]),
      [['account_created', account, { plan: 'free' }]],
      'the later ones of the account wait',
    )
    t.same(
      (await claim(store, noon + 2 * hour)).map(({ event: { kind, detail } }) => [kind, detail]),
      [
        ['account_created', { plan: 'free' }],
        ['plan_changed', { from: 'free', to: 'pro', until: noon + day }],
        ['plan_changed', { from: 'pro', to: 'free', until: null }],
      ],
      'after an hour they do not',
    )
    t.equal(new Set(waiting.map(({ event }) => event.messageId)).size, 1)
  })

  t.test('a charge that reaches 80 or 100 % of a window is one event for each level', async (t) => {
    const store = await openStore(t)
    const account = await addAccount(store)
    await announce(store, 'crm')
    const settle = async (credits: number, change = {}) => {
      const hold = await reserveHold(store, { amount: credits, ...change })
      await store.ledger.settle(createSettleOrder(hold.id, credits))
    }
    await settle(799)
    t.equal(await dispatch(store), 0, 'below 80 %')
    await settle(1)
    await settle(10)
    t.equal(await dispatch(store), 1)
    await settle(190)
    t.equal(await dispatch(store), 1)
    const endsAt = Date.UTC(2026, 4, 14)
    const level = { pool: 'premium', window: 'day', limit: 1000, endsAt }
    t.same(
      (await claim(store, noon + 2 * hour)).map(({ event }) => [event.kind, event.account, event.detail, event.at]),
      [
        ['pool_level', account, { ...level, level: 80, used: 800 }, noon],
        ['pool_level', account, { ...level, level: 100, used: 1000 }, noon],
      ],
    )
    // Both at once, in the pool that the plan has in all windows.
    const small = { day: 100, week: 100, month: 100 }
    await settle(100, { pool: 'fast', limits: small })
    t.equal(await dispatch(store), 6)
    t.ok((await store.ledger.verify()).ok)
  })

  t.test('a turn above its hold reports the level that its debt reaches, and a refunded turn none', async (t) => {
    const store = await openStore(t)
    await addAccount(store)
    await announce(store, 'crm')
    const hold = await reserveHold(store, { amount: 500 })
    await store.ledger.settle(createSettleOrder(hold.id, 850))
    t.equal(await dispatch(store), 1)
    const next = await reserveHold(store, { amount: 150 })
    await store.ledger.refund({ hold: next.id, at: noon, code: 'upstream_error', target: null, upstreamStatus: 500 })
    t.equal(await dispatch(store), 0)
    t.match(await listDetails(store), [['pool_level', { level: 80, used: 850, limit: limits.day }]])
    t.ok((await store.ledger.verify()).ok)
  })

  t.test('an incident has one event when it begins and one when it ends', async (t) => {
    const store = await openStore(t)
    await begin(store)
    await begin(store, { ...upstreamDown, text: 'still' }, noon + minute)
    await begin(store, { ...upstreamDown, subject: 'other/model' })
    const [incident] = await store.notifications.listIncidents()
    t.same(incident, { ...upstreamDown, beganAt: noon })
    const end = () =>
      store.notifications.recordIncidents(
        { began: [], ended: incident === undefined ? [] : [incident] },
        nextMessageId,
        noon + hour,
      )
    await end()
    await end()
    t.equal((await store.notifications.listIncidents()).length, 1)
    t.equal(await dispatch(store), 3)
    t.same(describe(await claim(store, noon + 2 * hour)), [
      ['upstream_down', 'began', 'main/model'],
      ['upstream_down', 'began', 'other/model'],
      ['upstream_down', 'ended', 'main/model'],
    ])
  })

  t.test('deliveries are made once for each receiver, in order within an account or incident', async (t) => {
    const store = await openStore(t)
    await begin(store)
    await begin(store, { ...upstreamDown, subject: 'other/model' })
    const [incident] = await store.notifications.listIncidents()
    await store.notifications.recordIncidents({ began: [], ended: incident === undefined ? [] : [incident] }, nextMessageId, noon)
    t.equal(await dispatch(store, ['crm', 'chat']), 3)
    t.equal(await dispatch(store, ['crm', 'chat']), 0)
    t.same([...(await store.notifications.countWaiting())].toSorted(), [
      ['chat', 3],
      ['crm', 3],
    ])
    const claimed = await claim(store)
    t.equal(claimed.length, 2, 'the end of the first incident waits for its beginning')
    t.equal((await claim(store)).length, 0, 'what is claimed is not claimed again')
    const [first, second] = claimed
    if (first === undefined || second === undefined) return t.fail('two are claimed')
    await store.notifications.end(first, 'delivered', { status: 204, reason: null }, noon)
    await store.notifications.retryAt(second, noon + 10 * minute, { status: 500, reason: 'HTTP 500' })
    t.same(describe(await claim(store)), [['upstream_down', 'ended', first.event.subject]])
    t.match(
      (await claim(store, noon + 10 * minute)).map(({ id, attempt }) => ({ id, attempt })),
      [{ id: second.id, attempt: 2 }, { attempt: 2 }],
      'the lease of the third has ended meanwhile',
    )
    t.match(await store.notifications.list({ limit: 10, receiver: 'crm', state: 'delivered' }), [
      { id: first.id, attempts: 1, status: 204, endedAt: noon, messageId: first.event.messageId },
    ])
    t.match((await store.notifications.list({ limit: 10, receiver: 'crm' })).length, 3)
  })

  t.test('an attempt whose claim has ended no longer decides, unless it has delivered', async (t) => {
    const store = await openStore(t)
    await begin(store)
    await dispatch(store)
    const [early] = await claim(store)
    const [late] = await claim(store, noon + minute)
    if (early === undefined || late === undefined) return t.fail('it is claimed twice')
    t.equal(late.attempt, 2)
    await store.notifications.retryAt(early, noon + hour, { status: null, reason: 'timeout' })
    await store.notifications.end(early, 'failed', { status: null, reason: 'timeout' }, noon)
    t.match(await store.notifications.list({ limit: 1 }), [{ state: 'waiting', dueAt: noon + 2 * minute }])
    await store.notifications.end(early, 'delivered', { status: 200, reason: null }, noon)
    await store.notifications.end(late, 'failed', { status: 500, reason: 'HTTP 500' }, noon)
    t.match(await store.notifications.list({ limit: 1 }), [{ state: 'delivered' }])
  })

  t.test('only the named kinds are claimed', async (t) => {
    const store = await openStore(t)
    await begin(store)
    await begin(store, { kind: 'ledger_mismatch', subject: 'ledger', text: '1 mismatch' })
    await dispatch(store)
    t.same(describe(await claim(store, noon, { kinds: ['ledger_mismatch'] })), [['ledger_mismatch', 'began', 'ledger']])
    t.equal((await claim(store, noon, { limit: 1 })).length, 1)
  })

  t.test('failed deliveries are delivered again, by id or by receiver', async (t) => {
    const store = await openStore(t)
    await begin(store)
    await dispatch(store)
    const [claimed] = await claim(store)
    if (claimed === undefined) return t.fail('it is claimed')
    await store.notifications.end(claimed, 'failed', { status: 500, reason: 'HTTP 500' }, noon)
    t.equal((await claim(store, noon + day)).length, 0)
    t.equal(await store.notifications.redeliver({ receiver: 'crm', state: 'failed' }, noon + day), 1)
    const [again] = await claim(store, noon + day)
    t.match(again, { id: claimed.id, attempt: 1, createdAt: noon + day, event: { messageId: claimed.event.messageId } })
    t.equal(await store.notifications.redeliver({ ids: [claimed.id, 9_999] }, noon + day), 1)
    t.equal(await store.notifications.redeliver({ ids: [] }, noon + day), 0)
  })

  t.test('a receiver that was switched off keeps what waits for it', async (t) => {
    const store = await openStore(t)
    await announce(store, 'crm')
    await store.notifications.setFailingSince('crm', noon)
    await store.notifications.setFailingSince('crm', noon + hour)
    t.same(await store.notifications.listReceivers(), [{ name: 'crm', failingSince: noon, offSince: null }])
    t.equal(await store.notifications.switchOff('crm', noon + day), true)
    t.equal(await store.notifications.switchOff('crm', noon + day), false)
    await announce(store, 'crm')
    t.match(await store.notifications.listReceivers(), [{ offSince: noon + day }])
    await begin(store)
    await dispatch(store)
    await claim(store)
    t.equal(await store.notifications.switchOn('crm', noon + 1), true)
    t.equal(await store.notifications.switchOn('crm', noon + 1), false)
    t.same(await store.notifications.listReceivers(), [{ name: 'crm', failingSince: null, offSince: null }])
    t.equal((await claim(store, noon + 1)).length, 1, 'it is due at once')
  })

  t.test('what waits and what is logged is bounded', async (t) => {
    const store = await openStore(t)
    await announce(store, 'crm')
    const conditions = Array.from({ length: maxWaiting + 2 }, (_, index): Condition => ({
      ...upstreamDown,
      subject: `main/model-${index}`,
    }))
    await store.notifications.recordIncidents({ began: conditions, ended: [] }, nextMessageId, noon)
    while ((await store.notifications.dispatch({ limit: 7, maxWaiting, findReceivers: () => ['crm'], now: noon })) > 0);
    t.equal((await store.notifications.countWaiting()).get('crm'), maxWaiting)
    t.match(await store.notifications.list({ limit: 9, state: 'failed' }), [
      { subject: `main/model-${maxWaiting + 1}`, reason: 'too many deliveries were waiting' },
      { subject: `main/model-${maxWaiting}` },
    ])
    await store.notifications.prune({ before: noon + 1, maxEvents: 1, unseenSince: noon })
    t.equal((await store.notifications.list({ limit: 1, state: 'failed' })).length, 0, 'old events are deleted')
    t.equal((await store.notifications.countWaiting()).get('crm'), maxWaiting, 'those that wait are not')
    await store.notifications.reportNode({ name: 'node', host: 'host', seenAt: noon, facts: '{}' })
    await store.notifications.prune({ before: noon, maxEvents: 3, unseenSince: noon + 1 })
    t.same(await store.notifications.listReceivers(), [], 'a receiver that no node announces is deleted')
    t.same(await store.notifications.listNodes(), [])
    t.equal((await store.notifications.countWaiting()).size, 0)
    t.equal((await store.notifications.list({ limit: 100 })).length, 3)
  })

  t.test('a deleted account leaves no event', async (t) => {
    const store = await openStore(t)
    await announce(store, 'crm')
    const account = await addAccount(store)
    await dispatch(store)
    t.equal(await store.accounts.erase(account, noon), true)
    t.same(await store.notifications.list({ limit: 10 }), [])
    t.equal(account, toAccountId(1))
  })
}
