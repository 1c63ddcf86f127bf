/** The documentation: every page in both languages, as HTML and as Markdown. */
import t from 'tap'
import { errorCatalog } from '../../../src/errors.ts'
import { searchDocs } from '../../../src/pages/docs/search-docs.ts'
import { docsPages } from '../../../src/pages/docs/docs-pages.ts'
import { clientEntries } from '../../../src/setup/client-setups.ts'
import { startGateway } from '../../support/gateway/test-gateway.ts'

const listen = { siteUrl: 'https://site.example', baseUrl: 'https://api.example' }

t.test('every page is served in both languages, with anchors that its links and the list of the page name', async (t) => {
  const gateway = await startGateway(t, { listen })
  const anchors = new Map<string, Set<string>>()
  const links: string[] = []
  for (const { path, title } of docsPages)
    for (const language of ['en', 'zh'] as const) {
      const response = await fetch(gateway.url + path, { headers: { 'accept-language': language } })
      t.equal(response.status, 200, path)
      const page = await response.text()
      t.match(page, `<title>${path === '/docs' ? '' : title[language]}`, path)
      t.notMatch(page, gateway.url, `${path} has the configured addresses`)
      t.notMatch(page, /undefined|\[object|\{#/, path)
      const ids = [...page.matchAll(/ id="([^"]+)"/g)].map(([, id = '']) => id)
      t.equal(new Set(ids).size, ids.length, `${path}: each id once`)
      anchors.set(path, new Set(ids))
      links.push(
        ...[...page.matchAll(/href="(\/docs[^"]*|#[^"]+)"/g)].map(([, to = '']) => (to.startsWith('#') ? path + to : to)),
      )
    }
  for (const link of new Set(links)) {
    const [path = '', anchor] = link.replace(/\.md$/, '').split('#')
    t.ok(anchors.has(path), link)
    if (anchor !== undefined) t.ok(anchors.get(path)?.has(anchor), link)
  }
})

t.test('every error code has an anchor, to which failures link, and every client has a page', async (t) => {
  const gateway = await startGateway(t)
  const failure = await fetch(`${gateway.url}/v1/models`)
  const [, address = '', code] = /^<(.+)#(\w+)>; rel="help"$/.exec(failure.headers.get('link') ?? '') ?? []
  t.same([address, code], [`${gateway.url}/docs/errors`, 'sign_in_required'])
  const page = await (await fetch(address)).text()
  for (const code of Object.keys(errorCatalog)) t.match(page, `id="${code}"`, code)
  const tools = await (await fetch(`${gateway.url}/docs/tools`)).text()
  for (const { id } of clientEntries) t.match(tools, `href="/docs/tools/${id}"`)
})

t.test('each page is also Markdown, with snippets for this installation', async (t) => {
  const gateway = await startGateway(t, { listen, brand: { cliPackageUrl: 'https://site.example/svc.tgz' } })
  const read = async (path: string, language = 'en') => {
    const response = await fetch(`${gateway.url}${path}.md`, { headers: { 'accept-language': language } })
    t.equal(response.headers.get('content-type'), 'text/markdown; charset=utf-8', path)
    return response.text()
  }
  for (const { path, title } of docsPages) {
    t.match(await read(path), /^# \S/, path)
    t.notMatch(await read(path), /\{#|^```\w+:/m, `${path} has no marks of ours`)
    t.match(await read(path, 'zh'), path === '/docs/tools' ? '# 工具' : `# ${title.zh}`)
  }
  t.match(await read('/docs'), 'curl https://api.example/v1/chat/completions')
  t.match(await read('/docs/tools/codex'), 'base_url = "https://api.example/v1"')
  t.match(await read('/docs/tools/claude'), '"ANTHROPIC_BASE_URL": "https://api.example"')
  t.match(await read('/docs/search-and-images'), 'https://api.example/v1/mcp')
  t.match(await read('/docs/cli'), 'npm install --global https://site.example/svc.tgz')
  t.match(await read('/docs/cli'), 'https://site.example/api/membership/auth/device/start')
  t.match(
    await read('/docs/tools/librechat'),
    /version: \d+\.\d+\.\d+\nendpoints:\n/,
    'LibreChat reads no file without a version',
  )
})

t.test('the search finds sections by their words, in the reader’s language, and escapes what was typed', async (t) => {
  const gateway = await startGateway(t)
  const find = async (query: string, language = 'en') =>
    (
      await fetch(`${gateway.url}/docs/search?${new URLSearchParams({ q: query })}`, { headers: { 'accept-language': language } })
    ).text()
  t.match(await find('idempotency'), 'href="/docs/limits#idempotency"')
  t.match(await find('Claude defaultMode'), 'href="/docs/tools/claude')
  t.match(await find('每分钟', 'zh'), 'href="/docs/limits#requests"')
  const nothing = await find('<script>zebra')
  t.match(nothing, 'Nothing found for “&lt;script&gt;zebra”.')
  t.notMatch(nothing, '<script>zebra')
  t.match(await find(`${'a '.repeat(5000)}`), 'found for')
})

t.test('the search finds what members ask about their account, in both languages', async (t) => {
  const { services } = await startGateway(t)
  for (const [language, queries] of [
    ['en', ['delete account', 'refund', 'invite', 'privacy', 'unsubscribe', 'change email', 'password']],
    ['zh', ['注销账户', '退款', '邀请', '隐私', '退订', '密码']],
  ] as const)
    for (const query of queries) t.equal(searchDocs(query, services, language)[0]?.path.split('#')[0], '/docs/account', query)
})

t.test('where plans are sold, the search finds how to buy, cancel and get a receipt, in both languages', async (t) => {
  const { services } = await startGateway(t, { payments: { demo: true } })
  for (const [language, queries] of [
    ['en', { refund: 'refunds', receipt: 'receipts', cancel: 'cancel', invoice: 'receipts', renewal: 'renewals', buy: 'buy' }],
    ['zh', { 退款: 'refunds', 收据: 'receipts', 取消: 'cancel', 发票: 'receipts', 续费: 'renewals', 购买: 'buy' }],
  ] as const)
    for (const [query, section] of Object.entries(queries)) {
      const found = searchDocs(query, services, language).map(({ path }) => path)
      t.ok(found.includes(`/docs/buying#${section}`), `${query}: ${found.join(' ')}`)
    }
  const closed = await startGateway(t)
  t.notOk(searchDocs('receipt', closed.services, 'en').some(({ path }) => path.startsWith('/docs/buying#')))
})
