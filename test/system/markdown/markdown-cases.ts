/** Markdown texts with their trees, for the parser and for each view of the tree. */
import type { Block, Inline } from '../../../src/markdown/markdown-tree.ts'

export interface MarkdownCase {
  readonly title: string
  readonly text: string
  readonly tree: readonly Block[]
}

export const text = (words: string): Inline => ({ kind: 'text', text: words })
const paragraph = (...children: readonly Inline[]): Block => ({ kind: 'paragraph', children })
const p = (words: string): Block => paragraph(text(words))
const strong = (...children: readonly Inline[]): Inline => ({ kind: 'strong', children })
const emphasis = (...children: readonly Inline[]): Inline => ({ kind: 'emphasis', children })
const code = (words: string): Inline => ({ kind: 'inline-code', text: words })
const link = (url: string, ...children: readonly Inline[]): Inline => ({ kind: 'link', url, children })
const item = (...children: readonly Block[]) => ({ checked: null, children })
const bullets = (...items: readonly ReturnType<typeof item>[]): Block => ({ kind: 'list', start: null, tight: true, items })
const fence = (language: string, words: string): Block => ({ kind: 'code', language, text: words })

export const markdownCases: readonly MarkdownCase[] = [
  { title: 'a paragraph of two lines', text: 'one\ntwo', tree: [p('one\ntwo')] },
  { title: 'two paragraphs', text: 'one\n\n\ntwo', tree: [p('one'), p('two')] },
  {
    title: 'headings of all levels',
    text: '# a\n## b ##\n###### c',
    tree: [1, 2, 6].map((level, at) => ({ kind: 'heading', level, children: [text('abc'.charAt(at))] })),
  },
  { title: 'a heading that is underlined', text: 'a\n===', tree: [{ kind: 'heading', level: 1, children: [text('a')] }] },
  { title: 'a hash without a space', text: '#tag', tree: [p('#tag')] },
  { title: 'emphasis and strong', text: '*a* __b__', tree: [paragraph(emphasis(text('a')), text(' '), strong(text('b')))] },
  { title: 'both at once', text: '***both***', tree: [paragraph(emphasis(strong(text('both'))))] },
  {
    title: 'emphasis inside strong',
    text: '**a *b* c**',
    tree: [paragraph(strong(text('a '), emphasis(text('b')), text(' c')))],
  },
  {
    title: 'strikethrough',
    text: '~~gone~~',
    tree: [paragraph({ kind: 'strikethrough', children: [text('gone')] })],
  },
  { title: 'marks inside words', text: 'snake_case_name 2 * 3 * 4', tree: [p('snake_case_name 2 * 3 * 4')] },
  {
    title: 'strong before Chinese text without a space',
    text: '**注意:**请看',
    tree: [paragraph(strong(text('注意:')), text('请看'))],
  },
  {
    title: 'strong between Chinese words',
    text: '这是**“重点”**内容',
    tree: [paragraph(text('这是'), strong(text('“重点”')), text('内容'))],
  },
  { title: 'code in a line', text: 'use `npm ci`', tree: [paragraph(text('use '), code('npm ci'))] },
  { title: 'code with a backtick', text: '`` a ` b ``', tree: [paragraph(code('a ` b'))] },
  { title: 'Markdown inside code', text: '`**a**`', tree: [paragraph(code('**a**'))] },
  { title: 'a lone backtick', text: 'an ` alone', tree: [p('an ` alone')] },
  { title: 'a fence with a language', text: '```js title\nconst a = 1\n\n```', tree: [fence('js', 'const a = 1\n')] },
  { title: 'a fence that is still open', text: '~~~\n# no heading', tree: [fence('', '# no heading')] },
  { title: 'a longer fence around a shorter', text: '````\n```\n````', tree: [fence('', '```')] },
  { title: 'indented code', text: '    a\n      b', tree: [fence('', 'a\n  b')] },
  { title: 'a rule', text: 'a\n\n---\n\n* * *', tree: [p('a'), { kind: 'rule' }, { kind: 'rule' }] },
  { title: 'a quote with a list', text: '> a\n> - b', tree: [{ kind: 'quote', children: [p('a'), bullets(item(p('b')))] }] },
  { title: 'a list in a list', text: '- a\n  - b\n- c', tree: [bullets(item(p('a'), bullets(item(p('b')))), item(p('c')))] },
  {
    title: 'a numbered list that begins later',
    text: '3. a\n4. b',
    tree: [{ kind: 'list', start: 3, tight: true, items: [item(p('a')), item(p('b'))] }],
  },
  {
    title: 'a loose list with code in an item',
    text: '1. a\n\n   ```\n   x\n   ```\n\n2. b',
    tree: [{ kind: 'list', start: 1, tight: false, items: [item(p('a'), fence('', 'x')), item(p('b'))] }],
  },
  {
    title: 'tasks',
    text: '- [x] done\n- [ ] open\n- [link] none',
    tree: [
      {
        kind: 'list',
        start: null,
        tight: true,
        items: [{ checked: true, children: [p('done')] }, { checked: false, children: [p('open')] }, item(p('[link] none'))],
      },
    ],
  },
  {
    title: 'a table with alignments',
    text: '| a | b | c | d |\n|---|:--|:-:|--:|\n| 1 | `2` | **3** | x \\| y |\n| 4 |',
    tree: [
      {
        kind: 'table',
        columns: [null, 'left', 'center', 'right'],
        head: ['a', 'b', 'c', 'd'].map((name) => [text(name)]),
        rows: [
          [[text('1')], [code('2')], [strong(text('3'))], [text('x | y')]],
          [[text('4')], [], [], []],
        ],
      },
    ],
  },
  { title: 'pipes that are no table', text: 'a | b\nc | d', tree: [p('a | b\nc | d')] },
  { title: 'a link', text: '[a](https://x.example/b "t")', tree: [paragraph(link('https://x.example/b', text('a')))] },
  { title: 'a link to a mailbox', text: '[a](mailto:b@x.example)', tree: [paragraph(link('mailto:b@x.example', text('a')))] },
  {
    title: 'an address with a scheme',
    text: 'see https://x.example/b_c_d.',
    tree: [paragraph(text('see '), link('https://x.example/b_c_d', text('https://x.example/b_c_d')), text('.'))],
  },
  { title: 'a file name that looks like a host', text: 'README.md node.js', tree: [p('README.md node.js')] },
  {
    title: 'a link by reference',
    text: '[a][1]\n\n[1]: https://x.example',
    tree: [paragraph(link('https://x.example/', text('a')))],
  },
  {
    title: 'a link that would run a program',
    text: '[a](javascript:alert(1)) [b](data:text/html,x) [c](./d.md)',
    tree: [p('a (javascript:alert(1)) b c (./d.md)')],
  },
  {
    title: 'a picture',
    text: '![a *b*](https://x.example/c.png)',
    tree: [paragraph({ kind: 'image', url: 'https://x.example/c.png', alt: 'a b' })],
  },
  { title: 'a picture made of data', text: '![a](data:image/png;base64,AAAA)', tree: [p('a')] },
  {
    title: 'HTML',
    text: '<b onclick="x()">a</b>\n\n<script>alert(1)</script>',
    tree: [p('<b onclick="x()">a</b>'), p('<script>alert(1)</script>')],
  },
  { title: 'entities and escapes', text: '&lt;b&gt; \\*a\\* &copy;', tree: [p('<b> *a* ©')] },
  {
    title: 'a break',
    text: 'a  \nb\\\nc',
    tree: [paragraph(text('a'), { kind: 'break' }, text('b'), { kind: 'break' }, text('c'))],
  },
  {
    title: 'a footnote',
    text: 'a[^1]\n\n[^1]: b\n\n    c',
    tree: [
      paragraph(text('a'), { kind: 'footnote-reference', label: '1' }),
      { kind: 'footnote', label: '1', children: [p('b'), p('c')] },
    ],
  },
  {
    title: 'formulas in a line',
    text: 'if $a^2$ and \\(b_1\\)',
    tree: [paragraph(text('if '), { kind: 'inline-math', text: 'a^2' }, text(' and '), { kind: 'inline-math', text: 'b_1' })],
  },
  { title: 'amounts of money', text: 'from $5 to $10', tree: [p('from $5 to $10')] },
  {
    title: 'formulas as blocks',
    text: '$$\na *b* c\n$$\n\\[ x \\]',
    tree: [
      { kind: 'math', text: 'a *b* c' },
      { kind: 'math', text: 'x' },
    ],
  },
  { title: 'a citation', text: 'as found [1][2].', tree: [p('as found [1][2].')] },
]
