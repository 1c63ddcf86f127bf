import t from 'tap'
import { pages } from '../../../src/pages/pages.ts'
import { Browser } from '../../support/browser.ts'
import { startGateway } from '../../support/gateway.ts'

// A page with a part that only a request gives has its own test: journeys/connect.
const plain = pages.filter(({ path }) => !path.includes(':'))
const paths = [...plain.map(({ path }) => path), '/no-such-page']
const memberPaths = plain.filter((page) => page.for === 'members').map(({ path }) => path)
const html = { accept: 'text/html,application/xhtml+xml' }

t.test('every page, also one that leads elsewhere or is missing, has the whole set of headers', async (t) => {
  const gateway = await startGateway(t)
  const browser = new Browser(gateway)
  for (const signedIn of [false, true]) {
    if (signedIn) await browser.signIn('mei@example.com')
    for (const path of paths) {
      const { status, headers } = await browser.get(gateway.url + path, html)
      const at = `${path}${signedIn ? ', signed in' : ''}`
      t.equal(headers.get('x-content-type-options'), 'nosniff', at)
      t.equal(headers.get('referrer-policy'), 'same-origin', at)
      t.match(headers.get('cache-control'), 'no-store', at)
      t.match(headers.get('x-request-id'), /^mbr_/, at)
      if (status === 303) continue
      const policy = (headers.get('content-security-policy') ?? '').split('; ')
      for (const rule of [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
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

t.test('over https a browser is told to stay there', async (t) => {
  const gateway = await startGateway(t, { listen: { siteUrl: 'https://gateway.example' } })
  const response = await fetch(`${gateway.url}/`)
  t.match(response.headers.get('strict-transport-security'), /^max-age=\d{8}/)
})

t.test('pages of members lead whoever is not signed in to sign in, and back', async (t) => {
  const gateway = await startGateway(t)
  for (const path of [...memberPaths, '/device?user_code=ABCD-EFGH']) {
    const response = await fetch(gateway.url + path, { redirect: 'manual' })
    t.equal(response.status, 303)
    const to = new URL(response.headers.get('location') ?? '', gateway.url)
    t.equal(to.pathname, '/sign-in')
    t.equal(to.searchParams.get('next'), path)
  }
})

t.test('whoever is signed in is led on from the sign-in page, on the site alone', async (t) => {
  const gateway = await startGateway(t)
  const browser = new Browser(gateway)
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

t.test('a key in the cookie’s place signs nobody in', async (t) => {
  const gateway = await startGateway(t)
  const { token } = await gateway.member()
  const response = await fetch(`${gateway.url}/account`, {
    redirect: 'manual',
    headers: { cookie: `svc_membership_session=${token}` },
  })
  t.equal(response.status, 303)
  t.match(response.headers.get('location'), '/sign-in')
})

t.test('two session cookies are refused with a page, not guessed between', async (t) => {
  const gateway = await startGateway(t)
  const response = await fetch(`${gateway.url}/account`, {
    redirect: 'manual',
    headers: { ...html, cookie: 'svc_membership_session=a; svc_membership_session=b' },
  })
  t.equal(response.status, 400)
  t.match(response.headers.get('content-type'), 'text/html')
  t.match(await response.text(), 'the session cookie was sent twice')
})

t.test('the language is the browser’s, until it is chosen; the choice stays and leaves the address', async (t) => {
  const gateway = await startGateway(t)
  const browser = new Browser(gateway)
  t.match((await browser.get(`${gateway.url}/`, { 'accept-language': 'zh-CN' })).body, '<html lang="zh-CN">')
  const { status, headers } = await browser.get(`${gateway.url}/sign-in?invite=AB1&lang=zh`)
  t.equal(status, 303)
  t.equal(headers.get('location'), '/sign-in?invite=AB1')
  const within = await browser.get(`${gateway.url}/connect/some-request?lang=zh`)
  t.equal(within.headers.get('location'), '/connect/some-request', 'also of a page with a part that only a request gives')
  t.match((await browser.get(`${gateway.url}/`, { 'accept-language': 'en' })).body, '<html lang="zh-CN">')
})

t.test('choosing a language leads nowhere else, whatever the path', async (t) => {
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
    t.match(await response.text(), '页面不存在', 'and the page that says so is in that language')
  }
})

t.test('no form puts what is typed into the address where scripts do not run', async (t) => {
  const gateway = await startGateway(t)
  const browser = new Browser(gateway)
  let seen = 0
  const check = async (path: string): Promise<void> => {
    const forms = String((await browser.get(gateway.url + path, html)).body).match(/<form[^>]*>/g) ?? []
    seen += forms.length
    for (const form of forms) t.match(form, /method="(post|dialog)"/, `${path}: ${form}`)
  }
  await check('/sign-in')
  await browser.signIn('mei@example.com')
  for (const path of memberPaths) await check(path)
  t.ok(seen > 5, `${seen} forms`)
})

t.test('what an address says is shown as text', async (t) => {
  const gateway = await startGateway(t)
  const nasty = '"><script>alert(1)</script>'
  const browser = new Browser(gateway)
  for (const path of ['/sign-in?invite=', '/sign-in?next=', '/?x=', '/sign-in?error='])
    t.notMatch((await browser.get(gateway.url + path + encodeURIComponent(nasty), html)).body, '<script>alert', path)
  await browser.signIn('mei@example.com')
  t.notMatch((await browser.get(`${gateway.url}/device?user_code=${encodeURIComponent(nasty)}`, html)).body, '<script>alert')
})

t.test('plans and prices are the configured ones', async (t) => {
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
    prices: { light: { input: 1, output: 2, discountPercent: 50 } },
  })
  const page = await (await fetch(`${gateway.url}/`)).text()
  for (const text of ['Crew', '€12.5', '77 requests a minute', '50% off', 'Harbour &lt;Models&gt;']) t.match(page, text)
  t.notMatch(page, 'Harbour <Models>')
})

t.test('the documents say where the command line comes from', async (t) => {
  const cliPackageUrl = 'https://site.example/svc-gateway-0.1.0.tgz'
  const named = await startGateway(t, { brand: { cliPackageUrl } })
  t.match(await (await fetch(`${named.url}/docs`)).text(), `npm install --global ${cliPackageUrl}`)
  const unnamed = await startGateway(t)
  const page = await (await fetch(`${unnamed.url}/docs`)).text()
  t.match(page, 'Whoever runs this service can give you the command')
  t.notMatch(page, 'npm install --global')
})

t.test('the documents name the reader’s own addresses', async (t) => {
  const gateway = await startGateway(t, { listen: { siteUrl: 'https://site.example', baseUrl: 'https://api.example' } })
  const page = await (await fetch(`${gateway.url}/docs`)).text()
  for (const text of [
    'https://api.example/v1/chat/completions',
    'https://api.example/v1/mcp',
    'https://site.example/api/membership/auth/device/start',
  ])
    t.match(page, text)
  const tools = [
    'curl',
    'OpenAI · Python',
    'OpenAI · JavaScript',
    'Claude Code',
    'Cursor',
    'VS Code',
    'Codex',
    'Open WebUI',
    'LibreChat',
    'svc',
  ]
  for (const tool of tools) t.match(page, `>${tool}</h3>`, tool)
  t.match(page, /version: \d+\.\d+\.\d+\nendpoints:\n/, 'LibreChat reads no file without a version')
  t.notMatch(page, gateway.url, 'and not where this process happens to listen')
})

t.test('files are cached for good under their hash, compressed, and the folder gives nothing else', async (t) => {
  const gateway = await startGateway(t)
  const page = await (await fetch(`${gateway.url}/`)).text()
  const address = /href="(\/assets\/[^"]+\/site\.css)"/.exec(page)?.[1] ?? ''
  const sheet = await fetch(gateway.url + address, { headers: { 'accept-encoding': 'br' } })
  t.equal(sheet.headers.get('cache-control'), 'public, max-age=31536000, immutable')
  t.equal(sheet.headers.get('content-encoding'), 'br')
  t.equal(sheet.headers.get('content-type'), 'text/css; charset=utf-8')
  t.match(await sheet.text(), ':root')
  const old = await fetch(gateway.url + address.replace(/assets\/[^/]+/, 'assets/of-before'))
  t.equal(old.headers.get('cache-control'), 'no-store', 'today’s file for yesterday’s address, but not for good')
  for (const name of ['..%2Fassets.ts', '%2e%2e%2fpages.ts', 'nothing.js', 'site.css%00'])
    t.equal((await fetch(`${gateway.url}/assets/x/${name}`)).status, 404, name)
})

t.test('programs that miss an endpoint get the envelope, people get a page', async (t) => {
  const gateway = await startGateway(t)
  const program = await fetch(`${gateway.url}/no-such-page`, { headers: { accept: '*/*' } })
  t.match(await program.json(), { ok: false, code: 'not_found' })
  const person = await fetch(`${gateway.url}/no-such-page`, { headers: html })
  t.equal(person.status, 404)
  t.match(await person.text(), 'This page does not exist')
  const api = await fetch(`${gateway.url}/v1/no-such-thing`, { headers: html })
  t.match(await api.json(), { ok: false, code: 'not_found' }, 'under the API always the envelope')
})
