/** Passkeys of operators: adding, signing in, the fresh proof, and every way in which an answer is refused. */
import t from 'tap'
import type { Test } from 'tap'
import { Secret, TOTP } from 'otpauth'
import { unknownReader } from '../../../../../../src/domain/identity/reader.ts'
import { createClock } from '../../../../../../src/system/clock.ts'
import { startGateway } from '../../../../../support/gateway/test-gateway.ts'
import { consoleCookie, createOperator, openConsole, operatorApi } from '../../../../../support/gateway/operators.ts'
import { WebsiteClient } from '../../../../../support/gateway/website-client.ts'
import { SoftwareAuthenticator } from '../../../../../support/passkeys/software-authenticator.ts'
import { readFormAddress, readFormFields, sendForm } from '../../../../../support/website/page-form.ts'

const minuteMs = 60_000
/** The configured address, which is not the one that the test's requests name. */
const site = 'http://localhost:4321'
const client = { ip: '::1', network: '::1', requestId: 'mbr_x', name: null, deviceTokens: null, reader: unknownReader }

async function open(t: Test) {
  const time = { now: Math.ceil(Date.now() / 30_000) * 30_000 }
  const gateway = await startGateway(t, { listen: { siteUrl: site } }, { clock: createClock({ now: () => time.now }) })
  const { membership, store } = gateway.services
  const signUp = async (email: string) => {
    const operator = await createOperator(gateway, email, 'owner')
    const { account, browser } = operator
    const key = (await membership.secondFactors.begin(account, email))?.key ?? ''
    const totp = new TOTP({ secret: Secret.fromBase32(key) })
    const code = () => totp.generate({ timestamp: time.now })
    await membership.secondFactors.confirm(account, code(), client)
    const enter = async () =>
      browser.cookies.set(consoleCookie, (await openConsole(gateway, operator)).cookies.get(consoleCookie) ?? '')
    const leave = () => void browser.cookies.delete(consoleCookie)
    const ask = (purpose: string, headers = {}) => browser.post('auth/passkeys/options', { purpose }, headers)
    const send = async (action: string, typed: Record<string, string> = {}, subject = '') => {
      const url = `${gateway.url}/operator${browser.cookies.has(consoleCookie) ? '/session' : ''}`
      const page = (await browser.get(url)).body as string
      const form = { action, subject }
      return sendForm(browser, gateway.url + readFormAddress(page, form), readFormFields(page, form), typed)
    }
    const add = async (authenticator = new SoftwareAuthenticator(site), name = 'phone') => {
      const passkey = authenticator.register((await ask('register')).body.options)
      const answer = await send('add_passkey', { name, passkey })
      return { authenticator, answer }
    }
    const passkeys = () => membership.passkeys.list(account)
    return { ...operator, code, enter, leave, ask, send, add, passkeys }
  }
  const listEvents = async () => (await store.audit.list({ limit: 20 })).map(({ event, detail }) => [event, detail] as const)
  return { time, gateway, signUp, listEvents, ann: await signUp('ann@example.com') }
}

t.test('an operator adds a passkey, signs in with it, and proves afresh with it', async (t) => {
  const { time, gateway, ann, listEvents } = await open(t)
  const { browser } = ann
  const page = async () => (await browser.get(`${gateway.url}/operator/session`)).body as string
  t.notMatch((await browser.get(`${gateway.url}/operator`)).body, /data-passkey/, 'none to use')
  await ann.enter()
  t.match(await ann.send('add_passkey', { name: 'phone' }), { status: 400, body: /Press the button below/ })
  const { authenticator, answer } = await ann.add()
  t.match(answer, { status: 303 })
  t.match(await page(), /phone[^]*Not used yet/)
  t.match((await ann.add(authenticator)).answer, { status: 400, body: /has a passkey of your account already/ })

  ann.leave()
  t.match((await browser.get(`${gateway.url}/operator`)).body, /data-passkey="sign_in"[^>]*hidden/, 'hidden until a script runs')
  const options = (await ann.ask('sign_in')).body.options
  t.match(options, { rpId: 'localhost', allowCredentials: [{ type: 'public-key' }] })
  t.match(await ann.send('verify', { passkey: authenticator.prove(options, { counter: 1 }) }), { status: 303 })
  t.match((await browser.get(operatorApi(gateway, 'me'))).body, { kind: 'session', role: 'owner' })
  t.notMatch(await page(), /Not used yet/)

  time.now += 10 * minuteMs
  t.match((await ann.ask('register')).body, { code: 'step_up_required' })
  t.notMatch(await page(), /Add a passkey/, 'a new one needs a fresh proof')
  const proof = authenticator.prove((await ann.ask('step_up')).body.options, { counter: 2 })
  t.match(await ann.send('step_up', { passkey: proof }), { status: 303 })
  t.match(await page(), /are open until[^]*Add a passkey/)
  t.match((await browser.get(`${gateway.url}/operator/session`, { 'accept-language': 'zh' })).body, /添加通行密钥/)
  const [passkey] = await ann.passkeys()
  t.match(await ann.send('remove_passkey', {}, passkey?.id), { status: 303 })
  t.notMatch(await page(), /phone/)
  t.same(
    (await listEvents()).filter(([event]) => /passkey|console/.test(event)),
    [
      ['passkey_removed', { passkey: passkey?.id, name: 'phone' }],
      ['console_opened', { method: 'passkey' }],
      ['passkey_added', { passkey: passkey?.id, name: 'phone' }],
    ],
  )
  t.match(await ann.send('renew_codes', {}), { status: 200, body: /recovery codes/i })
  const records = await gateway.services.store.audit.list({ account: ann.account, limit: 20 })
  for (const event of ['passkey_added', 'passkey_removed', 'recovery_codes_made'])
    t.match(
      records.find((record) => record.event === event)?.actor,
      { kind: 'session', session: /^ops_/ },
      `${event} names the session`,
    )
})

t.test('an answer is good once, for its challenge, session, account and purpose', async (t) => {
  const { time, ann, signUp, listEvents } = await open(t)
  await ann.enter()
  const { authenticator } = await ann.add()
  const forRegistration = (await ann.ask('register')).body.options
  const forStepUp = (await ann.ask('step_up')).body.options
  ann.leave()
  const bob = await signUp('bob@example.com')
  await bob.enter()
  const strange = (await bob.add()).authenticator
  bob.leave()
  const ofBob = (await bob.ask('sign_in')).body.options
  const refuse = async (title: string, passkey: string, words: RegExp) => {
    t.match(await ann.send('verify', { passkey }), { status: 401, body: words }, title)
    t.notOk(ann.browser.cookies.has(consoleCookie), title)
    // Five refusals in an hour are the bound, of codes and passkeys together.
    time.now += 15 * minuteMs
  }
  const ask = async () => (await ann.ask('sign_in')).body.options
  await refuse('never asked', authenticator.prove(forStepUp), /was used before, or is older/)
  for (const [title, options] of [
    ['for a fresh proof', forStepUp],
    ['for a registration', forRegistration],
    ['of another session', ofBob],
  ] as const) {
    await ask()
    await refuse(title, authenticator.prove(options), /was used before, or is older/)
  }
  await refuse('another member’s', strange.prove(await ask()), /not one of your account/)
  await refuse('another address', authenticator.prove(await ask(), { origin: 'http://127.0.0.1:4321' }), /at another address/)
  await refuse('without its user', authenticator.prove(await ask(), { flags: 1 }), /did not check that it is you/)
  await refuse('no answer at all', 'null', /was used before, or is older/)
  const late = await ask()
  time.now += 5 * minuteMs
  await refuse('late', authenticator.prove(late), /was used before, or is older/)
  const replaced = await ask()
  await ask()
  await refuse('replaced by a newer request', authenticator.prove(replaced), /was used before, or is older/)

  const right = authenticator.prove(await ask(), { counter: 7 })
  t.match(await ann.send('verify', { passkey: right }), { status: 303 })
  ann.leave()
  await refuse('replayed', right, /was used before, or is older/)
  await refuse('copied', authenticator.prove(await ask(), { counter: 7 }), /may have been copied/)
  const removed = authenticator.prove(await ask(), { counter: 8 })
  await ann.enter()
  const [passkey] = await ann.passkeys()
  await ann.send('remove_passkey', {}, passkey?.id)
  ann.leave()
  await refuse('removed', removed, /not one of your account/)
  t.match(await ann.send('verify', { code: ann.code() }), { status: 303 }, 'the authenticator is still there')
  const failures = (await listEvents()).filter(([event]) => event === 'second_factor_failed')
  t.same(
    new Set(failures.map(([, detail]) => detail?.['why'])),
    new Set(['challenge', 'credential', 'origin', 'verification', 'counter']),
  )
})

t.test('refused answers and wrong codes have one bound together', async (t) => {
  const { ann } = await open(t)
  await ann.enter()
  const { authenticator } = await ann.add()
  ann.leave()
  for (let wrong = 0; wrong < 5; wrong += 1)
    t.equal((await ann.send('verify', wrong % 2 === 0 ? { passkey: '{}' } : { code: '000000' })).status, 401)
  t.equal((await ann.send('verify', { passkey: authenticator.prove((await ann.ask('sign_in')).body.options) })).status, 429)
})

t.test('only a session that may use one gets a challenge', async (t) => {
  const { gateway, ann, time } = await open(t)
  const ask = (browser: WebsiteClient, purpose: unknown, headers = {}) =>
    browser.post('auth/passkeys/options', { purpose }, headers)
  const member = await createOperator(gateway, 'member@example.com', null)
  for (const purpose of ['sign_in', 'step_up', 'register']) {
    t.equal((await ask(new WebsiteClient(gateway), purpose)).status, 401, purpose)
    t.equal((await ask(member.browser, purpose)).status, purpose === 'sign_in' ? 404 : 401, purpose)
    t.match(await ann.ask(purpose, { 'sec-fetch-site': 'cross-site' }), { status: 403, body: { code: 'forbidden_origin' } })
    t.equal((await ask(await openConsole(gateway, null), purpose)).status, 401, 'a shell has no person')
  }
  t.equal((await ask(ann.browser, 'other')).status, 400)
  t.equal((await ask(ann.browser, 'register')).status, 401, 'the member’s session adds none')
  time.now += minuteMs
  const numbered = await startGateway(t)
  const operator = await createOperator(numbered, 'ann@example.com', 'owner')
  const console = await openConsole(numbered, operator)
  t.match((await console.get(`${numbered.url}/operator/session`)).body, /by a name, or as localhost/)
  t.equal((await operator.browser.post('auth/passkeys/options', { purpose: 'sign_in' })).status, 404)
})

t.test('a reset of the second factor removes passkeys, and a challenge of before adds none', async (t) => {
  const { gateway, ann, signUp } = await open(t)
  await signUp('bob@example.com')
  const { membership } = gateway.services
  const author = { actor: { kind: 'command', systemUser: 'root' }, client: null, reason: null } as const
  await ann.enter()
  const { authenticator } = await ann.add()
  await membership.operatorRoles.setRole(ann.account, 'reader', author)
  t.equal((await ann.passkeys()).length, 1)
  const request = (await ann.ask('register')).body.options
  t.equal(await membership.operatorRoles.resetSecondFactor(ann.account, author), true)
  t.same(await ann.passkeys(), [])
  const answer = new SoftwareAuthenticator(site).register(request)
  t.equal(await membership.passkeys.add(ann.account, { session: 'ops_1', name: 'x', answer }, author), 'challenge')
  ann.leave()
  t.notMatch((await ann.browser.get(`${gateway.url}/operator`)).body, /data-passkey/)
  const proof = authenticator.prove((await ann.ask('sign_in')).body.options)
  const place = { session: ann.session, purpose: 'sign_in' } as const
  t.match(await membership.secondFactors.verify(ann.account, { kind: 'passkey', answer: proof }, place, client), {
    kind: 'refused',
    why: 'credential',
  })
})
