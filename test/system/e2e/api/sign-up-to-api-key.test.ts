/** From sign-up to an API key and back out, with the requests that the website's pages make. */
import t from 'tap'
import { WebsiteClient } from '../../../support/gateway/website-client.ts'
import { startGateway } from '../../../support/gateway/test-gateway.ts'

t.test('a visitor signs up by mail code, creates a key, uses it and revokes it', async (t) => {
  const gateway = await startGateway(t)
  const browser = new WebsiteClient(gateway)
  const entered = await browser.signIn('New.Person@Example.com')
  t.match(entered.body, {
    ok: true,
    created: true,
    account: { email: 'new.person@example.com', plan: 'free', has_password: false },
  })
  const [cookie = ''] = entered.headers.getSetCookie().filter((line) => line.startsWith('svc_membership_session='))
  t.match(cookie, /^svc_membership_session=[\w-]{43}; Max-Age=2592000; Path=\/; HttpOnly; SameSite=Lax$/)

  const made = await browser.post('auth/api-keys', { name: 'laptop', expires_in_days: 30 })
  t.equal(made.status, 201)
  t.match(made.body, { id: /^key_/, name: 'laptop', token: /^svc_live_[0-9A-Za-z]{38}$/, last4: /^.{4}$/, revoked_at: null })
  const { token } = made.body
  t.equal((await gateway.chat(token)).status, 200)

  const list = await browser.get('auth/api-keys')
  t.equal(list.body.data.length, 1)
  t.notOk(JSON.stringify(list.body).includes(token), 'the whole key is never shown again')

  const usage = await browser.get('usage')
  t.match(usage.body, { plan: 'free', plan_name: 'Free', account: { email_masked: 'n***@example.com' } })
  t.equal(usage.body.pools.length, 6)
  t.equal(usage.body.turns.length, 1)
  t.equal(usage.body.days.length, 30)
  t.equal(usage.body.days.at(-1).premium, usage.body.turns[0].credits, "the last day is today, and has the turn's price")

  t.match((await browser.delete(`auth/api-keys/${made.body.id}`)).body, { ok: true, revoked: true })
  t.equal((await gateway.chat(token)).status, 401, 'a revoked key is worth nothing at once')
  t.match((await browser.delete(`auth/api-keys/${made.body.id}`)).body, { ok: true, revoked: true }, 'revoking again is fine')

  t.equal((await browser.post('auth/sign-out')).status, 200)
  t.notOk(browser.cookies.has('svc_membership_session'))
  t.match((await browser.get('auth/session')).body, { code: 'sign_in_required', stage: 'auth' })
})

t.test('serves every endpoint under both prefixes', async (t) => {
  const gateway = await startGateway(t)
  const browser = new WebsiteClient(gateway)
  await browser.signIn('both@example.com')
  for (const path of ['usage', 'boost', 'auth/session', 'auth/sessions', 'auth/api-keys', 'auth/providers', 'audit', 'plans']) {
    t.equal((await browser.get(path)).status, 200, path)
    t.equal((await browser.get(`v1/${path}`)).status, 200, `v1/${path}`)
  }
})
