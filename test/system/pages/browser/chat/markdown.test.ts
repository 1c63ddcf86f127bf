/** The tree of an answer as elements of a page: cases, growing answers, hostile texts. */
import { fileURLToPath } from 'node:url'
import { buildSync } from 'esbuild'
import type { Browser } from 'playwright-core'
import t from 'tap'
import { markdownCases } from '../../../markdown/markdown-cases.ts'
import type { Test } from 'tap'
import { openChromium, openBrowserSession } from '../../../../support/website/chromium.ts'
import { maxImmediateMs, startGateway } from '../../../../support/gateway/test-gateway.ts'
import { openSignedIn } from '../../../../support/website/sign-in.ts'

const folder = fileURLToPath(new URL('../../../../../src/pages/browser/chat/', import.meta.url))
/** The renderer as a script, for a page of ours under its content policy. */
const script = buildSync({
  stdin: { contents: "import { AnswerBody } from './answer-body.ts'; globalThis.AnswerBody = AnswerBody", resolveDir: folder },
  alias: { entities: `${folder}html-entities.ts` },
  external: ['*/lazy/code-colors.ts', '*/lazy/formulas.ts'],
  bundle: true,
  write: false,
  format: 'iife',
}).outputFiles[0]!.text

/** In the page: renders texts, one after the other into one box, and reads a box back as a tree. */
const helpers = `
  globalThis.render = (...texts) => {
    const box = document.createElement('div')
    const body = new AnswerBody(box, { imageOrigins: [location.origin], idPrefix: 'n' })
    for (const text of texts.slice(0, -1)) body.grow(text)
    body.finish(texts.at(-1))
    return box
  }
  const inlines = (node) => [...node.childNodes].flatMap(toInline)
  const classAlignment = (cell) => cell.className === '' ? null : cell.className.replace('to-', '')
  function toInline(node) {
    if (node instanceof Text) return node.data === '' ? [] : { kind: 'text', text: node.data }
    switch (node.localName) {
      case 'em': return { kind: 'emphasis', children: inlines(node) }
      case 'strong': return { kind: 'strong', children: inlines(node) }
      case 'del': return { kind: 'strikethrough', children: inlines(node) }
      case 'code': return { kind: 'inline-code', text: node.textContent }
      case 'span': return { kind: 'inline-math', text: node.textContent }
      case 'br': return { kind: 'break' }
      case 'sup': return { kind: 'footnote-reference', label: node.textContent }
      case 'a': return { kind: 'link', url: node.href, children: inlines(node) }
    }
    throw new Error(node.outerHTML)
  }
  globalThis.toTree = (box) => [...box.children].map(toBlock)
  function toItem(item, tight) {
    const box = item.querySelector(':scope > input')
    const rest = [...item.childNodes].filter((node) => node !== box)
    const isBlock = (node) => node instanceof Element && /^(?:p|ul|ol|div|blockquote|hr|h\\d)$/.test(node.localName)
    const first = rest.findIndex(isBlock)
    const words = (first === -1 ? rest : rest.slice(0, first)).flatMap(toInline)
    const blocks = first === -1 ? [] : rest.slice(first).map(toBlock)
    return { checked: box === null ? null : box.checked, children: [...(words.length ? [{ kind: 'paragraph', children: words }] : []), ...blocks] }
  }
  function toBlock(node) {
    switch (node.localName) {
      case 'p': return { kind: 'paragraph', children: inlines(node) }
      case 'h3': case 'h4': case 'h5': case 'h6': return { kind: 'heading', level: { h3: 1, h4: 2, h5: 3, h6: 6 }[node.localName], children: inlines(node) }
      case 'blockquote': return { kind: 'quote', children: toTree(node) }
      case 'hr': return { kind: 'rule' }
      case 'ul': case 'ol': {
        const tight = node.dataset.loose === undefined
        return { kind: 'list', start: node.localName === 'ul' ? null : node.start, tight, items: [...node.children].map((item) => toItem(item, tight)) }
      }
      case 'div':
        if (node.matches('.code-block')) return { kind: 'code', language: node.dataset.language, text: node.querySelector('code').textContent }
        if (node.matches('.formula')) return { kind: 'math', text: node.textContent }
        if (node.matches('.footnote')) return { kind: 'footnote', label: node.dataset.label, children: toTree(node.lastChild) }
        if (node.matches('.table-box')) {
          const row = ({ children }) => [...children].map(inlines)
          const head = node.querySelector('thead tr')
          return { kind: 'table', columns: [...head.children].map(classAlignment), head: row(head), rows: [...node.querySelectorAll('tbody tr')].map(row) }
        }
    }
    throw new Error(node.outerHTML)
  }`

interface Rendered {
  readonly html: string
  readonly tags: readonly string[]
  readonly attributes: readonly string[]
  readonly addresses: readonly string[]
}

/** A page of ours with the renderer. */
async function openRenderer(t: Test, browser: Browser) {
  const gateway = await startGateway(t)
  const { page, context, problems } = await openBrowserSession(browser, gateway.url)
  t.teardown(() => context.close())
  await openSignedIn(page, gateway, 'mei@example.com', '/chat')
  await page.evaluate(script)
  await page.evaluate(helpers)
  const run = <Result>(expression: string): Promise<Result> => page.evaluate<Result>(expression)
  const render = (text: string): Promise<Rendered> =>
    run(`(() => {
      const box = render(${JSON.stringify(text)})
      const all = [...box.querySelectorAll('*')]
      return {
        html: box.innerHTML,
        tags: all.map(({ localName }) => localName),
        attributes: all.flatMap((node) => node.getAttributeNames()),
        addresses: all.flatMap((node) => [node.getAttribute('href'), node.getAttribute('src')]).filter((value) => value !== null),
      }
    })()`)
  return { page, gateway, problems, run, render }
}

/** Each input makes a naive pattern scan all the rest of the text for the closing mark. */
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
/** Drawing whose cost grows with the square of the text takes minutes. */
const maxBusyMs = 60_000

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
  'h3',
  'ul',
  'li',
])

/** Neighbouring texts are one, and a picture of another site is a link. */
function toShown(tree: unknown): unknown {
  return JSON.parse(JSON.stringify(tree), (_, value: { kind?: string; url?: string; alt?: string }) =>
    value?.kind === 'image' ? { kind: 'link', url: value.url, children: [{ kind: 'text', text: value.alt }] } : value,
  )
}

function promises(browser: Browser): void {
  t.test('shows every case of the shared Markdown page, whole and letter by letter', async (t) => {
    const { run, problems } = await openRenderer(t, browser)
    t.ok(markdownCases.length >= 40)
    for (const { title, text, tree } of markdownCases) {
      t.same(await run(`toTree(render(${JSON.stringify(text)}))`), toShown(tree), title)
      const grown = [...text].map((_, at, letters) => letters.slice(0, at + 1).join(''))
      t.same(await run(`toTree(render(...${JSON.stringify([...grown, text])}))`), toShown(tree), `${title}, as it arrives`)
    }
    t.same(problems, [])
  })

  t.test('keeps what was drawn of complete blocks while the answer grows', async (t) => {
    const { run } = await openRenderer(t, browser)
    const kept = await run<boolean>(`(() => {
      const box = document.createElement('div')
      const body = new AnswerBody(box, { imageOrigins: [], idPrefix: 'n' })
      body.grow('# One\\n\\ntwo\\n\\nthr')
      const [title, two, three] = box.children
      body.grow('# One\\n\\ntwo\\n\\nthree **four**')
      body.finish('# One\\n\\ntwo\\n\\nthree **four**')
      return box.children[0] === title && box.children[1] === two && box.children[2] === three && three.textContent === 'three four'
    })()`)
    t.ok(kept)
  })

  t.test('colours code and draws formulas when they appear, from our own origin', async (t) => {
    const { page, gateway, problems } = await openRenderer(t, browser)
    const loaded: string[] = []
    page.on('request', (request) => loaded.push(request.url().replace(/^.*\//, '')))
    const answer = async (text: string) => {
      gateway.demo.script(() => ({ text }))
      await page.getByRole('textbox', { name: 'Message' }).fill('Go on')
      await page.keyboard.press('Enter')
      await page
        .getByText(/tokens in, \d+ out/)
        .last()
        .waitFor()
    }
    await answer('plain words')
    t.notOk(
      loaded.some((name) => name === 'code-colors.js' || name === 'formulas.js'),
      'neither is loaded without need',
    )
    await answer('```ts\nconst a = "b"\n```')
    await page.locator('.code-keyword', { hasText: 'const' }).waitFor()
    t.notOk(loaded.includes('formulas.js'))
    await answer(
      'The root $\\sqrt{2}$ and\n\n$$\n\\frac{1}{2} \\begin{pmatrix} a & b \\end{pmatrix} \\color{red}{x}\n$$\n\nand $\\nosuchcommand{$ end',
    )
    await page.locator('.formula msqrt').waitFor()
    await page.locator('div.formula mfrac').waitFor()
    t.equal(await page.locator('.formula', { hasText: 'nosuchcommand' }).count(), 1, 'what is no TeX stays as it was written')
    t.same(problems, [])
  })

  t.test('an answer of nothing but beginnings is drawn as fast as another', async (t) => {
    const { run } = await openRenderer(t, browser)
    for (const text of bombs) {
      const ms = await run<number>(
        `(() => { const began = performance.now(); render(${JSON.stringify(text)}); return performance.now() - began })()`,
      )
      t.ok(ms < maxBusyMs, `${JSON.stringify(text.slice(0, 12))} in ${Math.round(ms)} ms`)
    }
  })

  t.test('nothing a model writes runs, loads or leads astray', async (t) => {
    const { page, run, render, gateway, problems } = await openRenderer(t, browser)
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
    const own = await render(`![a boat](${gateway.url}/v1/images/abc.png?exp=1&sig=x)`)
    t.match(own.html, `<img src="${gateway.url}/v1/images/abc.png?exp=1&amp;sig=x" alt="a boat"`)
    const ownButNoPicture = await render(`![x](${gateway.url}/api/membership/auth/sign-out)`)
    t.notOk(ownButNoPicture.tags.includes('img'), 'not even our own addresses are fetched, but for pictures')
    t.equal(await run('window.hit'), undefined)
    t.ok(page)
    t.same(problems, [])
  })

  t.test('a long or deeply nested answer does not hang the page', async (t) => {
    const { render, run } = await openRenderer(t, browser)
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
      t.ok(performance.now() - before < maxImmediateMs, `${text.slice(0, 12)}… in ${Math.round(performance.now() - before)} ms`)
    }
    const megabyte = '## Title\n\nSome **bold** words and `code`.\n\n- one\n- two\n\n'.repeat(20_000)
    const ms = await run<number>(`(() => {
      const text = ${JSON.stringify(megabyte)}
      const body = new AnswerBody(document.createElement('div'), { imageOrigins: [], idPrefix: 'n' })
      let most = 0
      for (let end = 10_000; end < text.length + 10_000; end += 10_000) {
        const began = performance.now()
        body.grow(text.slice(0, end))
        most = Math.max(most, performance.now() - began)
      }
      return most
    })()`)
    t.ok(ms < maxBusyMs, `the slowest step of an answer of ${megabyte.length} characters takes ${Math.round(ms)} ms`)
  })
}

const browser = await openChromium(t)
if (browser !== undefined) promises(browser)
