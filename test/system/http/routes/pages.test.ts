import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import t from 'tap'
import { request } from 'undici'
import { pages } from '../../../../src/pages/pages.ts'
import { WebsiteClient } from '../../../support/gateway/website-client.ts'
import { startGateway } from '../../../support/gateway/test-gateway.ts'

// Pages with a path parameter that only a request provides have their own test: test/system/e2e/website/sign-in/oauth-consent.test.ts.
const plain = pages.filter(({ path }) => !path.includes(':'))
const paths = [...plain.map(({ path }) => path), '/no-such-page']
const memberPaths = plain.filter((page) => page.audience === 'members').map(({ path }) => path)
const html = { accept: 'text/html,application/xhtml+xml' }

t.test('sends the whole set of headers with every page, redirects and missing pages included', async (t) => {
  const gateway = await startGateway(t)
  const browser = new WebsiteClient(gateway)
  for (const signedIn of [false, true]) {
    if (signedIn) await browser.signIn('mei@example.com')
    for (const path of paths) {
      const { status, headers } = await browser.get(gateway.url + path, html)
      const at = `${path}${signedIn ? ', signed in' : ''}`
      t.equal(headers.get('x-content-type-options'), 'nosniff', at)
      const isPrivate = pages.some((page) => page.path === path && page.hasPrivateAddress === true)
      t.equal(headers.get('referrer-policy'), isPrivate ? 'strict-origin' : 'same-origin', at)
      t.match(headers.get('cache-control'), 'no-store', at)
      t.match(headers.get('x-request-id'), /^mbr_/, at)
      if (status === 303) continue
      const policy = (headers.get('content-security-policy') ?? '').split('; ')
      for (const rule of [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "font-src 'self'",
        "connect-src 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
        "form-action 'self'",
      ])
        t.ok(policy.includes(rule), `${at}: ${rule}`)
      t.notMatch(policy.join(' '), 'unsafe', at)
      t.equal(headers.get('cross-origin-opener-policy'), 'same-origin', at)
      t.equal(headers.get('x-frame-options'), 'DENY', at)
      t.match(headers.get('permissions-policy'), 'camera=()', at)
      t.match(headers.get('vary'), /accept-language/i, at)
      t.equal(headers.get('strict-transport-security'), null, 'none over plain http')
    }
  }
})

t.test('sends HSTS over https', async (t) => {
  const gateway = await startGateway(t, { listen: { siteUrl: 'https://gateway.example' } })
  const response = await fetch(`${gateway.url}/`)
  t.match(response.headers.get('strict-transport-security'), /^max-age=\d{8}/)
})

t.test('redirects signed-out visitors of members’ pages to sign-in, and back afterwards', async (t) => {
  const gateway = await startGateway(t)
  for (const path of [...memberPaths, '/device?user_code=ABCD-EFGH']) {
    const response = await fetch(gateway.url + path, { redirect: 'manual' })
    t.equal(response.status, 303)
    const to = new URL(response.headers.get('location') ?? '', gateway.url)
    t.equal(to.pathname, '/sign-in')
    t.equal(to.searchParams.get('next'), path)
  }
})

t.test('redirects signed-in members away from the sign-in page, within the site alone', async (t) => {
  const gateway = await startGateway(t)
  const browser = new WebsiteClient(gateway)
  await browser.signIn('mei@example.com')
  for (const [next, to] of [
    ['/keys', '/keys'],
    ['//evil.example', '/account'],
    ['https://evil.example/', '/account'],
    ['/%5Cevil.example', '/%5Cevil.example'],
  ]) {
    const { status, headers } = await browser.get(`${gateway.url}/sign-in?next=${encodeURIComponent(next ?? '')}`)
    t.equal(status, 303)
    t.equal(new URL(headers.get('location') ?? '', gateway.url).href, `${gateway.url}${to}`)
  }
})

t.test('does not accept an API key as the cookie', async (t) => {
  const gateway = await startGateway(t)
  const { token } = await gateway.createMember()
  const response = await fetch(`${gateway.url}/account`, {
    redirect: 'manual',
    headers: { cookie: `svc_membership_session=${token}` },
  })
  t.equal(response.status, 303)
  t.match(response.headers.get('location'), '/sign-in')
})

t.test('uses the browser’s language until one is chosen; the choice is kept in a cookie and leaves the address', async (t) => {
  const gateway = await startGateway(t)
  const browser = new WebsiteClient(gateway)
  t.match((await browser.get(`${gateway.url}/`, { 'accept-language': 'zh-CN' })).body, '<html lang="zh-CN">')
  const { status, headers } = await browser.get(`${gateway.url}/sign-in?invite=AB1&lang=zh`)
  t.equal(status, 303)
  t.equal(headers.get('location'), '/sign-in?invite=AB1')
  const decided = await browser.get(`${gateway.url}/connect/some-request/decision?lang=zh`)
  t.equal(decided.headers.get('location'), '/connect/some-request?lang=zh', 'also after its form was sent')
  const within = await browser.get(`${gateway.url}/connect/some-request?lang=zh`)
  t.equal(
    within.headers.get('location'),
    '/connect/some-request',
    'also on a page with a path parameter that only a request provides',
  )
  t.match((await browser.get(`${gateway.url}/`, { 'accept-language': 'en' })).body, '<html lang="zh-CN">')
})

t.test('redirects only within the site when a language is chosen, whatever the path', async (t) => {
  const gateway = await startGateway(t)
  for (const path of [
    '//evil.example/?lang=zh',
    '/%2Fevil.example?lang=zh',
    '//evil.example/..//?lang=zh',
    '/no-such-page?lang=zh',
  ]) {
    const response = await fetch(gateway.url + path, { redirect: 'manual', headers: html })
    t.equal(response.status, 404, path)
    t.equal(response.headers.get('location'), null, path)
    t.match(await response.text(), '页面不存在', 'and the page is in that language')
  }
})

t.test('keeps form input out of the address where scripts do not run', async (t) => {
  const gateway = await startGateway(t)
  const browser = new WebsiteClient(gateway)
  let seen = 0
  const check = async (path: string): Promise<void> => {
    const forms =
      String((await browser.get(gateway.url + path, html)).body).match(
        /<form(?![^>]*(?:role="search"|data-auto-submit))[^>]*>/g,
      ) ?? []
    seen += forms.length
    for (const form of forms) t.match(form, /method="(post|dialog)"/, `${path}: ${form}`)
  }
  for (const path of ['/sign-in', '/docs']) await check(path)
  await browser.signIn('mei@example.com')
  for (const path of memberPaths) await check(path)
  t.ok(seen > 5, `${seen} forms`)
})

t.test('serves icons as PNG, at the addresses that browsers request by themselves too', async (t) => {
  const gateway = await startGateway(t)
  const page = await (await fetch(gateway.url)).text()
  const linked = (kind: string) => new RegExp(`<link rel="${kind}" href="([^"]*\\.png)"`).exec(page)?.[1] ?? ''
  for (const [path, size] of [
    [linked('icon'), 48],
    ['/favicon.ico', 48],
    [linked('apple-touch-icon'), 180],
    ['/apple-touch-icon.png', 180],
  ] as const) {
    const response = await fetch(gateway.url + path)
    t.equal(response.headers.get('content-type'), 'image/png', path)
    t.match(response.headers.get('cache-control'), 'max-age', path)
    const image = Buffer.from(await response.arrayBuffer())
    t.equal(image.toString('latin1', 1, 4), 'PNG')
    t.same([image.readUInt32BE(16), image.readUInt32BE(20)], [size, size], path)
  }
})

t.test('shows query parameters as text', async (t) => {
  const gateway = await startGateway(t)
  const nasty = '"><script>alert(1)</script>'
  const browser = new WebsiteClient(gateway)
  for (const path of ['/sign-in?invite=', '/sign-in?next=', '/?x=', '/sign-in?error='])
    t.notMatch((await browser.get(gateway.url + path + encodeURIComponent(nasty), html)).body, '<script>alert', path)
  await browser.signIn('mei@example.com')
  t.notMatch((await browser.get(`${gateway.url}/device?user_code=${encodeURIComponent(nasty)}`, html)).body, '<script>alert')
})

t.test('shows the configured plans and prices', async (t) => {
  const pool = { day: 1_000_000, week: 2_000_000, month: 3_000_000 }
  const crew = {
    name: 'Crew',
    prices: [{ amount: 12.5, currency: 'EUR' }],
    rpm: 77,
    concurrency: 3,
    pools: { fast: pool, premium: pool },
  }
  const gateway = await startGateway(t, {
    brand: { name: 'Harbour <Models>' },
    plans: { crew },
    prices: { light: { input: 1, cachedInput: 0.1, output: 2, discountPercent: 50 } },
  })
  const page = await (await fetch(`${gateway.url}/`)).text()
  for (const text of ['Crew', '€12.5', '50% off', 'Harbour &lt;Models&gt;']) t.match(page, text)
  t.notMatch(page, 'Harbour <Models>')
  t.match(page, />\s*Cached input\s*<\/th>/)
  t.match(page, /\$0\.05<\/span>\s*<s><span class="unseen">list price <\/span>\$0\.1</, 'the price of cached tokens')
  const models = await (await fetch(`${gateway.url}/docs/models`)).text()
  for (const text of ['Cached input', '$0.05', 'read from its cache']) t.match(models, text)
  const plans = await (await fetch(`${gateway.url}/plans`)).text()
  for (const text of ['Crew', '€12.5', '77 requests a minute', '≈ 400']) t.match(plans, text)
})

t.test('serves assets compressed and immutable under their hash, and nothing else of the folder', async (t) => {
  const gateway = await startGateway(t)
  const page = await (await fetch(`${gateway.url}/`)).text()
  const address = /href="(\/assets\/[^"]+\/site\.css)"/.exec(page)?.[1] ?? ''
  const sheet = await fetch(gateway.url + address, { headers: { 'accept-encoding': 'br' } })
  t.equal(sheet.headers.get('cache-control'), 'public, max-age=31536000, immutable')
  t.equal(sheet.headers.get('content-encoding'), 'br')
  t.equal(sheet.headers.get('content-type'), 'text/css; charset=utf-8')
  t.match(await sheet.text(), ':root')
  const preloaded = /<link rel="preload" href="(\/assets\/[^"]+)" as="font" type="font\/woff2" crossorigin/.exec(page)?.[1] ?? ''
  const font = await fetch(gateway.url + preloaded, { headers: { 'accept-encoding': 'br' } })
  t.equal(font.headers.get('cache-control'), 'public, max-age=31536000, immutable')
  t.equal(font.headers.get('content-encoding'), null, 'the format is compressed')
  t.equal(font.headers.get('content-type'), 'font/woff2')
  t.equal((await font.bytes()).subarray(0, 4).toString(), Buffer.from('wOF2').join(','))
  const old = await fetch(gateway.url + address.replace(/assets\/[^/]+/, 'assets/of-before'))
  t.equal(old.headers.get('cache-control'), 'no-store', 'the current file for an old address, uncached')
  for (const name of ['tokens.css', 'inter-license.txt', '..%2Fassets.ts', '%2e%2e%2fpages.ts', 'nothing.js', 'site.css%00'])
    t.equal((await fetch(`${gateway.url}/assets/x/${name}`)).status, 404, name)
})

t.test('answers unknown paths with the envelope for programs and a page for people', async (t) => {
  const gateway = await startGateway(t)
  const program = await fetch(`${gateway.url}/no-such-page`, { headers: { accept: '*/*' } })
  t.match(await program.json(), { ok: false, code: 'not_found' })
  const person = await fetch(`${gateway.url}/no-such-page`, { headers: html })
  t.equal(person.status, 404)
  t.match(await person.text(), 'This page does not exist')
  const api = await fetch(`${gateway.url}/v1/no-such-thing`, { headers: html })
  t.match(await api.json(), { ok: false, code: 'not_found' }, 'under the API always the envelope')
})

t.test('answers a refused method with a page for people and the envelope for programs', async (t) => {
  const gateway = await startGateway(t)
  const person = await fetch(`${gateway.url}/docs`, { method: 'DELETE', headers: html })
  t.equal(person.status, 405)
  t.match(person.headers.get('allow'), 'GET')
  t.match(await person.text(), 'This method is not supported here.')
  const program = await fetch(`${gateway.url}/docs`, { method: 'DELETE' })
  t.match(await program.json(), { ok: false, code: 'method_not_allowed' })
  for (const accept of ['*/*', 'application/json, text/html;q=0.5', 'text/html;q=0, application/json'])
    t.match(await (await fetch(`${gateway.url}/docs`, { method: 'DELETE', headers: { accept } })).json(), { ok: false }, accept)
  const unknown = await fetch(`${gateway.url}/no-such-page`, { method: 'POST', headers: html })
  t.equal(unknown.status, 404)
  t.match(await unknown.text(), 'This page does not exist')
  const api = await fetch(`${gateway.url}/v1/models`, { method: 'DELETE', headers: html })
  t.match(await api.json(), { code: 'method_not_allowed' })
})

t.test('compresses pages and JSON as the client accepts, but no response to a POST and none that is small', async (t) => {
  const gateway = await startGateway(t)
  const get = async (path: string, encoding: string, method = 'GET') => {
    const { body, headers, statusCode } = await request(gateway.url + path, {
      method,
      headers: { 'accept-encoding': encoding, 'accept-language': 'en', accept: 'text/html' },
    })
    const bytes = Buffer.from(await body.arrayBuffer())
    return { bytes, headers, statusCode, encoding: headers['content-encoding'] }
  }
  for (const path of ['/', '/docs', '/api/membership/plans', '/no-such-page']) {
    const plain = await get(path, 'identity')
    t.equal(plain.encoding, undefined, path)
    for (const [accepted, expected, decode] of [
      ['gzip, deflate, br', 'br', brotliDecompressSync],
      ['gzip', 'gzip', gunzipSync],
    ] as const) {
      const packed = await get(path, accepted)
      t.equal(packed.encoding, expected, path)
      t.equal(packed.statusCode, plain.statusCode, path)
      t.equal(packed.headers['content-type'], plain.headers['content-type'], path)
      t.match(String(packed.headers.vary), /accept-encoding/i, path)
      t.equal(Number(packed.headers['content-length']), packed.bytes.length, path)
      t.ok(packed.bytes.length * 2 < plain.bytes.length, `${path}: ${packed.bytes.length} of ${plain.bytes.length} bytes`)
      const strip = (text: Buffer) => text.toString().replaceAll(/mbr_\w+/g, '')
      t.equal(strip(decode(packed.bytes)), strip(plain.bytes), path)
    }
  }
  t.equal((await get('/api/membership/session', 'br')).encoding, undefined, 'a small response')
  t.equal((await get('/', 'br', 'HEAD')).encoding, undefined)
  const signIn = await fetch(`${gateway.url}/api/membership/auth/device/start`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ client: 'svc-cli' }),
  })
  t.equal(signIn.headers.get('content-encoding'), null)
})
