import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { startGateway } from '../../../support/gateway/test-gateway.ts'

const html = { accept: 'text/html', 'accept-language': 'en' }

t.test('robots.txt hides what needs an account and names the site map, whose pages all exist', async (t) => {
  const gateway = await startGateway(t)
  const robots = await fetch(`${gateway.url}/robots.txt`)
  t.match(robots.headers.get('content-type'), 'text/plain')
  const text = await robots.text()
  for (const path of ['/account', '/keys', '/chat', '/connect/', '/api/', '/v1/']) t.match(text, `\nDisallow: ${path}\n`)
  t.match(text, `\nSitemap: ${gateway.url}/sitemap.xml\n`)
  const map = await (await fetch(`${gateway.url}/sitemap.xml`)).text()
  const urls = [...map.matchAll(/<loc>([^<]+)<\/loc>/g)].map(([, url = '']) => url)
  t.ok(urls.includes(`${gateway.url}/plans`) && urls.includes(`${gateway.url}/docs`), urls.join(' '))
  t.notOk(urls.includes(`${gateway.url}/terms`), 'the operator has no terms')
  for (const url of urls) t.equal((await fetch(url, { headers: html })).status, 200, url)
})

t.test('llms.txt names the addresses, the models and the documentation', async (t) => {
  const gateway = await startGateway(t)
  const text = await (await fetch(`${gateway.url}/llms.txt`)).text()
  t.match(text, /^# svc\n\n> /)
  t.match(text, `${gateway.url}/v1`)
  t.match(text, '- `svc-2.1`')
  t.match(text, `${gateway.url}/docs`)
})

t.test('terms and privacy are the operator’s own texts: a file in either language, or an address elsewhere', async (t) => {
  const folder = t.testdir()
  const terms = join(folder, 'terms.md')
  writeFileSync(terms, '# Terms of Example Ltd\n\n## Payment {#payment}\n\nNo <b>refunds</b> after **14 days**.\n')
  const gateway = await startGateway(t, { site: { terms: { en: terms }, privacy: { zh: 'https://example.com/privacy' } } })
  const page = await (await fetch(`${gateway.url}/terms`, { headers: { ...html, 'accept-language': 'zh' } })).text()
  t.match(page, '<h1>Terms of Example Ltd</h1>')
  t.match(page, '<h2 id="payment">')
  t.match(page, 'No &lt;b&gt;refunds&lt;/b&gt; after <strong>14 days</strong>.')
  t.equal((await fetch(`${gateway.url}/privacy`, { headers: html })).status, 404)
  const home = await (await fetch(gateway.url, { headers: html })).text()
  t.match(home, '<a href="/terms">Terms</a>')
  t.match(home, '<a href="https://example.com/privacy">Privacy</a>')
  t.match(await (await fetch(`${gateway.url}/sitemap.xml`)).text(), `${gateway.url}/terms`)
})

t.test('a file of terms that does not exist is refused at the start', async (t) => {
  await t.rejects(startGateway(t, { site: { terms: { en: '/no/such/terms.md' } } }), /site\.terms\.en: there is no file/)
})

t.test('a link to a public page shows a card with a picture that exists', async (t) => {
  const gateway = await startGateway(t)
  for (const path of ['/', '/plans', '/docs']) {
    const page = await (await fetch(gateway.url + path, { headers: html })).text()
    const read = (name: string) => new RegExp(`<meta property="og:${name}" content="([^"]+)"`).exec(page)?.[1] ?? ''
    for (const name of ['title', 'description', 'site_name', 'locale']) t.ok(read(name).length > 1, `${path} ${name}`)
    t.equal(read('url'), gateway.url + path)
    const picture = await fetch(read('image'))
    t.equal(picture.headers.get('content-type'), 'image/png', path)
    const bytes = Buffer.from(await picture.arrayBuffer())
    t.same([bytes.readUInt32BE(16), bytes.readUInt32BE(20)], [1200, 630])
  }
})
