/** `/operator`: setting up the second factor, proving it, and the link of a shell; all of it without a script. */
import t from 'tap'
import type { Test } from 'tap'
import { Secret, TOTP } from 'otpauth'
import { createClock } from '../../../../../../src/system/clock.ts'
import { startGateway } from '../../../../../support/gateway/test-gateway.ts'
import { consoleCookie, createOperator, operatorApi } from '../../../../../support/gateway/operators.ts'
import type { OperatorRole } from '../../../../../../src/domain/identity/operators/operator-role.ts'
import { WebsiteClient } from '../../../../../support/gateway/website-client.ts'
import { readFormAddress, readFormFields, sendForm } from '../../../../../support/website/page-form.ts'

const minuteMs = 60_000

async function open(t: Test, role: OperatorRole = 'owner') {
  // The start of a step of 30 s.
  const time = { now: Math.ceil(Date.now() / 30_000) * 30_000 }
  const gateway = await startGateway(t, {}, { clock: createClock({ now: () => time.now }) })
  const operator = await createOperator(gateway, 'ann@example.com', role)
  const url = `${gateway.url}/operator`
  const sessionUrl = `${url}/session`
  const { browser } = operator
  const send = async (action: string, typed: Record<string, string> = {}) => {
    const page = (await browser.get(browser.cookies.has(consoleCookie) ? sessionUrl : url)).body as string
    return sendForm(browser, gateway.url + readFormAddress(page, { action }), readFormFields(page, { action }), typed)
  }
  return { time, gateway, operator, browser, url, sessionUrl, send }
}

async function setUp(t: Test) {
  const opened = await open(t)
  const { browser, url, send, time } = opened
  t.match((await send('begin')).status, 303)
  const page = (await browser.get(url)).body as string
  const key = /<code>([A-Z2-7 ]{32,})<\/code>/.exec(page)?.[1]?.replaceAll(' ', '') ?? ''
  t.match(page, /aria-label="QR code with the key"/)
  const totp = new TOTP({ secret: Secret.fromBase32(key) })
  const code = () => totp.generate({ timestamp: time.now })
  const confirmed = await send('confirm', { code: code() })
  t.match(confirmed, { status: 200, body: /Recovery codes/ })
  const recovery = [...(confirmed.body as string).matchAll(/\b[2-9a-hjkmnp-z]{5}-[2-9a-hjkmnp-z]{5}\b/g)].map(([each]) => each)
  t.equal(new Set(recovery).size, 10)
  return { ...opened, code, recovery }
}

t.test('an operator sets up the second factor, and the console has a cookie of its own', async (t) => {
  const { gateway, browser, sessionUrl, code, time, send } = await setUp(t)
  const me = async (client = browser) => (await client.get(operatorApi(gateway, 'me'))).body
  t.match(await me(), { kind: 'session', role: 'owner' })
  t.match((await browser.get(sessionUrl)).body, /You are signed in as an operator[^]*ann@example\.com[^]*Owner/)
  t.match((await browser.get(sessionUrl, { 'accept-language': 'zh' })).body, /你已以管理员身份登录/)
  const elsewhere = new WebsiteClient(gateway)
  elsewhere.cookies.set('svc_membership_session', browser.cookies.get('svc_membership_session') ?? '')
  t.match(await me(elsewhere), { code: 'second_factor_required' }, 'the member’s cookie is not the console’s')
  const stolen = new WebsiteClient(gateway)
  stolen.cookies.set(consoleCookie, browser.cookies.get(consoleCookie) ?? '')
  t.equal((await stolen.get('auth/session')).status, 401, 'and the console’s is not the member’s')

  time.now += 10 * minuteMs
  t.match((await browser.get(sessionUrl)).body, /keys need another one/)
  t.match(await send('step_up', { code: code() }), { status: 303 })
  t.match((await browser.get(sessionUrl)).body, /Make new recovery codes/, 'stepped up')
  const session = browser.cookies.get(consoleCookie)
  t.match(await send('close'), { status: 303 })
  t.notOk(browser.cookies.has(consoleCookie))
  browser.cookies.set(consoleCookie, session ?? '')
  t.match(await me(), { code: 'second_factor_required' }, 'the session has ended, not its cookie alone')
  const events = (await gateway.services.store.audit.list({ limit: 20 })).map(({ event }) => event)
  t.same(
    events.filter((event) => /second_factor|console/.test(event)),
    ['console_closed', 'console_opened', 'second_factor_set'],
  )
})

t.test('a code is good once within its step, and wrong ones are bounded', async (t) => {
  const { browser, url, code, time, send } = await setUp(t)
  browser.cookies.delete(consoleCookie)
  t.match(await send('verify', { code: code() }), { status: 401, body: /This code is wrong, or was used before/ }, 'a replay')
  time.now += 30_000
  t.equal((await send('verify', { code: code() })).status, 303)
  browser.cookies.delete(consoleCookie)
  t.equal((await send('verify', { code: code() })).status, 401, 'a replay')
  for (const wrong of ['000000', 'abcde-fghjk', '1']) t.equal((await send('verify', { code: wrong })).status, 401)
  time.now += 30_000
  const right = code()
  t.match(await send('verify', { code: right }), { status: 429, body: /Too many attempts/ }, 'five guesses an hour')
  time.now += 60 * minuteMs
  t.equal((await send('verify', { code: code() })).status, 303)
  t.match((await browser.get(url)).body, /All well/)
})

t.test('a recovery code replaces the authenticator once, and new ones void the others', async (t) => {
  const { browser, recovery, send } = await setUp(t)
  const [first = '', second = ''] = recovery
  browser.cookies.delete(consoleCookie)
  t.equal((await send('verify', { code: first.toUpperCase() })).status, 303)
  const renewed = await send('renew_codes')
  t.match(renewed.body, /\b[2-9a-hjkmnp-z]{5}-[2-9a-hjkmnp-z]{5}\b/)
  browser.cookies.delete(consoleCookie)
  for (const used of [first, second]) t.equal((await send('verify', { code: used })).status, 401)
})

t.test('a form that needs a fresh proof takes the code itself, and keeps what was typed when the code is wrong', async (t) => {
  const { browser, sessionUrl, code, time } = await setUp(t)
  time.now += 10 * minuteMs
  const page = (await browser.get(sessionUrl)).body as string
  const fields = readFormFields(page, { action: 'step_up' })
  fields.set('action', 'renew_codes')
  const renew = (typed: Record<string, string>) => sendForm(browser, sessionUrl, fields, typed)
  t.equal((await renew({})).status, 401)
  t.equal((await renew({ code: '000000' })).status, 401)
  const typed = { code: code() }
  t.match(await renew(typed), { status: 200, body: /Recovery codes/ }, 'the refused form is good again')
  t.match((await renew(typed)).body, /are shown once\. Make new ones/, 'a reload shows no codes, and does not claim to')
  t.match((await browser.get(sessionUrl)).body, /are open until/, 'and the proof is good for what follows')
})

t.test('a stolen session sets up no second factor, and a member has no console', async (t) => {
  const { gateway, time, browser, url } = await open(t)
  time.now += 11 * minuteMs
  t.match((await browser.get(url)).body, /needs a sign-in of the last ten minutes/)
  const member = await createOperator(gateway, 'bob@example.com', null)
  t.equal((await member.browser.get(url)).status, 404)
  t.match(await new WebsiteClient(gateway).get(url), { status: 200, body: /Operators sign in here/ })
})

t.test('a link of a shell opens the console once: opening its address uses nothing, its button does', async (t) => {
  const { gateway, time } = await open(t)
  const { consoleSessions } = gateway.services.membership
  const browser = new WebsiteClient(gateway)
  const url = `${gateway.url}/operator/link`
  const token = await consoleSessions.createShellLink('root')
  for (let opened = 0; opened < 2; opened += 1)
    t.match(await browser.get(`${url}?token=${token}`), { status: 200, body: /by the system user root/ })
  const fields = readFormFields((await browser.get(`${url}?token=${token}`)).body, { action: 'open' })
  t.equal((await sendForm(browser, url, fields, {}, { 'sec-fetch-site': 'cross-site' })).status, 403)
  t.equal((await sendForm(browser, url, fields)).status, 303)
  const again = await sendForm(browser, url, fields)
  t.equal(again.status, 303, 'the second press of a double click ends in the same session')
  t.match((await browser.get(operatorApi(gateway, 'me'))).body, { kind: 'shell', system_user: 'root', account: null })
  t.match((await browser.get(`${gateway.url}/operator/session`)).body, /Shell of the system user root/)
  t.equal((await browser.get(`${url}?token=${token}`)).status, 410, 'used')
  const [record] = await gateway.services.store.audit.list({ event: 'console_opened', limit: 1 })
  t.match(record, { account: null, address: '127.0.0.x', actor: { kind: 'shell', system_user: 'root' } })
  t.notMatch(gateway.log.join('\n'), new RegExp(token), 'the link is in no log')
  const late = await consoleSessions.createShellLink('root')
  time.now += 5 * minuteMs
  t.equal((await browser.get(`${url}?token=${late}`)).status, 410, 'expired')
  time.now += 55 * minuteMs
  t.equal((await browser.get(operatorApi(gateway, 'me'))).status, 401, 'one hour')
})
