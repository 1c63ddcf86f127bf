/** Who may make an account by themselves: by each way in, and that those who have one are let in whatever is closed. */
import t from 'tap'
import { Browser, lettersTo, linkFor } from '../../../support/browser.ts'
import { freePort } from '../../../support/free-port.ts'
import { startGateway, until } from '../../../support/gateway.ts'
import type { TestGateway } from '../../../support/gateway.ts'
import { client, startProvider } from '../../../support/openid-provider.ts'

const password = 'violet teapot orbit'

/** As the operator's command makes them. */
async function made({ services }: TestGateway, email: string): Promise<string> {
  const at = services.clock.now()
  const id = services.ids.next('acc_', at)
  await services.store.accounts.create({ id, email, plan: 'free', passwordHash: null, emailVerified: true, at })
  return id
}

const closed = { status: 403, body: { code: 'sign_up_closed', stage: 'membership', actions: ['contact_operator'] } }

t.test('closed: nobody signs up, and whoever the operator made an account for signs in', async (t) => {
  const gateway = await startGateway(t, { signIn: { signUp: 'closed' } })
  const id = await made(gateway, 'owner@localhost')
  const owner = await new Browser(gateway).signIn('owner@localhost')
  t.equal(owner.body.account.id, id)

  const stranger = new Browser(gateway)
  t.match(await stranger.post('auth/sign-up', { email: 'new@example.com', password }), closed)
  t.match(await stranger.post('auth/sign-up', { email: 'owner@localhost', password }), closed, 'no matter who has an account')
  const unknown = await stranger.post('auth/otp/start', { email: 'new@example.com' })
  const known = await new Browser(gateway).post('auth/otp/start', { email: 'other@example.com' })
  t.same([unknown.status, unknown.body], [known.status, known.body], 'asking for a code tells nothing')
  await gateway.services.membership.signIn.askForCode(
    { email: 'owner@localhost', browser: 'another' },
    { address: '203.0.113.9', network: '203.0.113.9', requestId: 'mbr_x', client: null, device: null },
  )
  await until(() => lettersTo(gateway, 'owner@localhost').length === 2, 'the letter that may be written')
  t.same(lettersTo(gateway, 'new@example.com'), [], 'who could do nothing with a letter gets none')
  t.equal(await gateway.services.store.accounts.count(), 1)

  const page = await new Browser(gateway).get(`${gateway.url}/sign-in`)
  t.match(page.body, 'Accounts are made by the operator')
  t.notMatch(page.body, 'data-form="sign-up"')
  t.notMatch((await new Browser(gateway).get(`${gateway.url}/`)).body, 'Start for free')
  t.match((await new Browser(gateway).get(`${gateway.url}/sign-in`, { 'accept-language': 'zh' })).body, '此处不开放自行注册')
})

t.test('by invitation: a member’s code lets in, another does not', async (t) => {
  const gateway = await startGateway(t, { signIn: { signUp: 'invited' } })
  await made(gateway, 'host@example.com')
  const host = new Browser(gateway)
  await host.signIn('host@example.com')
  const invite = (await host.get('boost')).body.invite.code
  const guest = new Browser(gateway)
  for (const wrong of [{}, { invite: 'nobodyhasit' }]) {
    const answer = await guest.post('auth/sign-up', { email: 'guest@example.com', password, ...wrong })
    t.match(answer, { status: 403, body: { code: 'sign_up_closed', message: /invitation/, messageZh: /邀请/ } })
  }
  t.equal((await guest.post('auth/otp/start', { email: 'unasked@example.com' })).status, 200)
  t.equal((await guest.post('auth/otp/start', { email: 'guest@example.com', invite })).status, 200)
  const link = await linkFor(gateway, 'guest@example.com')
  t.same(lettersTo(gateway, 'unasked@example.com'), [])
  t.match(await new Browser(gateway).post('auth/link/verify', { link }), { status: 200, body: { created: true, invited: true } })
  t.match((await guest.get(`${gateway.url}/sign-in`)).body, 'by invitation only')
})

t.test('some domains: theirs and what is below them sign up, accounts at others sign in', async (t) => {
  const gateway = await startGateway(t, { signIn: { allowedDomains: ['Corp.example'] } })
  await made(gateway, 'ops@elsewhere.example')
  t.equal((await new Browser(gateway).signIn('ann@corp.example')).body.created, true)
  t.equal((await new Browser(gateway).signIn('ben@mail.corp.example')).body.created, true)
  t.equal((await new Browser(gateway).signIn('ops@elsewhere.example')).body.created, false)
  for (const email of ['eve@elsewhere.example', 'eve@notcorp.example', 'eve@corp.example.net']) {
    const answer = await new Browser(gateway).post('auth/sign-up', { email, password })
    t.match(answer, { status: 403, body: { code: 'sign_up_closed', message: /Corp\.example/, messageZh: /域名/ } }, email)
  }
  t.match((await new Browser(gateway).get(`${gateway.url}/sign-in`)).body, 'takes an address at: Corp.example')
})

t.test('a provider brings nobody in whom the rules keep out', async (t) => {
  const port = await freePort()
  const people = { anna: { email: 'anna@example.com', email_verified: true } }
  const provider = await startProvider(t, people, () => `http://127.0.0.1:${port}/api/membership/auth/oauth/acme/callback`)
  const gateway = await startGateway(t, {
    listen: { port },
    signIn: {
      signUp: 'closed',
      providers: { acme: { name: 'Acme', issuer: provider.issuer, clientId: client.id, clientSecret: client.secret } },
    },
  })
  const through = async () => {
    const browser = new Browser(gateway)
    const started = await browser.get('auth/oauth/acme/start')
    return (await browser.get(await provider.signIn(started.headers.get('location') ?? '', 'anna'))).headers.get('location')
  }
  t.equal(await through(), '/sign-in?error=sign_up_closed')
  t.match((await new Browser(gateway).get(`${gateway.url}/sign-in?error=sign_up_closed`)).body, 'may not sign up here')
  await made(gateway, 'anna@example.com')
  t.equal(await through(), '/account')
})
