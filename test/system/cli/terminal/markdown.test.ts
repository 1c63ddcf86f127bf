/** Markdown on a terminal: the shared cases, styles, widths, and that nothing of a text is lost or executed. */
import { stripVTControlCharacters } from 'node:util'
import * as fc from 'fast-check'
import t from 'tap'
import { MarkdownView } from '../../../../src/cli/terminal/markdown-view.ts'
import { renderMarkdown } from '../../../../src/cli/terminal/markdown.ts'
import { toPlainText } from '../../../../src/markdown/plain-text.ts'
import type { Block } from '../../../../src/markdown/markdown-tree.ts'
import { measureWidth } from '../../../../src/system/terminal/measure-width.ts'
import { markdownCases } from '../../markdown/markdown-cases.ts'

const bold = (text: string) => `\u001b[1m${text}\u001b[22m`
const cyan = (text: string) => `\u001b[36m${text}\u001b[39m`
const dim = (text: string) => `\u001b[2m${text}\u001b[22m`
const italic = (text: string) => `\u001b[3m${text}\u001b[23m`
const underline = (text: string) => `\u001b[4m${text}\u001b[24m`

t.test('renders headings, lists, emphasis, links, quotes, rules and formulas', async (t) => {
  const cases: readonly (readonly [string, string])[] = [
    ['## Title', bold('Title')],
    ['- item\n- [x] done\n- [ ] open', '• item\n☑ done\n☐ open'],
    ['- a\n  * nested **bold**', `• a\n  • nested ${bold('bold')}`],
    ['9. nine\n10. ten', ' 9. nine\n10. ten'],
    ['> quoted', `${dim('│ ')}quoted`],
    ['---', dim('─'.repeat(40))],
    ['use `npm ci` now', `use ${cyan('npm ci')} now`],
    ['*soft* and **loud**', `${italic('soft')} and ${bold('loud')}`],
    ['[docs](https://example.org/a)', `docs (${underline('https://example.org/a')})`],
    ['<https://example.org/a>', underline('https://example.org/a')],
    ['![a cat](https://example.org/cat.png)', `a cat (${underline('https://example.org/cat.png')})`],
    ['[a](javascript:alert(1))', 'a (javascript:alert(1))'],
    ['$$\nx^2\n$$', cyan('  x^2')],
    ['a[^1]\n\n[^1]: b', `a${dim('[^1]')}\n\n${dim('[^1] ')}b`],
    ['one\ntwo', 'one two'],
    ['中文\n文字', '中文文字'],
    ['a  \nb', 'a\nb'],
  ]
  for (const [text, shown] of cases) t.equal(render(text, 60), `${shown}\n`, text)
})

t.test('wraps at words, with the marks of quotes and lists before each line', async (t) => {
  t.equal(render('- one two three four', 12), '• one two\n  three four\n')
  t.equal(render('> one two three', 10), `${dim('│ ')}one two\n${dim('│ ')}three\n`)
  t.equal(render('**one two three four**', 13), `${bold('one two three')}\n${bold('four')}\n`)
})

t.test('colours code and leaves its lines whole', async (t) => {
  const line = `const text = '${'x'.repeat(80)}' // end`
  const lines = render(`\`\`\`js\n${line}\n\`\`\``, 40).split('\n')
  t.match(stripVTControlCharacters(lines[0] ?? ''), /^── js ─{34}$/)
  t.equal(stripVTControlCharacters(lines[1] ?? ''), line)
  t.match(lines[1], '\u001b[35mconst\u001b[39m')
})

t.test('aligns tables, breaks their cells, and lists the rows where columns have no room', async (t) => {
  const table = '| name | n |\n|:--|--:|\n| alpha | 5 |\n| b | 12345 |'
  const plain = (columns: number, text = table) => stripVTControlCharacters(render(text, columns))
  t.equal(plain(40), ['name  │     n', '──────┼──────', 'alpha │     5', 'b     │ 12345', ''].join('\n'))
  t.equal(plain(11), ['name: alpha', 'n: 5', '', 'name: b', 'n: 12345', ''].join('\n'))
  const wide = `| a | b |\n|---|:-:|\n| 1 | ${'many words '.repeat(10)} |`
  for (const columns of [30, 40, 60])
    for (const line of plain(columns, wide).split('\n')) t.ok(measureWidth(line) <= columns, line)
})

t.test('each case of the shared list keeps its words at four widths, and no word is cut', async (t) => {
  for (const { title, text, tree } of markdownCases) {
    const words =
      collectTexts(tree)
        .join(' ')
        .match(/[\p{L}\p{N}]+/gu) ?? []
    for (const columns of [60, 80, 100, 120]) {
      const shown = stripVTControlCharacters(render(text, columns))
      let at = 0
      for (const word of words) {
        at = shown.indexOf(word, at)
        if (at === -1) return t.fail(`${title}: ${word} at ${columns} columns in ${shown}`)
        at += word.length
      }
      for (const line of shown.split('\n')) t.ok(measureWidth(line) <= columns, `${title}: ${line}`)
    }
  }
})

t.test('no text makes the terminal do anything but change styles', async (t) => {
  const hostile = [
    '\u001b]0;title\u0007',
    '\u001b[2J',
    '&#27;[2J',
    '&#x1b;]52;c;AAAA&#7;',
    '&#13;overwritten',
    '&#x9b;2J',
    '&#x202e;txt.exe',
    '```\u001b[31m\n\u001b[2J\n```',
    '[a](https://x.example/\u001b[2J)',
    '![\u001b[2J](https://x.example/&#27;[2J)',
    '[^\u001b[2J]: a',
    '$\u001b[2J$',
    '| \u001b[2J | &#8; |\n|---|---|\n| &#27;c | b |',
    '1. &Tab;&NewLine;&rlm;a',
  ]
  for (const text of hostile) {
    const [first = '', ...others] = renderMarkdown(text, { columns: 60, hyperlinks: true }).split('\u001b')
    for (const other of others)
      t.match(
        other,
        /^(?:\[[\d;]*m|\]8;;[!-~]*$|\\)/,
        `${JSON.stringify(text)}: only styles and links follow an escape character`,
      )
    t.notMatch([first, ...others].join('').replaceAll('\n', ''), /[\p{Cc}\u202a-\u202e\u2066-\u2069]/u, JSON.stringify(text))
  }
})

t.test('an address and its label are links of a terminal that has them, also where a cell cuts the address', async (t) => {
  const link = (address: string, text: string) => `\u001b]8;;${address}\u001b\\${text}\u001b]8;;\u001b\\`
  const underline = (text: string) => `\u001b[4m${text}\u001b[24m`
  const show = (text: string, columns = 60) => renderMarkdown(text, { columns, hyperlinks: true })
  const page = 'https://x.example/a,b?c=(d)'
  t.equal(show(`[a page](<${page}>)`), `${link(page, 'a page')} (${link(page, underline(page))})\n`)
  t.equal(show('<me@x.example>'), `${link('mailto:me@x.example', underline('mailto:me@x.example'))}\n`)
  t.equal(show('[run](ssh://x.example)'), render('[run](ssh://x.example)', 60), 'other programs are not started')
  const cell = `| a |\n|---|\n| <https://x.example/${'long'.repeat(10)}> |`
  t.equal(
    show(cell, 20).split(`]8;;https://x.example/${'long'.repeat(10)}\u001b`).length - 1,
    3,
    'each part of it opens the whole',
  )
})

t.test('an answer in pieces ends as the whole one, on a terminal of any size and without one', async () => {
  const whole = markdownCases
    .filter(({ title }) => !/by reference|still open|picture made/.test(title))
    .map(({ text }) => `${text}\n\nnext\n\n`)
    .join('')
  await fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 1, max: 200 }), { minLength: 1, maxLength: 50 }),
      fc.integer({ min: 12, max: 120 }),
      fc.integer({ min: 3, max: 30 }),
      fc.boolean(),
      (lengths, columns, rows, isTerminal) => {
        let output = ''
        let time = 0
        const view = new MarkdownView(
          { isTerminal, columns, rows, styled: true, hyperlinks: true, write: (text) => (output += String(text)) },
          () => (time += 100),
        )
        for (let at = 0, turn = 0; at < whole.length; turn++) {
          const size = lengths[turn % lengths.length] ?? 1
          view.push(whole.slice(at, at + size))
          at += size
        }
        view.end()
        return showOnScreen(output, columns) === showOnScreen(render(whole, columns), columns)
      },
    ),
    { numRuns: 40 },
  )
})

function render(text: string, columns: number): string {
  return renderMarkdown(text, { columns, hyperlinks: false })
}

/** What a terminal shows of the output: rows, with the two movements that a view uses. */
function showOnScreen(output: string, columns: number): string {
  const rows: string[] = []
  for (const [at, part] of output.split('\r').entries()) {
    const [cleared = '', text = part] = (at > 0 && /^((?:.\[A.\[K)+)([^]*)$/.exec(part)?.slice(1)) || []
    const up = cleared.length / '\u001b[A\u001b[K'.length
    if (up > 0) rows.splice(rows.length - up)
    for (const line of text.split('\n').slice(0, -1)) {
      const plain = stripVTControlCharacters(line)
      rows.push(plain, ...Array.from({ length: Math.max(0, Math.ceil(measureWidth(plain) / columns) - 1) }, () => '(continued)'))
    }
  }
  return rows.join('\n')
}

function collectTexts(blocks: readonly Block[]): string[] {
  return blocks.flatMap((block) => {
    if (block.kind === 'table') return [block.head, ...block.rows].flatMap((row) => row.map((cell) => toPlainText(cell)))
    if (block.kind === 'list') return block.items.flatMap(({ children }) => collectTexts(children))
    if (block.kind === 'quote' || block.kind === 'footnote') return collectTexts(block.children)
    return 'children' in block ? [toPlainText(block.children)] : 'text' in block ? [block.text] : []
  })
}
