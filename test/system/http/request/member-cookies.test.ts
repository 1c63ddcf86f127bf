/** Names and attributes of the member's cookies. */
import t from 'tap'
import type { Test } from 'tap'
import { startGateway } from '../../../support/gateway/test-gateway.ts'
import type { TestGateway } from '../../../support/gateway/test-gateway.ts'
import { waitForEmailCode, WebsiteClient } from '../../../support/gateway/website-client.ts'

const session = 'svc_membership_session'
const html = { accept: 'text/html' }

for (const [siteUrl, prefix, secure] of [
  ['https://models.example.com', '__Host-', true],
  [null, '', false],
  ['http://gateway.lan', '', false],
  ['http://192.168.7.20:8787', '', false],
] as const) {
  t.test(`a member of ${siteUrl ?? 'this machine'} signs in with cookies that a browser keeps`, async (t) => {
    const g = await startGateway(t, { listen: { siteUrl } })
    const { cookies, set } = await signIn(t, g, siteUrl ?? g.url)
    t.match(
      [...cookies.keys()].toSorted(),
      [`${prefix}svc_membership_browser`, `${prefix}svc_membership_device`, session].toSorted(),
    )
    for (const cookie of set) {
      t.equal(/; Path=\/; HttpOnly; SameSite=Lax(; Secure)?$/.exec(cookie)?.[1] !== undefined, secure, cookie)
      t.notMatch(cookie, 'Domain')
    }
    const header = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const me = await fetch(`${g.url}/api/membership/auth/session`, { headers: { cookie: header } })
    t.equal(me.status, 200, 'the cookie signs the member in')
    const other = await fetch(`${g.url}/api/membership/auth/password`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', origin: 'http://evil.example', cookie: header },
      body: JSON.stringify({ password: 'a long enough password' }),
    })
    t.equal(other.status, 403, 'a page of another site cannot write with it')
  })
}

t.test('a session of the cookie’s earlier name counts over https until it ends', async (t) => {
  const g = await startGateway(t, { listen: { siteUrl: 'https://models.example.com' } })
  const { cookies } = await signIn(t, g, 'https://models.example.com')
  const token = cookies.get(session) ?? ''
  const earlier = `__Host-${session}=${token}`
  const ask = (cookie: string, path = 'session') =>
    fetch(`${g.url}/api/membership/auth/${path}`, {
      method: path === 'session' ? 'GET' : 'POST',
      headers: { cookie, 'sec-fetch-site': 'same-origin' },
    })
  t.equal((await ask(earlier)).status, 200)
  t.equal((await ask(`${session}=planted; ${earlier}`)).status, 200, 'another host of the domain cannot replace it')
  const out = await ask(earlier, 'sign-out')
  t.same(
    out.headers.getSetCookie().map((each) => each.split(';').slice(0, 2).join(';')),
    [`${session}=; Max-Age=0`, `__Host-${session}=; Max-Age=0`],
  )
  t.equal((await ask(earlier)).status, 401)
})

t.test('a second session cookie, set by another host of the domain, is deleted with the first', async (t) => {
  const siteUrl = 'https://models.example.com'
  const g = await startGateway(t, { listen: { siteUrl } })
  const { cookies } = await signIn(t, g, siteUrl)
  const both = `${session}=${cookies.get(session)}; ${session}=${'p'.repeat(43)}`
  for (const path of ['/account', '/sign-in', '/keys', '/']) {
    const page = await fetch(g.url + path, { redirect: 'manual', headers: { ...html, cookie: both } })
    t.equal(page.status, 401, path)
    const text = await page.text()
    t.match(text, 'another site of this domain has set one of the same name')
    t.match(text, 'href="/sign-in"')
    const deleted = page.headers.getSetCookie()
    for (const each of ['Path=/', 'Path=/; Domain=models.example.com', 'Path=/; Domain=example.com'])
      t.ok(deleted.includes(`${session}=; Max-Age=0; ${each}`), each)
  }
  const api = await fetch(`${g.url}/api/membership/usage`, { headers: { cookie: both } })
  t.equal(api.status, 401)
  t.ok(api.headers.getSetCookie().includes(`${session}=; Max-Age=0; Path=/api; Domain=example.com`))
  const chat = await fetch(`${g.url}/v1/models`, { headers: { cookie: both, 'sec-fetch-site': 'same-origin' } })
  t.equal(chat.status, 401)
  t.ok(chat.headers.getSetCookie().length > 0)
})

t.test('signing in ends all sessions whose cookies the browser sends, and leaves one cookie', async (t) => {
  const g = await startGateway(t)
  const browser = new WebsiteClient(g)
  await browser.signIn('ada@example.com')
  const first = browser.cookies.get(session) ?? ''
  await browser.post('auth/otp/start', { email: 'ben@example.com' })
  const code = await waitForEmailCode(g, 'ben@example.com')
  const cookie = `${browser.cookieHeader()}; ${session}=${'p'.repeat(43)}`
  const answer = await browser.post('auth/otp/verify', { email: 'ben@example.com', code }, { cookie })
  t.equal(answer.status, 200, 'a planted cookie does not waste the code')
  t.not(browser.cookies.get(session), first)
  t.equal((await browser.get('auth/session', { cookie: `${session}=${first}` })).status, 401)
  t.match((await browser.get('auth/session')).body, { account: { email: 'ben@example.com' } })
})

/** As a browser at `origin` does that sends no fetch metadata, as over plain http. */
async function signIn(
  t: Test,
  g: TestGateway,
  origin: string,
): Promise<{ readonly cookies: Map<string, string>; readonly set: readonly string[] }> {
  const { email } = await g.createAccount()
  const cookies = new Map<string, string>()
  const set: string[] = []
  const post = async (path: string, body: object): Promise<void> => {
    const response = await fetch(`${g.url}/api/membership/auth/${path}`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        origin,
        cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; '),
      },
      body: JSON.stringify(body),
    })
    t.equal(response.status, 200, await response.text())
    for (const each of response.headers.getSetCookie()) {
      set.push(each)
      const pair = each.slice(0, each.indexOf(';'))
      cookies.set(pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1))
    }
  }
  await post('otp/start', { email })
  await post('otp/verify', { email, code: await waitForEmailCode(g, email) })
  return { cookies, set }
}
