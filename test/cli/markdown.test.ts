/** Markdown on a terminal: what is shown, that no word is lost, and that no line costs more than another. */
import { stripVTControlCharacters } from 'node:util'
import * as fc from 'fast-check'
import t from 'tap'
import { MarkdownRenderer, renderMarkdown } from '../../src/cli/markdown.ts'

const bold = (text: string) => `\u001b[1m${text}\u001b[22m`
const cyan = (text: string) => `\u001b[36m${text}\u001b[39m`
const dim = (text: string) => `\u001b[2m${text}\u001b[22m`
const italic = (text: string) => `\u001b[3m${text}\u001b[23m`
const underline = (text: string) => `\u001b[4m${text}\u001b[24m`

t.test('headings, lists, code, emphasis, links, quotes and rules', async (t) => {
  const cases: readonly (readonly [string, string])[] = [
    ['# Title', bold('Title')],
    ['### Title ###', bold('Title')],
    ['#no-heading', '#no-heading'],
    ['- item', '• item'],
    ['  * nested **bold**', `  • nested ${bold('bold')}`],
    ['12. item', '12. item'],
    ['> quoted', `${dim('│')} quoted`],
    ['---', dim('─'.repeat(40))],
    ['use `npm ci` now', `use ${cyan('npm ci')} now`],
    ['``a ` b``', cyan('a ` b')],
    ['`**not bold**`', cyan('**not bold**')],
    ['*soft* and **loud**', `${italic('soft')} and ${bold('loud')}`],
    ['2 * 3 * 4', '2 * 3 * 4'],
    ['snake_case_name', 'snake_case_name'],
    ['two__under__scores and __a__b', 'two__under__scores and __a__b'],
    ['__loud__, and __loud__', `${bold('loud')}, and ${bold('loud')}`],
    ['[docs](https://example.org)', `docs (${underline('https://example.org')})`],
    ['an ` alone', 'an ` alone'],
    ['| a | b |', '| a | b |'],
  ]
  for (const [text, shown] of cases) t.equal(renderMarkdown(text), shown, text)
})

t.test('a line of nothing but beginnings costs no more than another', async (t) => {
  const began = process.cpuUsage()
  for (const piece of ['**a ', '__a ', '~~a ', '*a ', '`a ``b ', '[a](', '![', '[', '`', '**a **b__ ', '** '])
    renderMarkdown(piece.repeat(Math.ceil(200_000 / piece.length)))
  renderMarkdown(Array.from({ length: 600 }, (_, size) => '`'.repeat(size)).join(' '))
  renderMarkdown(`${'`'.repeat(100_000)}${'a'.repeat(100_000)}`)
  t.ok(process.cpuUsage(began).user < 3_000_000, 'two megabytes of them, in microseconds')
})

t.test('inside a fence nothing but the end of the fence means anything', async (t) => {
  t.equal(
    renderMarkdown('```js\n# not a heading\n- **x**\n~~~\n```\n# heading'),
    [dim('```js'), cyan('# not a heading'), cyan('- **x**'), cyan('~~~'), dim('```'), bold('heading')].join('\n'),
  )
  t.equal(
    renderMarkdown('````\n```\n````'),
    [dim('````'), cyan('```'), dim('````')].join('\n'),
    'a shorter fence does not end a longer one',
  )
})

t.test('only finished lines are shown, and the cuts do not matter', async (t) => {
  const renderer = new MarkdownRenderer()
  t.equal(renderer.push('# Ti'), '', 'it is not known yet what this line is')
  t.equal(renderer.push('tle\nnext'), `${bold('Title')}\n`)
  t.equal(renderer.end(), 'next')
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom('# h\n', '```\n', '- a', '\n', '**b**', '`c`', ' text ', '~~~'), { maxLength: 15 }),
      (pieces) => {
        const renderer = new MarkdownRenderer()
        return pieces.map((piece) => renderer.push(piece)).join('') + renderer.end() === renderMarkdown(pieces.join(''))
      },
    ),
  )
})

t.test('no word of plain text is lost', async (t) => {
  t.doesNotThrow(() =>
    fc.assert(
      fc.property(fc.stringMatching(/^[a-z0-9 .,()<>_=+\n]*$/), (text) => {
        const words = (shown: string) => stripVTControlCharacters(shown).match(/[a-z]+/g) ?? []
        return words(renderMarkdown(text)).join(' ') === words(text).join(' ')
      }),
    ),
  )
})
