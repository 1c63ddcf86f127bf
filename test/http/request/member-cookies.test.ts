/** Names of the member's cookies. */
import t from 'tap'
import { startGateway } from '../../support/gateway/test-gateway.ts'
import { waitForEmailCode } from '../../support/gateway/website-client.ts'

for (const [siteUrl, prefix] of [
  ['https://models.example.com', '__Host-'],
  [null, ''],
] as const) {
  t.test(`a member of ${siteUrl ?? 'this machine'} signs in with cookies whose prefix is "${prefix}"`, async (t) => {
    const g = await startGateway(t, { listen: { siteUrl } })
    const { email } = await g.createAccount()
    const origin = siteUrl ?? g.url
    let cookies = ''
    const post = async (path: string, body: object): Promise<readonly string[]> => {
      const response = await fetch(`${g.url}/api/membership/auth/${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', origin, cookie: cookies },
        body: JSON.stringify(body),
      })
      t.equal(response.status, 200, await response.text())
      const set = response.headers.getSetCookie()
      cookies = [cookies, ...set.map((each) => each.slice(0, each.indexOf(';')))].filter((each) => each !== '').join('; ')
      return set
    }
    const set = [
      ...(await post('otp/start', { email })),
      ...(await post('otp/verify', { email, code: await waitForEmailCode(g, email) })),
    ]
    t.ok(set.length >= 2)
    for (const cookie of set) {
      t.ok(cookie.startsWith(`${prefix}svc_membership_`), cookie)
      if (prefix !== '') t.match(cookie, /; Path=\/; .*; Secure$/)
      t.notMatch(cookie, 'Domain')
    }
    const me = await fetch(`${g.url}/api/membership/auth/session`, {
      headers: { cookie: cookies, origin, 'sec-fetch-site': 'same-origin' },
    })
    t.equal(me.status, 200, 'the cookie signs the member in')
    t.match(await me.text(), email)
    const renamed = cookies.replaceAll('__Host-', '')
    const other = await fetch(`${g.url}/api/membership/auth/session`, {
      headers: { cookie: renamed, 'sec-fetch-site': 'same-origin' },
    })
    t.equal(other.status, prefix === '' ? 200 : 401, 'a cookie without the prefix counts over http alone')
  })
}
