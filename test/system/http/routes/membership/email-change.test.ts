/** Changing the address of an account: the new one proves itself by a code, the old one receives an email. */
import t from 'tap'
import { createOperatorCli } from '../../../../support/gateway/operator-cli.ts'
import { startGateway } from '../../../../support/gateway/test-gateway.ts'
import type { TestGateway } from '../../../../support/gateway/test-gateway.ts'
import { readEmailsTo, waitForEmailCode, waitUntilEmails, WebsiteClient } from '../../../../support/gateway/website-client.ts'
import { createClock } from '../../../../../src/system/clock.ts'

const [old, fresh] = ['ada@example.com', 'ada@new.example']

/** Several emails a minute to one address. */
const resend = { limits: { attempts: { 'code-resend': { times: 9, withinMs: 60_000 } } } }

async function signedIn(gateway: TestGateway, email = old): Promise<WebsiteClient> {
  const browser = new WebsiteClient(gateway)
  await browser.signIn(email)
  return browser
}

t.test('a member changes the address with a code to the new one, and the old one receives an email', async (t) => {
  const gateway = await startGateway(t, resend)
  const browser = await signedIn(gateway)
  const { id } = (await browser.get('auth/session')).body.account
  t.match(await browser.post('auth/email/start', { email: 'Ada@New.example' }), { status: 200, body: { sent: true } })
  const code = await waitForEmailCode(gateway, fresh)
  const wrong = code === '000000' ? '000001' : '000000'
  t.match(await browser.post('auth/email', { email: fresh, code: wrong }), { status: 401, body: { code: 'invalid_credentials' } })
  t.match(await new WebsiteClient(gateway).post('auth/otp/verify', { email: fresh, code }), { status: 401 }, 'it signs no one in')
  t.match(await browser.post('auth/email', { email: 'eve@new.example', code }), { status: 401 }, 'for this address alone')
  t.match(await browser.post('auth/email', { email: fresh, code }), { status: 200, body: { account: { id, email: fresh } } })
  t.match((await browser.get('auth/session')).body, { account: { email: fresh } }, 'the session stays')
  await waitUntilEmails(gateway, old, 2)
  const notice = readEmailsTo(gateway, old).at(-1)
  t.match(notice, 'a***@new.example')
  t.notMatch(notice, fresh)
  const [record] = await gateway.services.store.audit.list({ account: id, event: 'email_changed', limit: 1 })
  t.match(record?.detail, { from: 'a***@example.com', to: 'a***@new.example' })
  t.equal((await (await signedIn(gateway, fresh)).get('auth/session')).body.account.id, id, 'the new address signs in')
  const other = (await (await signedIn(gateway)).get('auth/session')).body.account
  t.not(other.id, id, 'the old address is free')
})

t.test('the usage of the person stays with the old address too', async (t) => {
  const gateway = await startGateway(t, resend)
  const browser = await signedIn(gateway)
  const { id } = (await browser.get('auth/session')).body.account
  const key = await gateway.createKey(id)
  t.equal((await gateway.chat(key, { model: 'svc-2.1' })).status, 200)
  await gateway.waitUntilSettled()
  const readUsed = async (client: WebsiteClient) =>
    (await client.get('usage')).body.pools.map((pool: { used: number }) => pool.used)
  const used = await readUsed(browser)
  t.ok(used.some((each: number) => each > 0))
  await browser.post('auth/email/start', { email: fresh })
  await browser.post('auth/email', { email: fresh, code: await waitForEmailCode(gateway, fresh) })
  t.same(await readUsed(browser), used)
  t.same(await readUsed(await signedIn(gateway)), used, 'a new account of the old address begins with it')
})

t.test('an address of another account gets no email, and the answer is the same', async (t) => {
  const gateway = await startGateway(t, resend)
  for (const email of ['ben@gmail.com', 'carl@gmail.com']) await signedIn(gateway, email)
  const browser = await signedIn(gateway)
  for (const email of ['ben@gmail.com', 'c.arl+x@gmail.com'])
    t.match(await browser.post('auth/email/start', { email }), { status: 200, body: { sent: true } }, email)
  await browser.post('auth/email/start', { email: fresh })
  await waitForEmailCode(gateway, fresh)
  t.equal(readEmailsTo(gateway, 'ben@gmail.com').length, 1, 'the one of the sign-in')
  t.equal(readEmailsTo(gateway, 'c.arl+x@gmail.com').length, 0)
  t.match(
    await browser.post('auth/email/start', { email: 'next@new.example' }),
    { status: 429, body: { code: 'rate_limited' } },
    'three a day',
  )
})

t.test('refuses addresses that could not sign up, and a session that is not fresh', async (t) => {
  let now = Date.now()
  const gateway = await startGateway(
    t,
    { ...resend, signIn: { blockedDomains: ['blocked.example'] } },
    { clock: createClock({ now: () => now }) },
  )
  const browser = await signedIn(gateway)
  for (const email of [
    old,
    'eve@blocked.example',
    'x@mailinator.com',
    'ada',
    'a\r\nb@example.com',
    `${'a'.repeat(300)}@example.com`,
  ])
    t.match(await browser.post('auth/email/start', { email }), { status: 400, body: { code: 'invalid_request' } }, email)
  now += 11 * 60_000
  t.match(await browser.post('auth/email/start', { email: fresh }), { status: 401, body: { code: 'reauthentication_required' } })
  await browser.post('auth/reauthenticate')
  const code = await waitForEmailCode(gateway, old, 2)
  t.equal((await browser.post('auth/email/start', { email: fresh, code })).status, 200)
  const limited = await startGateway(t, { signIn: { allowedDomains: ['example.com'], signUp: 'closed' } })
  const { email } = await limited.createAccount()
  const member = await signedIn(limited, email)
  t.equal((await member.post('auth/email/start', { email: fresh })).status, 400, 'a domain that may not sign up')
  t.equal((await member.post('auth/email/start', { email: 'new@example.com' })).status, 200)
})

t.test('the operator changes an address and unlinks a provider', async (t) => {
  const gateway = await startGateway(t, resend)
  const browser = await signedIn(gateway)
  const { id } = (await browser.get('auth/session')).body.account
  const { store } = gateway.services
  const run = createOperatorCli(t, gateway.config.store.dataDir)
  await signedIn(gateway, 'ben@example.com')
  t.match(await run('account', 'set-email', old, '--email', 'ben@example.com'), {
    code: 1,
    stderr: /Another account has the mailbox/,
  })
  t.match(await run('account', 'set-email', old, '--email', 'no address'), { code: 1, stderr: /is not a mail address/ })
  const changed = await run('account', 'set-email', old, '--email', fresh)
  t.match(changed, {
    code: 0,
    stdout: /has the address ada@new\.example now\. An email was sent to ada@example\.com\. An email was sent to ada@new/,
  })
  t.equal((await store.accounts.find(fresh))?.id, id)
  for (const email of [old, fresh]) t.match(readEmailsTo(gateway, email).at(-1), 'a***@new.example', email)
  const [record] = await store.audit.list({ account: id, event: 'email_changed', limit: 1 })
  t.match(record?.detail, { by: 'operator', to: 'a***@new.example' })

  await store.providerIdentities.link('acme', 'ada', id, 1)
  t.match(await run('account', 'unlink-provider', 'acme'), { code: 1, stderr: /--account, or all of the provider with --all/ })
  t.match(await run('account', 'unlink-provider', 'other', '--all'), { code: 1, stderr: /There is no provider 'other'/ })
  t.match(await run('account', 'unlink-provider', 'acme', '--account', fresh), {
    code: 0,
    stdout: /1 account unlinked from acme/,
  })
  await store.providerIdentities.link('acme', 'ada', id, 1)
  t.match(await run('account', 'unlink-provider', 'acme', '--all'), { code: 0, stdout: /1 account unlinked/ })
  t.equal(await store.providerIdentities.find('acme', 'ada'), undefined)
  t.equal((await store.audit.list({ account: id, event: 'provider_unlinked', limit: 9 })).length, 2)
})
