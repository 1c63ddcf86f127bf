/** A flood of requests for emails, from any number of networks, delays no member's code. */
import t from 'tap'
import { getWiderNetworks } from '../../../../src/domain/identity/limits/attempt-limits.ts'
import { startSmtpServer } from '../../../support/servers/smtp-server.ts'
import { startGateway, waitUntil } from '../../../support/gateway/test-gateway.ts'
import type { TestGateway } from '../../../support/gateway/test-gateway.ts'
import { WebsiteClient } from '../../../support/gateway/website-client.ts'

const listen = { trustedProxies: ['127.0.0.1'] }

/** Requests an email from an address of the documentation prefix. */
function requestCode(gateway: TestGateway, email: string, from: string) {
  return new WebsiteClient(gateway, { 'x-forwarded-for': from }).post('auth/otp/start', { email })
}

/** A client in a /48 of its own. */
const networkOf = (index: number) => `2001:db8:${index.toString(16)}::1`

t.test('sends members their codes while strangers request emails to new addresses', async (t) => {
  const { url, received, pendingRecipients, pauseReplies } = await startSmtpServer(t)
  const gateway = await startGateway(t, { listen, mail: { smtpUrl: url } })
  const { id } = await gateway.createMember()
  const email = (await gateway.services.store.accounts.find(id))?.email ?? ''
  const answerAll = pauseReplies()
  const statuses = new Map<number, number>()
  for (let network = 1; network <= 20; network++) {
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) => requestCode(gateway, `new${network}-${i}@example.com`, networkOf(network))),
    )
    for (const { status } of answers) statuses.set(status, (statuses.get(status) ?? 0) + 1)
  }
  t.same(
    [...statuses],
    [
      [200, 300],
      [503, 100],
    ],
    'the budget of an hour, and no word of an email that was not queued',
  )
  const member = await requestCode(gateway, email, networkOf(99))
  const stranger = await requestCode(gateway, 'another@example.com', networkOf(98))
  t.equal(member.status, stranger.status)
  t.match(member.body.message, 'If this address has an account, its email was sent')
  t.equal(member.body.message, stranger.body.message, 'the answer does not reveal which address has an account')
  t.ok(Number(stranger.headers.get('retry-after')) > 3_000)
  await waitUntil(() => pendingRecipients.includes(email), 'the member’s code to be sent before the strangers’ emails')
  answerAll()
  await waitUntil(() => received.length === 301, 'all emails to be sent')
})

t.test('emails that lead to a sign-in use up nothing of the budget for new addresses', async (t) => {
  const attempts = { 'code-to-new-addresses': { times: 2, withinMs: 3_600_000 } }
  const gateway = await startGateway(t, { listen, limits: { attempts } })
  for (let i = 0; i < 4; i++)
    t.equal((await new WebsiteClient(gateway, { 'x-forwarded-for': networkOf(i) }).signIn(`reader${i}@example.com`)).status, 200)
})

t.test('a known device is answered as always while new addresses are paused', async (t) => {
  const attempts = { 'code-to-new-addresses': { times: 1, withinMs: 3_600_000 }, 'code-resend': { times: 9, withinMs: 1 } }
  const gateway = await startGateway(t, { listen, limits: { attempts } })
  const browser = new WebsiteClient(gateway)
  await browser.signIn('owner@example.com')
  t.equal((await requestCode(gateway, 'one@example.com', networkOf(1))).status, 200)
  t.equal((await requestCode(gateway, 'two@example.com', networkOf(2))).status, 503)
  t.equal((await browser.post('auth/otp/start', { email: 'owner@example.com' })).status, 200)
})

t.test('answers 503 if no code can be queued, whichever address it is for', async (t) => {
  const { url, pauseReplies } = await startSmtpServer(t)
  const many = { times: 10_000, withinMs: 3_600_000 }
  const attempts = {
    'code-by-network': many,
    'code-by-network-and-address': many,
    'code-by-address': many,
    'code-resend': { times: 10_000, withinMs: 1 },
  }
  const gateway = await startGateway(t, { listen, mail: { smtpUrl: url }, limits: { attempts } })
  const emails: string[] = []
  for (let i = 0; i < 51; i++) emails.push((await gateway.createAccount()).email)
  const answerAll = pauseReplies()
  const statuses: number[] = []
  for (let round = 0; round < 42; round++)
    statuses.push(
      ...(await Promise.all(
        Array.from({ length: 24 }, (_, i) =>
          requestCode(gateway, emails[(24 * round + i) % emails.length] ?? '', networkOf(1)).then(({ status }) => status),
        ),
      )),
    )
  t.equal(statuses.filter((status) => status === 200).length, 1_000, 'as many as may wait, with those being sent')
  t.equal(statuses.filter((status) => status === 503).length, 8)
  const refused = await requestCode(gateway, 'stranger@example.com', networkOf(2))
  t.match(refused, { status: 503, body: { code: 'temporarily_unavailable', message: /Emails cannot be sent/ } })
  t.equal(refused.headers.get('retry-after'), '60')
  answerAll()
})

t.test('counts the clients of one /56 and one /48 together', async (t) => {
  const gateway = await startGateway(t, { listen })
  const statuses = await Promise.all(
    Array.from({ length: 7 * 20 }, (_, i) =>
      requestCode(gateway, `a${i}@example.com`, `2001:db8:1:1${(i % 7).toString(16).padStart(2, '0')}::1`).then(
        ({ status }) => status,
      ),
    ),
  )
  t.equal(statuses.filter((status) => status === 200).length, 80, 'four times the limit of a /64')
  t.equal(statuses.filter((status) => status === 429).length, 60)
})

t.test('derives the wider prefixes of a network', async (t) => {
  t.same(getWiderNetworks('2001:db8:a:1234::/64'), [
    { prefix: '2001:db8:a:1200::/56', factor: 4 },
    { prefix: '2001:db8:a::/48', factor: 16 },
  ])
  t.same(getWiderNetworks('203.0.113.9'), [])
})

t.test('bounds the decisions and the audit records of one account', async (t) => {
  const attempts = {
    'device-decision-by-account': { times: 3, withinMs: 3_600_000 },
    'device-start': { times: 100, withinMs: 3_600_000 },
    'audit-by-account': { times: 5, withinMs: 3_600_000 },
  }
  const gateway = await startGateway(t, { listen, limits: { attempts } })
  const browser = new WebsiteClient(gateway)
  await browser.signIn('owner@example.com')
  const statuses: number[] = []
  for (let i = 0; i < 5; i++) {
    const started = await new WebsiteClient(gateway, {}).post('auth/device/start', { client: 'svc-cli' })
    statuses.push((await browser.post('auth/device/approve', { user_code: started.body.user_code })).status)
  }
  t.same(statuses, [200, 200, 200, 429, 429])
  for (let i = 0; i < 5; i++)
    await new WebsiteClient(gateway, { 'x-forwarded-for': `203.0.113.${i}` }).signIn('owner@example.com')
  const account = (await gateway.services.store.accounts.find('owner@example.com'))?.id ?? ''
  const records = await gateway.services.store.audit.list({ account, limit: 100 })
  t.equal(records.length, 5)
})
