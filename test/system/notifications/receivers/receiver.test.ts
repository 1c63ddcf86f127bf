/** What each kind of receiver is sent, and which answers mean that it took it. */
import { createHmac } from 'node:crypto'
import t from 'tap'
import type { Test } from 'tap'
import { Webhook } from 'standardwebhooks'
import type { NotificationEvent } from '../../../../src/domain/notification.ts'
import { ReceiverConnections } from '../../../../src/notifications/receivers/receiver-connections.ts'
import { createReceivers } from '../../../../src/notifications/receivers/receiver.ts'
import { testConfig } from '../../../support/gateway/test-gateway.ts'
import { ScriptedReceiver } from '../scripted-receiver.ts'
import type { Behavior, ReceivedRequest } from '../scripted-receiver.ts'
import { webhookSecret } from '../test-notifier.ts'
import type { NotificationInput } from '../test-notifier.ts'

const at = Date.parse('2026-11-28T12:00:00Z')
const event: NotificationEvent = {
  messageId: 'msg_1',
  kind: 'upstream_down',
  phase: 'began',
  account: null,
  subject: 'main/<model> & co',
  detail: { text: 'The target "main" fails: @everyone \\ \n{{title}}' },
  at,
}
const title = 'svc: an upstream is down'
const text = 'The target "main" fails: @everyone \\ \n{{title}}'

/** Sends an event to the only receiver of the configuration. */
async function send(
  t: Test,
  toNotifications: (url: string) => NotificationInput,
  { behavior = 200 as Behavior, timeoutMs = 60_000, sent = event, now = at } = {},
) {
  const server = await ScriptedReceiver.start(t)
  server.behave = () => behavior
  const connections = new ReceiverConnections()
  t.teardown(() => connections.destroy())
  const deliverMail = async () => 'sent' as const
  const config = testConfig(t, { notifications: toNotifications(server.url) })
  const [receiver] = createReceivers(config, { deliverMail, connections, timeoutMs })
  if (receiver === undefined) throw new Error('there is no receiver')
  const attempt = await receiver.send(sent, { now, signal: new AbortController().signal })
  return { attempt, requests: server.taken, count: server.count, server }
}

const toPerson = (receiver: object) => (url: string) =>
  ({ people: { ops: { url, allowPrivate: true, ...receiver } } }) as unknown as NotificationInput

interface PresetCase {
  readonly kind: string
  readonly settings?: object
  readonly accepted: Behavior
  readonly refused: Behavior
  readonly reason: string
  readonly path?: string
  readonly body: unknown
}

const json = (status: number, body: unknown): Behavior => ({ status, body: JSON.stringify(body) })

const presetCases: readonly PresetCase[] = [
  {
    kind: 'slack',
    accepted: { status: 200, body: 'ok' },
    refused: { status: 404, body: 'no_service' },
    reason: 'HTTP 404',
    body: { text: `${title}\n${text}` },
  },
  {
    kind: 'discord',
    accepted: 204,
    refused: json(429, { retry_after: 1 }),
    reason: 'HTTP 429',
    body: { content: `${title}\n${text}`, allowed_mentions: { parse: [] } },
  },
  {
    kind: 'feishu',
    accepted: json(200, { StatusCode: 0, StatusMessage: 'success', code: 0, data: {}, msg: 'success' }),
    refused: json(200, { code: 19021, msg: 'sign match fail or timestamp is not within one hour from current time' }),
    reason: 'refused with the code 19021',
    body: { msg_type: 'text', content: { text: `${title}\n${text}` } },
  },
  {
    kind: 'wecom',
    accepted: json(200, { errcode: 0, errmsg: 'ok' }),
    refused: json(200, { errcode: 93000, errmsg: 'invalid webhook url, hint: [secret]' }),
    reason: 'refused with the code 93000',
    body: { msgtype: 'text', text: { content: `${title}\n${text}` } },
  },
  {
    kind: 'dingtalk',
    accepted: json(200, { errcode: 0, errmsg: 'ok' }),
    refused: json(200, { errcode: 310000, errmsg: 'sign not match' }),
    reason: 'refused with the code 310000',
    body: { msgtype: 'text', text: { content: `${title}\n${text}` } },
  },
  {
    kind: 'telegram',
    settings: { token: '123:abc', chatId: '-100200' },
    accepted: json(200, { ok: true, result: {} }),
    refused: json(200, { ok: false, error_code: 400, description: 'chat not found' }),
    reason: 'refused with the code 400',
    path: '/bot123:abc/sendMessage',
    body: { chat_id: '-100200', text: `${title}\n${text}`, link_preview_options: { is_disabled: true } },
  },
  {
    kind: 'ntfy',
    settings: { topic: 'alarms', token: 'tk_secret' },
    accepted: json(200, { id: 'x' }),
    refused: json(403, { code: 40301 }),
    reason: 'HTTP 403',
    body: { topic: 'alarms', title, message: text, priority: 4, tags: ['warning'] },
  },
  {
    kind: 'template',
    settings: {
      body: '{"what": "{{title}}", "list": [{"{{text}}": "{{ kind }}/{{phase}} {{subject}} {{time}} {{service}}"}, 5, null]}',
      headers: { 'x-key': 'k' },
    },
    accepted: 202,
    refused: 500,
    reason: 'HTTP 500',
    body: {
      what: title,
      list: [{ '{{text}}': 'upstream_down/began main/<model> & co 2026-11-28T12:00:00.000Z svc' }, 5, null],
    },
  },
]

for (const { kind, settings = {}, accepted, refused, reason, path = '/', body } of presetCases)
  t.test(`${kind} gets its own body, and its answer decides`, async (t) => {
    const { attempt, requests } = await send(t, toPerson({ kind, ...settings }), { behavior: accepted })
    t.match(attempt, { reason: null })
    t.equal(requests[0]?.path, path)
    t.equal(requests[0]?.headers['content-type'], 'application/json')
    const sent = JSON.parse(requests[0]?.body ?? '') as unknown
    const expected = kind === 'slack' ? JSON.parse(JSON.stringify(body).replaceAll('&', '&amp;')) : body
    t.same(sent, expected)
    const failed = await send(t, toPerson({ kind, ...settings }), { behavior: refused })
    t.match(failed.attempt, { reason })
  })

t.test('characters that Slack reads as markup are escaped', async (t) => {
  const detail = { text: '<!channel> & <https://example.com|link>' }
  const { requests } = await send(t, toPerson({ kind: 'slack' }), { sent: { ...event, detail } })
  t.match(requests[0]?.body, '&lt;!channel&gt; &amp; &lt;https://example.com|link&gt;')
})

t.test('robots of Feishu and DingTalk get a signature', async (t) => {
  const feishu = await send(t, toPerson({ kind: 'feishu', secret: 'feishu-secret' }))
  const timestamp = String(at / 1000)
  t.match(JSON.parse(feishu.requests[0]?.body ?? ''), {
    timestamp,
    sign: createHmac('sha256', `${timestamp}\nfeishu-secret`).update('').digest('base64'),
  })
  const dingtalk = await send(t, toPerson({ kind: 'dingtalk', secret: 'SECding' }))
  const url = new URL(dingtalk.requests[0]?.path ?? '', 'http://host')
  t.equal(url.searchParams.get('timestamp'), String(at))
  t.equal(url.searchParams.get('sign'), createHmac('sha256', 'SECding').update(`${at}\nSECding`).digest('base64'))
})

t.test('an access token of ntfy is sent as a header', async (t) => {
  const { requests } = await send(t, toPerson({ kind: 'ntfy', topic: 'alarms', token: 'tk_secret' }))
  t.equal(requests[0]?.headers.authorization, 'Bearer tk_secret')
})

const toWebhook =
  (settings: object = {}) =>
  (url: string) =>
    ({ webhooks: { crm: { url, secret: webhookSecret, allowPrivate: true, ...settings } } }) as NotificationInput

t.test('the official library verifies a webhook, also while the secret is being changed', async (t) => {
  const now = Date.now()
  const previousSecret = Buffer.alloc(24, 3).toString('base64')
  const { requests } = await send(t, toWebhook({ previousSecret }), { now })
  const [{ headers, body } = {} as ReceivedRequest] = requests
  for (const secret of [webhookSecret, previousSecret])
    t.match(new Webhook(secret).verify(body, headers as Record<string, string>), {
      type: 'incident.upstream_down.began',
      timestamp: '2026-11-28T12:00:00.000Z',
      data: { kind: 'upstream_down', subject: 'main/<model> & co', text },
    })
  const other = new Webhook(Buffer.alloc(32, 9).toString('base64'))
  t.throws(() => other.verify(body, headers as Record<string, string>))
  t.throws(() => new Webhook(webhookSecret).verify(`${body} `, headers as Record<string, string>))
  t.equal(headers['webhook-id'], 'msg_1')
})

const memberEvents: readonly [Partial<NotificationEvent>, unknown][] = [
  [
    { kind: 'account_created', detail: { plan: 'free' } },
    { type: 'account.created', data: { account: 'acc_1', plan: 'free' } },
  ],
  [
    { kind: 'plan_changed', detail: { from: 'free', to: 'pro', until: at } },
    { type: 'account.plan_changed', data: { account: 'acc_1', from: 'free', to: 'pro', until: '2026-11-28T12:00:00.000Z' } },
  ],
  [
    {
      kind: 'pool_level',
      detail: { pool: 'fast', window: 'day', level: 80, used: 8, limit: 10, endsAt: at },
    },
    {
      type: 'pool.level_reached',
      data: {
        account: 'acc_1',
        pool: 'fast',
        window: 'day',
        level: 80,
        used: 8,
        limit: 10,
        resets_at: '2026-11-28T12:00:00.000Z',
      },
    },
  ],
]
for (const [change, expected] of memberEvents)
  t.test(`the body of ${change.kind}`, async (t) => {
    const sent = { ...event, phase: 'once' as const, subject: null, account: 'acc_1', ...change }
    const { requests } = await send(t, toWebhook(), { sent })
    t.same(JSON.parse(requests[0]?.body ?? ''), { timestamp: '2026-11-28T12:00:00.000Z', ...(expected as object) })
  })

t.test('a redirect is not followed', async (t) => {
  const target = await ScriptedReceiver.start(t)
  const { attempt } = await send(t, toWebhook(), { behavior: { status: 307, headers: { location: target.url } } })
  t.match(attempt, { status: 307, reason: 'HTTP 307' })
  t.equal(target.count, 0)
})

t.test('an answer that does not come, is endless or means no more is bounded', async (t) => {
  t.match((await send(t, toWebhook(), { behavior: 'held', timeoutMs: 50 })).attempt, {
    status: null,
    reason: 'no answer in time',
  })
  const long = { status: 200, body: 'x'.repeat(1_000_000) }
  t.match((await send(t, toWebhook(), { behavior: long })).attempt, { status: 200, reason: null }, 'only its status counts')
  const { attempt } = await send(t, toPerson({ kind: 'wecom' }), { behavior: long })
  t.match(attempt, { status: 200, reason: 'the answer is not that of this chat program' })
  t.match((await send(t, toWebhook(), { behavior: 410 })).attempt, { isGone: true })
  t.match((await send(t, toWebhook(), { behavior: { status: 429, headers: { 'retry-after': '7' } } })).attempt, {
    retryAfterMs: 7_000,
  })
})

t.test('a failure names no address', async (t) => {
  const server = await ScriptedReceiver.start(t)
  await server.stop()
  const { attempt } = await send(t, () => toWebhook()(server.url))
  t.match(attempt, { status: null, reason: 'ECONNREFUSED' })
})

t.test('a public name that resolves to a private address is refused, unless the receiver allows it', async (t) => {
  const server = await ScriptedReceiver.start(t)
  const port = Number(new URL(server.url).port)
  const privateReason = 'its address is one of a private network; allow it with allowPrivate: true'
  const sendTo = async (receiver: object, address: string, toProgram = false) => {
    const connections = new ReceiverConnections({ resolve: async () => [{ address, family: address.includes(':') ? 6 : 4 }] })
    t.teardown(() => connections.destroy())
    const notifications = (toProgram
      ? { webhooks: { ops: { secret: webhookSecret, ...receiver } } }
      : { people: { ops: receiver } }) as unknown as NotificationInput
    const [one] = createReceivers(testConfig(t, { notifications }), {
      deliverMail: async () => 'sent',
      connections,
      timeoutMs: 60_000,
    })
    return one?.send(event, { now: at, signal: new AbortController().signal })
  }
  const url = `https://hooks.example.com:${port}/`
  for (const address of ['127.0.0.1', '10.0.0.1', '169.254.169.254', '100.64.0.1', '::1', '::ffff:127.0.0.1', 'fd00::1']) {
    t.match(await sendTo({ kind: 'slack', url }, address), { status: null, reason: privateReason }, address)
    t.match(await sendTo({ url }, address, true), { status: null, reason: privateReason }, address)
  }
  t.match(await sendTo({ kind: 'ntfy', url: `https://ntfy.example.com:${port}`, topic: 'a' }, '127.0.0.1'), {
    reason: privateReason,
  })
  t.match(await sendTo({ url: `https://198.18.0.1:${port}/` }, '127.0.0.1', true), { reason: privateReason }, 'a literal address')
  t.match(await sendTo({ url: `${server.url}/`, allowPrivate: true }, '10.0.0.1', true), { status: 200, reason: null })
  t.equal(server.count, 1)
})
