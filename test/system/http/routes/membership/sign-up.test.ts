/** Who may sign up, by each way; existing accounts can always sign in. */
import t from 'tap'
import { unknownReader } from '../../../../../src/domain/identity/reader.ts'
import type { Test } from 'tap'
import { WebsiteClient, parseMagicLink, readEmailsTo, waitForMagicLink } from '../../../../support/gateway/website-client.ts'
import { findFreePort } from '../../../../support/free-port.ts'
import { startGateway, waitUntil } from '../../../../support/gateway/test-gateway.ts'
import type { TestGateway } from '../../../../support/gateway/test-gateway.ts'
import { providerClient, startOpenIdProvider } from '../../../../support/servers/openid-provider.ts'
import { providePostgres } from '../../../../support/servers/postgres/postgres.ts'
import { startSmtpServer } from '../../../../support/servers/smtp-server.ts'

const password = 'violet teapot orbit'

/** Creates accounts as the operator's command does. */
async function createAccount({ services }: TestGateway, email: string): Promise<string> {
  const at = services.clock.now()
  const id = services.ids.next('acc_', at)
  await services.store.accounts.create({ id, email, plan: 'free', passwordHash: null, emailVerified: true, at })
  return id
}

const closed = { status: 403, body: { code: 'sign_up_closed', stage: 'membership', actions: ['contact_operator'] } }

t.test('closed: refuses new accounts and signs existing ones in', async (t) => {
  const gateway = await startGateway(t, { signIn: { signUp: 'closed' } })
  const id = await createAccount(gateway, 'owner@localhost')
  const owner = await new WebsiteClient(gateway).signIn('owner@localhost')
  t.equal(owner.body.account.id, id)

  const stranger = new WebsiteClient(gateway)
  t.match(await stranger.post('auth/sign-up', { email: 'new@example.com', password }), closed)
  t.match(
    await stranger.post('auth/sign-up', { email: 'owner@localhost', password }),
    closed,
    'whether or not the address has an account',
  )
  const unknown = await stranger.post('auth/otp/start', { email: 'new@example.com' })
  const known = await new WebsiteClient(gateway).post('auth/otp/start', { email: 'other@example.com' })
  t.same([unknown.status, unknown.body], [known.status, known.body], 'requesting a code reveals nothing')
  await gateway.services.membership.signIn.requestCode(
    { email: 'owner@localhost', browser: 'another' },
    { ip: '203.0.113.9', network: '203.0.113.9', requestId: 'mbr_x', name: null, deviceTokens: null, reader: unknownReader },
  )
  await waitUntil(() => readEmailsTo(gateway, 'owner@localhost').length === 2, 'the email that is allowed')
  t.same(readEmailsTo(gateway, 'new@example.com'), [], 'an address that could not use an email gets none')
  t.equal(await gateway.services.store.accounts.count(), 1)

  const page = await new WebsiteClient(gateway).get(`${gateway.url}/sign-in`)
  t.match(page.body, 'The operator creates accounts')
  t.notMatch(page.body, 'way=sign-up')
  t.notMatch((await new WebsiteClient(gateway).get(`${gateway.url}/sign-in?way=sign-up`)).body, 'value="sign_up"')
  t.notMatch((await new WebsiteClient(gateway).get(`${gateway.url}/`)).body, 'Start for free')
  t.match(
    (await new WebsiteClient(gateway).get(`${gateway.url}/sign-in`, { 'accept-language': 'zh' })).body,
    '此处不开放自行注册',
  )
})

t.test('five spellings of each mailbox verified at the same moment sign in to one account', async (t) => {
  const gateway = await startGateway(t, { listen: { trustedProxies: ['127.0.0.1'] } })
  await verifySpellingsAtOnce(t, [gateway], (email) => waitForMagicLink(gateway, email))
})

t.test('five spellings of each mailbox verified on two nodes sign in to one account', async (t) => {
  const postgres = await providePostgres(t, async () => {})
  if (postgres === undefined) return
  const url = await postgres.createDatabase(t, { empty: true })
  const mail = await startSmtpServer(t)
  const config = { listen: { trustedProxies: ['127.0.0.1'] }, store: { url }, mail: { smtpUrl: mail.url } }
  const nodes = [await startGateway(t, config), await startGateway(t, config)]
  await verifySpellingsAtOnce(t, nodes, async (email) => {
    const readText = () => mail.received.find(({ to }) => to.includes(email))?.text
    await waitUntil(() => readText() !== undefined, `an email to ${email}`)
    return parseMagicLink(readText() ?? '') ?? ''
  })
})

/** Each spelling signs in by the link of its own email, on one node after the other. */
async function verifySpellingsAtOnce(
  t: Test,
  nodes: readonly TestGateway[],
  waitForLink: (email: string) => Promise<string>,
): Promise<void> {
  const mailboxes = ['ann', 'bob', 'eve', 'tom']
  const spellings = mailboxes.flatMap((name) => [
    `${name}@gmail.com`,
    `${name[0]}.${name.slice(1)}@gmail.com`,
    `${name}+1@gmail.com`,
    `${name.slice(0, 2)}.${name.slice(2)}@googlemail.com`,
    `${name}+2@googlemail.com`,
  ])
  const clients = spellings.map((_, index) => {
    const node = nodes[index % nodes.length] as TestGateway
    return new WebsiteClient(node, { 'x-forwarded-for': `2001:db8:${index}::1` })
  })
  for (const [index, email] of spellings.entries()) await clients[index]?.post('auth/otp/start', { email })
  const links = await Promise.all(spellings.map(waitForLink))
  const answers = await Promise.all(clients.map((client, index) => client.post('auth/magic-link/verify', { link: links[index] })))
  t.same(
    answers.map(({ status }) => status),
    spellings.map(() => 200),
  )
  t.equal(new Set(answers.map(({ body }) => body.account.id)).size, mailboxes.length)
  const { store } = (nodes[0] as TestGateway).services
  t.equal(await store.accounts.count(), mailboxes.length)
  t.equal((await store.audit.list({ event: 'account_created', limit: 50 })).length, mailboxes.length)
}

t.test('by invitation: accepts a member’s code and refuses others', async (t) => {
  const gateway = await startGateway(t, { signIn: { signUp: 'invited' } })
  await createAccount(gateway, 'host@example.com')
  const host = new WebsiteClient(gateway)
  await host.signIn('host@example.com')
  const invite = (await host.get('boost')).body.invite.code
  const guest = new WebsiteClient(gateway)
  for (const wrong of [{}, { invite: 'nobodyhasit' }]) {
    const answer = await guest.post('auth/sign-up', { email: 'guest@example.com', password, ...wrong })
    t.match(answer, { status: 403, body: { code: 'sign_up_closed', message: /invitation/, messageZh: /邀请/ } })
  }
  t.equal((await guest.post('auth/otp/start', { email: 'unasked@example.com' })).status, 200)
  t.equal((await guest.post('auth/otp/start', { email: 'guest@example.com', invite })).status, 200)
  const link = await waitForMagicLink(gateway, 'guest@example.com')
  t.same(readEmailsTo(gateway, 'unasked@example.com'), [])
  t.match(await new WebsiteClient(gateway).post('auth/magic-link/verify', { link }), {
    status: 200,
    body: { created: true, invited: true },
  })
  t.match((await guest.get(`${gateway.url}/sign-in`)).body, 'by invitation only')
})

t.test('by domain: lets the domains and their subdomains sign up, and existing accounts of others sign in', async (t) => {
  const gateway = await startGateway(t, { signIn: { allowedDomains: ['Corp.example'] } })
  await createAccount(gateway, 'ops@elsewhere.example')
  t.equal((await new WebsiteClient(gateway).signIn('ann@corp.example')).body.created, true)
  t.equal((await new WebsiteClient(gateway).signIn('ben@mail.corp.example')).body.created, true)
  t.equal((await new WebsiteClient(gateway).signIn('ops@elsewhere.example')).body.created, false)
  for (const email of ['eve@elsewhere.example', 'eve@notcorp.example', 'eve@corp.example.net']) {
    const answer = await new WebsiteClient(gateway).post('auth/sign-up', { email, password })
    t.match(answer, { status: 403, body: { code: 'sign_up_closed', message: /Corp\.example/, messageZh: /域名/ } }, email)
  }
  t.match((await new WebsiteClient(gateway).get(`${gateway.url}/sign-in`)).body, 'takes an address at: Corp.example')
})

t.test('applies the sign-up rules to providers', async (t) => {
  const port = await findFreePort()
  const people = { anna: { email: 'anna@example.com', email_verified: true } }
  const provider = await startOpenIdProvider(t, people, () => `http://127.0.0.1:${port}/api/membership/auth/oauth/acme/callback`)
  const gateway = await startGateway(t, {
    listen: { port },
    signIn: {
      signUp: 'closed',
      providers: {
        acme: { name: 'Acme', issuer: provider.issuer, clientId: providerClient.id, clientSecret: providerClient.secret },
      },
    },
  })
  const through = async () => {
    const browser = new WebsiteClient(gateway)
    const started = await browser.get('auth/oauth/acme/start')
    return (await browser.get(await provider.signIn(started.headers.get('location') ?? '', 'anna'))).headers.get('location')
  }
  t.equal(await through(), '/sign-in?error=sign_up_closed')
  t.match((await new WebsiteClient(gateway).get(`${gateway.url}/sign-in?error=sign_up_closed`)).body, 'may not sign up here')
  await createAccount(gateway, 'anna@example.com')
  t.equal(await through(), '/account')
})
