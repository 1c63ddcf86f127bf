/** Which settings of notifications are refused, and with which sentence. */
import t from 'tap'
import { checkConfig } from '../../../../src/config/config.ts'
import { collectSecrets } from '../../../../src/config/secrets.ts'
import shipped from '../../../../gateway.config.ts'
const webhookSecret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`

const listen = { listen: { host: '127.0.0.1', port: 8787 } }
const url = 'https://chat.example.com/hook/key-of-the-chat'
const slack = { kind: 'slack', url }
const webhook = { url: 'https://crm.example.com/hook?key=secret-key', secret: webhookSecret }

const refused: readonly (readonly [what: string, notifications: object, sentence: RegExp])[] = [
  ['mail without an address', { people: { ops: { kind: 'mail' } } }, /people\.ops\.to is needed for the kind 'mail'/],
  ['mail to two addresses', { people: { ops: { kind: 'mail', to: 'a@example.com, b@example.com' } } }, /to must be one email/],
  ['a chat without a URL', { people: { ops: { kind: 'feishu' } } }, /people\.ops\.url is needed/],
  ['telegram without a chat', { people: { ops: { kind: 'telegram', token: '1:a' } } }, /chatId is needed/],
  ['ntfy without a topic', { people: { ops: { kind: 'ntfy', url } } }, /topic is needed/],
  ['a key that has no effect', { people: { ops: { ...slack, topic: 'x' } } }, /topic could never take effect: the kind 'slack'/],
  ['headers of a chat', { people: { ops: { ...slack, headers: { a: 'b' } } } }, /headers could never take effect/],
  [
    'a header that cannot be sent',
    { people: { ops: { kind: 'template', url, body: {}, headers: { 'a b': 'c' } } } },
    /no valid header/,
  ],
  ['a template that is not JSON', { people: { ops: { kind: 'template', url, body: '{"text": {{text}}}' } } }, /body is not JSON/],
  [
    'an unknown field',
    { people: { ops: { kind: 'template', url, body: { a: '{{txt}}' } } } },
    /there is no \{\{txt\}\}; there are/,
  ],
  ['a token that cannot be sent', { people: { ops: { kind: 'ntfy', url, topic: 'x', token: 'tk\n' } } }, /token has a character/],
  ['plain http', { people: { ops: { kind: 'slack', url: 'http://chat.example.com/x' } } }, /plain http to chat\.example\.com/],
  [
    'plain http although private is allowed',
    { people: { ops: { kind: 'slack', url: 'http://chat.example.com/x', allowPrivate: true } } },
    /plain http/,
  ],
  [
    'a private address',
    { webhooks: { crm: { ...webhook, url: 'https://10.0.0.7/hook' } } },
    /10\.0\.0\.7 is an address of a private network/,
  ],
  ['a loopback address', { webhooks: { crm: { ...webhook, url: 'http://localhost:9/hook' } } }, /allowPrivate: true/],
  ['a password in the URL', { webhooks: { crm: { ...webhook, url: 'https://a:b@crm.example.com/' } } }, /no user and password/],
  ['a short secret', { webhooks: { crm: { ...webhook, secret: 'whsec_c2hvcnQ=' } } }, /secret must be whsec_ and 24 to 64 bytes/],
  [
    'a secret that is no base64',
    { webhooks: { crm: { ...webhook, previousSecret: 'not base64 at all, but long enough' } } },
    /previousSecret must be/,
  ],
  ['a name used twice', { people: { one: slack }, webhooks: { one: webhook } }, /a name of its own/],
  ['an unknown incident', { people: { ops: { ...slack, events: ['upstream_gone'] } } }, /people\.ops\.events/],
  ['a member event to people', { people: { ops: { ...slack, events: ['account_created'] } } }, /people\.ops\.events/],
  ['a wrong time of day', { people: { ops: { ...slack, quietHours: { from: '24:00', to: '7:00' } } } }, /is no time of day/],
  ['an unknown key', { people: { ops: { ...slack, quiet: 1 } } }, /unknown key 'quiet'/],
]

for (const [what, notifications, sentence] of refused)
  t.test(`refuses ${what}`, async (t) => {
    const message = (() => {
      try {
        checkConfig({ ...shipped, ...listen, notifications })
        return ''
      } catch (error) {
        return (error as Error).message
      }
    })()
    t.match(message, sentence)
    t.notMatch(message, /key-of-the-chat|secret-key|whsec_A/, 'no secret is in the sentence')
  })

t.test('accepts each kind of receiver', async (t) => {
  const config = checkConfig({
    ...shipped,
    ...listen,
    notifications: {
      people: {
        mail: { kind: 'mail', to: 'ops@example.com', quietHours: { from: '22:00', to: '07:00' } },
        slack,
        feishu: { kind: 'feishu', url, secret: 's' },
        wecom: { kind: 'wecom', url },
        dingtalk: { kind: 'dingtalk', url, secret: 's' },
        telegram: { kind: 'telegram', token: '1:a', chatId: '@ops' },
        discord: { kind: 'discord', url },
        ntfy: { kind: 'ntfy', url: 'http://10.1.2.3:8080', topic: 'alarms', allowPrivate: true },
        other: { kind: 'template', url, body: { text: '{{title}}' }, events: ['ledger_mismatch'] },
      },
      webhooks: { crm: webhook },
    },
  })
  t.equal(Object.keys(config.notifications.people).length, 9)
  const secrets = collectSecrets(config)
  for (const secret of [url, webhook.url, webhookSecret]) t.ok(secrets.includes(secret), 'secrets are masked in the log')
})
