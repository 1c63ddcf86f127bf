/** Notifications of a running gateway: members' events, a real fault of an upstream, reload, the operator's commands, a restart. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { Webhook } from 'standardwebhooks'
import { describePlugins } from '../../../../src/server/reload/describe-plugins.ts'
import { ScriptedReceiver } from '../../notifications/scripted-receiver.ts'
import { minuteMs, webhookSecret } from '../../notifications/test-notifier.ts'
import { createExactPlans, shortTurn } from '../../../support/gateway/exact-plans.ts'
import { createMovableClock } from '../../../support/gateway/movable-clock.ts'
import { createOperatorCli } from '../../../support/gateway/operator-cli.ts'
import { createTemporaryFolder, startGateway, waitUntil } from '../../../support/gateway/test-gateway.ts'
import type { TestGateway } from '../../../support/gateway/test-gateway.ts'
import { startServerProcess, writeTestConfig } from '../../../support/processes/server-process.ts'

/** What the jobs do every few seconds. */
async function runJobs({ gateway: { notifier } }: TestGateway): Promise<void> {
  await notifier.observe()
  await notifier.review()
  await notifier.deliver(new AbortController().signal)
  await notifier.waitUntilIdle()
}

function readTypes(receiver: ScriptedReceiver): string[] {
  return receiver.taken.map(({ body }) => (JSON.parse(body) as { type: string }).type)
}

const toWebhook = ({ url }: ScriptedReceiver) => ({ url: `${url}/hook`, secret: webhookSecret, allowPrivate: true })
const toChat = ({ url }: ScriptedReceiver) => ({ kind: 'slack' as const, url: `${url}/services/chat-key`, allowPrivate: true })

t.test('a program gets signed events of members, also of changes that a command makes', async (t) => {
  const program = await ScriptedReceiver.start(t)
  const notifications = { webhooks: { crm: toWebhook(program) } }
  const g = await startGateway(t, { notifications, plans: createExactPlans(1_000) })
  const { id, email, token } = await g.createMember('twenty')
  for (;;) {
    const answer = await g.chat(token, shortTurn)
    await answer.text()
    if (answer.status !== 200) break
  }
  const operate = createOperatorCli(t, g.config.store.dataDir, { notifications })
  t.match(await operate('account', 'set-plan', id, '--plan', 'pro'), { code: 0 })
  await g.waitUntilSettled()
  for (let step = 0; step < 5; step += 1) await runJobs(g)
  const key = new Webhook(webhookSecret)
  for (const { headers, body } of program.taken) key.verify(body, headers as Record<string, string>)
  const types = readTypes(program)
  t.equal(types[0], 'account.created')
  t.ok(types.includes('pool.level_reached'), types.join())
  t.equal(types.at(-1), 'account.plan_changed')
  const bodies = program.taken.map(({ body }) => body).join('\n')
  t.match(bodies, id)
  t.notMatch(bodies, email, 'no address of a member')
  t.match(await g.scrapeMetrics(), /svc_notifications_total\{receiver="crm",outcome="delivered"\} [3-9]/)
  t.match(await g.scrapeMetrics(), /svc_notifications_waiting\{receiver="crm"\} 0/)
})

t.test('an upstream that fails and works again is reported to people by chat and mail', async (t) => {
  const people = await ScriptedReceiver.start(t)
  const { clock, advance } = createMovableClock()
  const g = await startGateway(
    t,
    {
      upstreams: { main: { restAfterFailures: 2 } },
      notifications: {
        people: { chat: toChat(people), boss: { kind: 'mail', to: 'boss@example.com', events: ['upstream_down'] } },
        rules: { upstreamDownMs: 0 },
      },
    },
    { clock },
  )
  const { token } = await g.createMember()
  g.demo.script(() => ({ status: 503 }))
  await waitUntil(async () => {
    await (await g.chat(token)).text()
    return /svc_upstream_breaker_state\{[^}]*\} 2/.test(await g.scrapeMetrics())
  }, 'the breaker to open')
  await runJobs(g)
  t.match(
    people.taken.map(({ body }) => body),
    [/svc: an upstream is down/],
  )
  t.match(await g.scrapeMetrics(), /svc_incidents_open\{kind="upstream_down"\} 1/)
  g.demo.script(() => ({}))
  await waitUntil(async () => {
    advance(5_000)
    await (await g.chat(token)).text()
    return !/svc_upstream_breaker_state\{[^}]*\} [12]/.test(await g.scrapeMetrics())
  }, 'the breaker to close')
  // A process that has just started does not judge what was open.
  advance(6 * minuteMs)
  await runJobs(g)
  t.match(
    people.taken.map(({ body }) => body),
    [/svc: an upstream is down/, /svc: an upstream is up again/],
  )
  const log = g.log.join('')
  t.match(log, /an incident began: The upstream target/)
  t.notMatch(log, /chat-key|boss@example\.com/, 'no address and no key is logged')
  const outbox = join(g.config.store.dataDir, 'outbox')
  const letters = readdirSync(outbox).map((name) => readFileSync(join(outbox, name), 'utf8'))
  t.match(
    letters.filter((letter) => letter.includes('boss@example.com')),
    [/Subject: svc: an upstream is/, /Subject: svc: an upstream is/],
  )
})

t.test('a reload takes changed receivers, and refuses a template that is not JSON', async (t) => {
  const [before, after] = [await ScriptedReceiver.start(t), await ScriptedReceiver.start(t)]
  const g = await startGateway(t, { notifications: { webhooks: { crm: toWebhook(before) } } })
  await g.createAccount()
  await runJobs(g)
  t.same(readTypes(before), ['account.created'])
  const reload = (notifications: object) => {
    const { plugins, ...values } = g.config
    const changed = { ...values, notifications: { ...values.notifications, ...notifications } }
    return g.gateway.reload(async () => structuredClone({ values: changed, plugins: describePlugins(plugins) }) as never)
  }
  const webhook = g.config.notifications.webhooks['crm']
  t.match(await reload({ webhooks: { crm: { ...webhook, url: `${after.url}/new` } } }), { ok: true, changed: ['notifications'] })
  await g.createAccount()
  await runJobs(g)
  t.equal(before.count, 1)
  t.same(readTypes(after), ['account.created'])
  const person = { ...baseReceiver, kind: 'template', url: 'https://chat.example.com/', body: '{' }
  t.match(await reload({ people: { ops: person } }), { ok: false, faults: [/notifications\.people\.ops\.body is not JSON/] })
  await g.createAccount()
  await runJobs(g)
  t.equal(after.count, 2, 'and everything stays as it was')
})

const baseReceiver = {
  to: null,
  url: null,
  secret: null,
  token: null,
  chatId: null,
  topic: null,
  body: null,
  headers: {},
  events: 'all',
  quietHours: null,
  allowPrivate: false,
}

t.test('commands try receivers, show what failed and deliver it again; doctor names the failure', async (t) => {
  const [program, people] = [await ScriptedReceiver.start(t), await ScriptedReceiver.start(t)]
  const gone = await ScriptedReceiver.start(t)
  await gone.stop()
  const notifications = { webhooks: { crm: toWebhook(program) }, people: { chat: toChat(people) } }
  const g = await startGateway(t, { notifications })
  const operate = createOperatorCli(t, g.config.store.dataDir, { notifications })
  t.match(await operate('notify', 'test'), { code: 0, stdout: /ok +chat +took the test message[^]*ok +crm/ })
  t.match(JSON.parse(program.taken[0]?.body ?? ''), { type: 'test' })
  t.match(people.taken[0]?.body, /a test of this receiver/)
  people.behave = () => 403
  const failed = await operate('notify', 'test', 'chat', '--json')
  t.equal(failed.code, 1)
  t.match(JSON.parse(failed.stdout), { ok: false, results: [{ receiver: 'chat', status: 403, reason: 'HTTP 403' }] })
  t.match(await operate('notify', 'test', 'none'), { code: 1, stderr: "There is no receiver 'none'. Receivers: chat, crm." })

  program.behave = () => 500
  const { id } = await g.createAccount()
  await runJobs(g)
  const log = JSON.parse((await operate('notify', 'log', '--json')).stdout) as { data: { id: number; message_id: string }[] }
  t.match(log.data, [
    { receiver: 'crm', kind: 'account_created', account: id, state: 'waiting', status: 500, reason: 'HTTP 500' },
  ])
  t.match((await operate('notify', 'log', '--receiver', 'crm')).stdout, /account_created[^]*waiting until[^]*HTTP 500/)
  t.match(await operate('notify', 'log', '--receiver', 'cmr'), { code: 1, stderr: /There is no receiver 'cmr'/ })
  t.match(await operate('notify', 'log', '--receiver', 'chat', '--state', 'failed'), { code: 0 })
  t.match(await operate('notify', 'log', '--state', 'lost'), { code: 1, stderr: /--state must be one of/ })
  t.match((await operate('notify', 'list')).stdout, /crm +webhook[^]*No incident is open/)
  t.match((await operate('doctor')).stdout, /!! +notifications +crm has taken none for/)

  const [delivery] = log.data
  program.behave = () => 204
  t.match(await operate('notify', 'redeliver'), { code: 1 })
  t.match(await operate('notify', 'redeliver', String(delivery?.id)), { code: 0, stdout: /1 delivery is made again/ })
  await waitUntil(async () => {
    await runJobs(g)
    // The server's own retry may have come before.
    return program.taken.length >= 2
  }, 'the redelivery')
  t.equal(program.taken.at(-1)?.headers['webhook-id'], delivery?.message_id)
  t.match(await operate('notify', 'redeliver', '999'), { code: 1, stderr: /None of these deliveries exists/ })
  const one = String(delivery?.id)
  t.match(await operate('notify', 'redeliver', one, '999'), {
    code: 1,
    stderr: /Only 1 of these 2 deliveries exists; it is made/,
  })
  t.match(await operate('notify', 'redeliver', one, one), { code: 0, stdout: /1 delivery is made again/ })
  t.match(await operate('notify', 'redeliver', '--receiver', 'cmr'), { code: 1, stderr: /There is no receiver 'cmr'/ })

  await g.services.store.notifications.switchOff('crm', g.services.clock.now())
  t.match((await operate('doctor')).stdout, /!! +notifications +crm is switched off/)
  t.match(await operate('notify', 'enable', 'crm'), { code: 0, stdout: /crm is switched on/ })
  t.match(await operate('notify', 'enable', 'crm'), { code: 0, stdout: /was on already/ })
  t.match(await operate('notify', 'enable', 'nothing'), { code: 1, stderr: /There is no receiver/ })

  const unreachable = createOperatorCli(t, createTemporaryFolder(t), {
    notifications: { webhooks: { crm: { ...toWebhook(program), url: `${gone.url}/hook` } } },
  })
  t.match((await unreachable('doctor')).stdout, /!! +receiver crm +http:\/\/127\.0\.0\.1:\d+ cannot be reached \(ECONNREFUSED\)/)
  t.match(await unreachable('notify', 'test'), { code: 1, stdout: /!! +crm +ECONNREFUSED/ })
  const broken = createOperatorCli(t, createTemporaryFolder(t), {
    notifications: { people: { ops: { kind: 'template', url: 'https://chat.example.com/', body: 'no JSON' } } },
  })
  t.match(await broken('doctor'), { code: 1, stdout: /!! +configuration +.*notifications\.people\.ops\.body is not JSON/ })
  const none = createOperatorCli(t, createTemporaryFolder(t))
  t.match(await none('notify', 'test'), { code: 1, stderr: /No receiver is configured/ })
})

t.test('an event that was not delivered before a stop is delivered after the start', async (t) => {
  const program = await ScriptedReceiver.start(t)
  program.behave = () => 503
  const notifications = { webhooks: { crm: toWebhook(program) } }
  const dataDir = createTemporaryFolder(t)
  const first = await startGateway(t, { notifications, store: { dataDir } })
  await first.createAccount()
  await runJobs(first)
  const { count } = program
  t.ok(count > 0)
  await first.close()
  program.behave = () => 204
  const second = await startGateway(t, { notifications, store: { dataDir } })
  await second.services.store.notifications.redeliver({ receiver: 'crm', state: 'waiting' }, second.services.clock.now())
  await runJobs(second)
  t.same(readTypes(program), ['account.created'])
  t.same((await second.services.store.notifications.listNodes()).length, 1, 'a stopped node leaves no report')
})

t.test('a server with two threads that is killed delivers what waited after it has started again', async (t) => {
  const program = await ScriptedReceiver.start(t)
  program.behave = () => 503
  const notifications = { webhooks: { crm: toWebhook(program) } }
  const folder = createTemporaryFolder(t)
  const environment = {
    WORKERS: '2',
    DATA_DIR: folder,
    METRICS_TOKEN: 'scrape-me',
    GATEWAY_CONFIG: writeTestConfig(folder, `{ ...base, notifications: ${JSON.stringify(notifications)} }`),
  }
  const first = await startServerProcess(t, environment)
  const operate = createOperatorCli(t, folder, { notifications })
  t.match(await operate('account', 'create', '--email', 'ann@example.com'), { code: 0 })
  const readLog = async () => (JSON.parse((await operate('notify', 'log', '--json')).stdout) as { data: object[] }).data
  await waitUntil(async () => JSON.stringify(await readLog()).includes('HTTP 503'), 'a failed attempt', 100)
  await first.terminate('SIGKILL')
  program.behave = () => 204
  const second = await startServerProcess(t, environment)
  await waitUntil(() => program.taken.length > 1, 'the deliveries after the start', 50)
  t.same([...new Set(readTypes(program))], ['account.created'])
  await waitUntil(async () => !JSON.stringify(await readLog()).includes('"waiting"'), 'the log', 100)
  // The first start has created an account too.
  const metrics = async () => (await fetch(`${second.url}/metrics`, { headers: { authorization: 'Bearer scrape-me' } })).text()
  await waitUntil(
    async () => /svc_notifications_waiting\{receiver="crm"\} 0/.test(await metrics()),
    'the metrics of both threads to have the receiver',
    100,
  )
  t.match(
    (await metrics()).split('\n').filter((line) => line.startsWith('svc_notifications_total')),
    [/"delivered".* 2$/],
  )
  t.notMatch(second.log() + first.log(), /whsec_|ann@example\.com/)
  await second.terminate('SIGTERM')
})
