/** How events reach receivers that fail, delay and restart; run on both stores. */
import type { Test } from 'tap'
import { Webhook } from 'standardwebhooks'
import type { Condition } from '../../../src/domain/notification.ts'
import type { Store } from '../../../src/domain/store.ts'
import { maxDeliveryAgeMs } from '../../../src/notifications/retry-schedule.ts'
import { addAccount } from '../../support/store/contract/store-contract.ts'
import { ScriptedReceiver } from './scripted-receiver.ts'
import type { ReceivedRequest } from './scripted-receiver.ts'
import { createTestNotifier, hourMs, minuteMs, webhookSecret } from './test-notifier.ts'
import type { TestNotifier } from './test-notifier.ts'

type OpenStore = (t: Test) => Promise<Store>

const webhook = (receiver: ScriptedReceiver) => ({ url: `${receiver.url}/hook`, secret: webhookSecret, allowPrivate: true })
const chat = (receiver: ScriptedReceiver) => ({ kind: 'slack' as const, url: `${receiver.url}/chat`, allowPrivate: true })
const upstreamDown = (subject: string): Condition => ({ kind: 'upstream_down', subject, text: `${subject} fails` })
const readId = ({ headers }: ReceivedRequest): string => String(headers['webhook-id'])

async function recordIncidents(store: Store, subjects: readonly string[], at: number): Promise<void> {
  let ids = 0
  const nextId = () => `msg_${at}_${++ids}`
  await store.notifications.recordIncidents({ began: subjects.map(upstreamDown), ended: [] }, nextId, at)
  const open = await store.notifications.listIncidents()
  await store.notifications.recordIncidents({ began: [], ended: open }, nextId, at)
}

/** Delivers until nothing waits, at steps of the clock. */
async function deliverAll(
  { deliver, clock }: TestNotifier,
  store: Store,
  stepMs: number,
  onStep = async () => {},
): Promise<void> {
  for (let steps = 0; ; steps += 1) {
    await deliver()
    if ((await store.notifications.countWaiting()).size === 0) return
    if (steps > 5_000) throw new Error('deliveries still wait')
    clock.at += stepMs
    await onStep()
  }
}

export function testDelivery(t: Test, open: OpenStore): void {
  t.test('200 events reach receivers that fail, delay and restart', async (t) => {
    const store = await open(t)
    const [program, people] = [await ScriptedReceiver.start(t), await ScriptedReceiver.start(t)]
    const test = createTestNotifier(t, store.notifications, {
      people: { chat: chat(people) },
      webhooks: { crm: webhook(program) },
    })
    for (const receiver of [program, people])
      receiver.behave = (_request, count) => (count % 11 === 0 ? 500 : count % 13 === 0 ? 'lost' : count % 5 === 0 ? 'held' : 200)
    const subjects = Array.from({ length: 100 }, (_, index) => `main/model-${index}`)
    await test.notifier.observe()
    await recordIncidents(store, subjects, test.clock.at)
    let steps = 0
    const releasing = setInterval(() => [program, people].forEach((receiver) => receiver.release()), 5)
    t.teardown(() => clearInterval(releasing))
    await deliverAll(test, store, minuteMs, async () => {
      steps += 1
      if (steps % 4 === 1) await Promise.all([program.stop(), people.stop()])
      if (steps % 4 === 2) await Promise.all([program.start(), people.start()])
    })

    const ids = new Map<string, Set<string>>()
    for (const request of program.taken) {
      const { type, data } = JSON.parse(request.body) as { type: string; data: { subject: string } }
      const event = `${type} ${data.subject}`
      ids.set(event, (ids.get(event) ?? new Set()).add(readId(request)))
    }
    t.equal(ids.size, 200, 'the program got each event at least once')
    t.ok(
      [...ids.values()].every((each) => each.size === 1),
      'with the same webhook-id each time',
    )
    t.equal(new Set([...ids.values()].flatMap((each) => [...each])).size, 200, 'which no other event has')

    const counts = new Map<string, number>()
    for (const { body } of people.taken) counts.set(body, (counts.get(body) ?? 0) + 1)
    t.equal(counts.size, 200, 'people got each event')
    const lost = new Map<string, number>()
    for (const { body } of people.lost) lost.set(body, (lost.get(body) ?? 0) + 1)
    t.same(
      [...counts].filter(([body, count]) => count !== 1 + (lost.get(body) ?? 0)),
      [],
      'and again only where the answer was lost',
    )
    t.ok(people.lost.length > 0 && program.lost.length > 0, 'answers were lost')
    const order = program.taken.map(({ body }) => JSON.parse(body) as { type: string; data: { subject: string } })
    const isEndedFirst = (subject: string) =>
      order.find(({ data }) => data.subject === subject)?.type === 'incident.upstream_down.ended'
    t.same(subjects.filter(isEndedFirst), [], 'the end of an incident never comes before its beginning')
    t.equal(test.counted['crm delivered'], 200)
    t.equal(test.counted['crm failed'], undefined)
    t.match(test.logLines.map(({ text }) => text).join('\n'), /takes notifications again/)
    t.notMatch(JSON.stringify(test.logLines), /127\.0\.0\.1|whsec_|\/hook|\/chat/, 'no address and no secret is logged')
    const key = new Webhook(webhookSecret)
    for (const { headers, body } of program.taken) {
      const at = new Date(Number(headers['webhook-timestamp']) * 1000)
      if (headers['webhook-signature'] !== key.sign(String(headers['webhook-id']), at, body)) t.fail('a signature is wrong')
    }
  })

  t.test('a delivery is tried for three days, and then has failed', async (t) => {
    const store = await open(t)
    const receiver = await ScriptedReceiver.start(t)
    // Other events are taken, so that the receiver as a whole does not fail.
    receiver.behave = ({ body }) => (body.includes('main/refused') ? 500 : 204)
    const test = createTestNotifier(t, store.notifications, { webhooks: { crm: webhook(receiver) } })
    const { clock } = test
    await test.notifier.observe()
    const beganAt = clock.at
    const record = (subject: string, id: string) =>
      store.notifications.recordIncidents({ began: [upstreamDown(subject)], ended: [] }, () => id, clock.at)
    await record('main/refused', 'msg_refused')
    for (let count = 0; clock.at <= beganAt + maxDeliveryAgeMs + hourMs; clock.at += 10 * minuteMs) {
      if ((clock.at - beganAt) % hourMs === 0) await record(`main/taken-${++count}`, `msg_taken_${count}`)
      await test.deliver()
    }
    t.match(await store.notifications.list({ limit: 1, state: 'failed' }), [
      { messageId: 'msg_refused', status: 500, reason: 'HTTP 500', endedAt: beganAt + maxDeliveryAgeMs },
    ])
    const [failed] = await store.notifications.list({ limit: 1, state: 'failed' })
    t.ok((failed?.attempts ?? 0) >= 12, `${failed?.attempts} attempts`)
    t.equal(test.counted['crm failed'], 1)
    t.ok(test.logLines.some(({ level, fields }) => level === 'error' && fields['status'] === 500))
    t.equal((await store.notifications.listReceivers())[0]?.offSince, null, 'the receiver takes other events')

    receiver.behave = () => 204
    t.equal(await store.notifications.redeliver({ receiver: 'crm', state: 'failed' }, clock.at), 1)
    await test.deliver()
    t.equal(receiver.taken.filter((request) => readId(request) === 'msg_refused').length, 1, 'a redelivery has the same id')
  })

  t.test('later events of an account wait for the retries of the first hour alone', async (t) => {
    const store = await open(t)
    const receiver = await ScriptedReceiver.start(t)
    receiver.behave = ({ body }) => (body.includes('account.created') ? 503 : 204)
    const test = createTestNotifier(t, store.notifications, { webhooks: { crm: webhook(receiver) } })
    const { clock } = test
    await test.notifier.observe()
    const [one, other] = [await addAccount(store, 1), await addAccount(store, 2)]
    await store.accounts.setPlan(one, 'pro')
    const takenPlanChanges = () =>
      receiver.taken.filter(({ body }) => body.includes('account.plan_changed')).map(({ body }) => body)
    for (const end = clock.at + hourMs; clock.at < end; clock.at += minuteMs) {
      await test.deliver()
      t.same(takenPlanChanges(), [], 'the change waits for the creation')
    }
    clock.at += minuteMs
    await test.deliver()
    t.equal(takenPlanChanges().length, 1, 'after an hour it does not')
    t.match(JSON.parse(takenPlanChanges()[0] ?? ''), { data: { account: one, from: 'free', to: 'pro', until: null } })
    receiver.behave = () => 204
    for (const end = clock.at + 3 * hourMs; clock.at < end; clock.at += 5 * minuteMs) await test.deliver()
    t.same(
      receiver.taken.map(({ body }) => (JSON.parse(body) as { data: { account: string } }).data.account).toSorted(),
      [one, one, other].toSorted(),
    )
    t.notMatch(JSON.stringify(receiver.taken), /example\.org/, 'no address of a member is sent')
  })

  t.test('a receiver that fails for a day is switched off and reported, and switched on by the operator', async (t) => {
    const store = await open(t)
    const [program, people] = [await ScriptedReceiver.start(t), await ScriptedReceiver.start(t)]
    program.behave = () => 500
    const test = createTestNotifier(t, store.notifications, {
      people: { chat: chat(people) },
      webhooks: { crm: webhook(program) },
    })
    const { clock } = test
    await test.notifier.observe()
    await addAccount(store)
    for (const end = clock.at + 26 * hourMs; clock.at < end; clock.at += 10 * minuteMs) {
      await test.review()
      await test.deliver()
    }
    t.equal(people.taken.length, 1)
    t.match(people.taken[0]?.body, /a receiver was switched off.*notify enable crm/s)
    t.match(await store.notifications.listReceivers(), [{ name: 'chat' }, { name: 'crm', offSince: Number }])
    const { count } = program
    clock.at += 2 * hourMs
    await test.deliver()
    t.equal(program.count, count, 'it gets no request')

    program.behave = () => 204
    await store.notifications.switchOn('crm', clock.at)
    await test.review()
    await test.deliver()
    t.match(people.taken[1]?.body, /a receiver was switched on again/)
    t.same(
      program.taken.map(({ body }) => (JSON.parse(body) as { type: string }).type).toSorted(),
      ['account.created', 'incident.receiver_off.began', 'incident.receiver_off.ended'],
      'what waited is delivered',
    )
  })

  t.test('a receiver that answers 410 is switched off at once, and not announced as tried again', async (t) => {
    const store = await open(t)
    const program = await ScriptedReceiver.start(t)
    program.behave = () => 410
    const test = createTestNotifier(t, store.notifications, { webhooks: { crm: webhook(program) } })
    await test.notifier.observe()
    await addAccount(store)
    await test.deliver()
    t.same(
      test.logLines.filter(({ fields }) => fields['receiver'] === 'crm').map(({ text }) => text),
      [
        'a receiver of notifications was switched off: it answered that it wants no more (410). Switch it on with: svc-gateway notify enable crm',
      ],
    )
  })

  t.test('a delivery that was claimed by a process that ended is made by the next one', async (t) => {
    const store = await open(t)
    const receiver = await ScriptedReceiver.start(t)
    const first = createTestNotifier(t, store.notifications, { webhooks: { crm: webhook(receiver) } })
    await first.notifier.observe()
    await addAccount(store)
    receiver.behave = () => 'held'
    const abort = new AbortController()
    await first.notifier.deliver(abort.signal)
    while (receiver.count === 0) await new Promise(setImmediate)
    abort.abort()
    await first.notifier.waitUntilIdle()
    receiver.behave = () => 204
    const second = createTestNotifier(t, store.notifications, { webhooks: { crm: webhook(receiver) } }, { at: first.clock.at })
    await second.deliver()
    t.equal(receiver.taken.length, 2)
    t.equal(new Set(receiver.taken.map(readId)).size, 1, 'under the same id')
    t.match(await store.notifications.list({ limit: 5 }), [{ state: 'delivered' }])
  })
}
