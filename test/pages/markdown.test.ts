import type { Browser, Page } from 'playwright-core'
import t from 'tap'
import { openChromium, visitor } from '../support/chromium.ts'
import { atOnceMs, startGateway } from '../support/gateway.ts'

const browser = await openChromium(t)
if (browser !== undefined) promises(browser)

interface Made {
  readonly html: string
  readonly tags: readonly string[]
  readonly attributes: readonly string[]
  readonly addresses: readonly string[]
}

/** The renderer runs where it belongs, in a page of ours with its content policy; told back is what it made. */
async function renderer(page: Page): Promise<(text: string) => Promise<Made>> {
  await page.goto('/')
  const address = await page.locator('script[src$="/site.js"]').getAttribute('src')
  const module = (address ?? '').replace('site.js', 'markdown.js')
  return (text) =>
    page.evaluate(`import(${JSON.stringify(module)}).then(({ renderMarkdown }) => {
      const box = document.createElement('div')
      box.append(renderMarkdown(${JSON.stringify(text)}, { imageOrigins: [location.origin] }))
      const all = [...box.querySelectorAll('*')]
      return {
        html: box.innerHTML,
        tags: all.map(({ localName }) => localName),
        attributes: all.flatMap((node) => node.getAttributeNames()),
        addresses: all.flatMap((node) => [node.getAttribute('href'), node.getAttribute('src')]).filter((value) => value !== null),
      }
    })`)
}

/** Milliseconds that a text takes, counted in the page. */
async function stopwatch(page: Page): Promise<(text: string) => Promise<number>> {
  await renderer(page)
  const address = await page.locator('script[src$="/site.js"]').getAttribute('src')
  const module = (address ?? '').replace('site.js', 'markdown.js')
  return (text) =>
    page.evaluate(`import(${JSON.stringify(module)}).then(({ renderMarkdown }) => {
      const began = performance.now()
      renderMarkdown(${JSON.stringify(text)}, { imageOrigins: [] })
      return performance.now() - began
    })`)
}

/** Each makes a pattern that looks for the other end look through all the rest. */
const beginnings = [
  '**a ',
  '__a ',
  '~~a ',
  '*a ',
  '`a ``b ',
  '[a](',
  '![',
  '[',
  '[a[',
  '<https://a',
  '``',
  '**a **b__ ',
  '- ',
  '> ',
  '|',
].map((piece) => piece.repeat(Math.ceil(32_000 / piece.length)))
/** And these make a reader of nested or neighbouring marks begin over and over. */
const crossings = [
  'a*_'.repeat(10_000),
  'a***'.repeat(8_000),
  '(http://a'.repeat(4_000),
  `${'**a '.repeat(3_000)}${'a**'.repeat(3_000)}`,
  `${'~~a '.repeat(3_000)}${'a~~ '.repeat(3_000)}`,
  `${'a|'.repeat(5_000)}\n${'-|'.repeat(5_000)}\n${'|\n'.repeat(5_000)}`,
]
const bombs = [
  ...beginnings,
  ...crossings,
  Array.from({ length: 250 }, (_, size) => '`'.repeat(size)).join(' '),
  `a|b\n${' '.repeat(32_000)}x`,
  `${'|'.repeat(10_000)}\n|-|\n${'|\n'.repeat(10_000)}`,
  `https://${'.'.repeat(64_000)}`,
]

const shapes: readonly [markdown: string, html: string][] = [
  ['Hello *there*, **you** and ~~them~~', '<p>Hello <em>there</em>, <strong>you</strong> and <del>them</del></p>'],
  ['# One\n### Three', '<h3>One</h3><h5>Three</h5>'],
  ['## Two ##  \n# C#', '<h4>Two</h4><h3>C#</h3>'],
  ['- a\n- b\n  - c\n- d', '<ul><li>a</li><li>b<ul><li>c</li></ul></li><li>d</li></ul>'],
  ['3. a\n4. b', '<ol start="3"><li>a</li><li>b</li></ol>'],
  ['> quoted\n> more', '<blockquote><p>quoted more</p></blockquote>'],
  ['a  \nb', '<p>a<br>b</p>'],
  ['---', '<hr>'],
  ['`a < b`', '<p><code>a &lt; b</code></p>'],
  ['snake_case_name and 2*3*4', '<p>snake_case_name and 2<em>3</em>4</p>'],
  ['\\*not emphasis\\*', '<p>*not emphasis*</p>'],
  ['unfinished **bold', '<p>unfinished **bold</p>'],
  [
    '[text](https://example.com/a)',
    '<p><a href="https://example.com/a" target="_blank" rel="noopener noreferrer nofollow">text</a></p>',
  ],
  [
    'see https://example.com/x.',
    '<p>see <a href="https://example.com/x" target="_blank" rel="noopener noreferrer nofollow">https://example.com/x</a>.</p>',
  ],
]

/** None of these may leave anything in the page that runs, loads or leads where it should not. */
const attacks = [
  '<script>window.hit = 1</script>',
  '<img src=x onerror="window.hit = 1">',
  '<svg/onload=window.hit=1>',
  '<iframe src="https://evil.example"></iframe>',
  '[click](javascript:window.hit=1)',
  '[click](JaVaScRiPt:window.hit=1)',
  '[click]( javascript:window.hit=1)',
  '[click](java\tscript:window.hit=1)',
  '[click](data:text/html,<script>window.hit=1</script>)',
  '[click](vbscript:window.hit=1)',
  '<javascript:window.hit=1>',
  '![x](https://evil.example/pixel.png)',
  '![x](https://evil.example/v1/images/a.png)',
  '![x](https://evil.example@127.0.0.1/v1/images/a.png)',
  '![x](http://127.0.0.1:1/v1/images/a.png)',
  '![x](data:image/svg+xml,<svg onload=window.hit=1>)',
  '![x](//evil.example/pixel.png)',
  '![" onerror="window.hit=1](https://evil.example/a.png)',
  '![x](/api/membership/usage)',
  '[![x](https://evil.example/p.png)](javascript:window.hit=1)',
  '```"><script>window.hit=1</script>\ncode\n```',
  '| <img src=x onerror=window.hit=1> |\n|---|\n| [a](javascript:window.hit=1) |',
  '<a href="https://evil.example" onmouseover="window.hit=1">x</a>',
]

/** No picture is among them: none of the attacks names one of our own. */
const harmless = new Set([
  'p',
  'a',
  'span',
  'div',
  'code',
  'pre',
  'button',
  'table',
  'thead',
  'tbody',
  'tr',
  'th',
  'td',
  'br',
  'em',
  'strong',
])

function promises(browser: Browser): void {
  t.test('what chats write is shown as what it means', async (t) => {
    const gateway = await startGateway(t)
    const { page, context } = await visitor(browser, gateway.url)
    t.teardown(() => context.close())
    const render = await renderer(page)
    for (const [markdown, html] of shapes) t.equal((await render(markdown)).html, html, markdown)
    const { html: code } = await render('```js\nconst a = "<b>"\n```')
    t.match(code, '<code>const a = "&lt;b&gt;"</code>')
    const { html: table } = await render('| a | b |\n|---|:-:|\n| 1 | `x\\|y` |')
    t.match(table, '<th>a</th><th>b</th>')
    t.match(table, '<td>1</td><td><code>x|y</code></td>')
    const { html: own } = await render(`![a boat](${gateway.url}/v1/images/abc.png?exp=1&sig=x)`)
    t.match(own, `<img src="${gateway.url}/v1/images/abc.png?exp=1&amp;sig=x" alt="a boat"`)
  })

  t.test('no text takes a page long to read', async (t) => {
    const gateway = await startGateway(t)
    const { page, context } = await visitor(browser, gateway.url)
    t.teardown(() => context.close())
    const render = await renderer(page)
    const gap = ' '.repeat(20_000)
    for (const text of [`# a${gap}b`, `#${gap}b`, `# a${gap}#${gap}b`, `${gap}|\n${gap}x`, `- - -${gap}x`]) {
      const began = performance.now()
      await render(text)
      t.ok(performance.now() - began < atOnceMs, JSON.stringify(text.replaceAll(gap, '…')))
    }
  })

  t.test('an answer of nothing but beginnings is drawn as fast as another', async (t) => {
    const gateway = await startGateway(t)
    const { page, context } = await visitor(browser, gateway.url)
    t.teardown(() => context.close())
    const draw = await stopwatch(page)
    for (const text of bombs) {
      const ms = await draw(text)
      t.ok(ms < 2_000, `${JSON.stringify(text.slice(0, 12))} in ${Math.round(ms)} ms`)
    }
  })

  t.test('nothing a model writes runs, loads or leads astray', async (t) => {
    const gateway = await startGateway(t)
    const { page, context, problems } = await visitor(browser, gateway.url)
    t.teardown(() => context.close())
    const render = await renderer(page)
    for (const attack of attacks) {
      const { tags, attributes, addresses } = await render(attack)
      t.same(
        tags.filter((tag) => !harmless.has(tag)),
        [],
        `${attack} makes only harmless elements`,
      )
      t.same(
        attributes.filter((name) => name.startsWith('on') || name === 'style'),
        [],
        `${attack} listens to nothing`,
      )
      for (const address of addresses) t.match(address, /^(https?:\/\/|mailto:)/, `${attack} leads to ${address}`)
    }
    const ownButNoPicture = await render(`![x](${gateway.url}/api/membership/auth/sign-out)`)
    t.notOk(ownButNoPicture.tags.includes('img'), 'not even our own addresses are fetched, but for pictures')
    t.equal(await page.evaluate('window.hit'), undefined)
    t.same(problems, [])
  })

  t.test('a long or deeply nested answer does not hang the page', async (t) => {
    const gateway = await startGateway(t)
    const { page, context } = await visitor(browser, gateway.url)
    t.teardown(() => context.close())
    const render = await renderer(page)
    const heavy = [
      '> '.repeat(5_000) + 'deep',
      '['.repeat(5_000),
      '*'.repeat(20_000),
      '_a '.repeat(20_000),
      '`'.repeat(9_999),
      '![a]('.repeat(5_000),
      Array.from({ length: 2_000 }, (_, depth) => `${'  '.repeat(Math.min(depth, 200))}- item`).join('\n'),
      'word **bold** `code` '.repeat(10_000),
    ]
    for (const text of heavy) {
      const before = performance.now()
      t.ok((await render(text)).html.length > 0)
      t.ok(performance.now() - before < atOnceMs, `${text.slice(0, 12)}… in ${Math.round(performance.now() - before)} ms`)
    }
  })
}
