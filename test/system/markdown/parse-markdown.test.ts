/** Markdown as a tree: the cases, an answer in pieces, and hostile texts within bounds of time and depth. */
import * as fc from 'fast-check'
import t from 'tap'
import { MarkdownStream, parseMarkdown } from '../../../src/markdown/parse-markdown.ts'
import { markdownCases } from './markdown-cases.ts'
import type { Block, Inline } from '../../../src/markdown/markdown-tree.ts'

t.test('each case has its tree', async (t) => {
  t.ok(markdownCases.length >= 40)
  for (const { title, text, tree } of markdownCases) t.strictSame(parseMarkdown(text), tree, title)
})

t.test('an answer in pieces becomes the tree of the whole, and settled blocks stay the same objects', async (t) => {
  const whole = markdownCases
    .filter(({ title }) => title !== 'a link by reference' && title !== 'a fence that is still open')
    .map(({ text }) => `${text}\n\nnext\n\n`)
    .join('')
  await fc.assert(
    fc.asyncProperty(fc.array(fc.integer({ min: 1, max: 90 }), { minLength: 1, maxLength: 60 }), async (lengths) => {
      const stream = new MarkdownStream()
      let at = 0
      let earlier: readonly Block[] = []
      let earlierSettled = 0
      for (let turn = 0; at < whole.length; turn++) {
        const size = lengths[turn % lengths.length] ?? 1
        const { blocks, settledCount } = stream.push(whole.slice(at, at + size))
        at += size
        for (let index = 0; index < earlierSettled; index++)
          if (blocks[index] !== earlier[index]) throw new Error(`block ${index} was made again`)
        earlier = blocks
        earlierSettled = settledCount
      }
      t.ok(earlierSettled > 60)
      t.strictSame(earlier, parseMarkdown(whole))
    }),
    { numRuns: 15 },
  )
})

t.test('a long answer in small pieces is parsed once, not once per piece', async (t) => {
  const paragraph = 'Some **bold** words, `code` and a [link](https://x.example).\n\n'
  const began = process.cpuUsage()
  const stream = new MarkdownStream()
  for (let count = 0; count < 3000; count++)
    for (let at = 0; at < paragraph.length; at += 20) stream.push(paragraph.slice(at, at + 20))
  t.ok(process.cpuUsage(began).user < 8_000_000, 'in microseconds, for 190 KB in 12 000 pieces')
})

t.test('hostile texts take no longer than a few seconds and nest no deeper than the bound', async (t) => {
  const repeat = (piece: string, size = 60_000) => piece.repeat(Math.ceil(size / piece.length))
  const hostile = [
    'a*_',
    '*a_ ',
    '**a ',
    '~~a ',
    '>',
    '> ',
    '- ',
    '1. ',
    '[',
    '![',
    '[a](',
    '[a',
    '`',
    '<a ',
    '<!-- ',
    '&',
    'a@',
    'http://',
    '$a',
    '$$a\n',
    '\\(a',
    '\\[a\n',
    '[^a',
    '[^a]: ',
    '[^a]: b\n',
    '[a]: b\n',
    '|a',
    'a|b\n',
    '# a ',
    '    - a\n',
    '\u3000**。',
    'https://a.b/(',
    '\\',
  ].map((piece) => repeat(piece))
  const texts = [
    ...hostile,
    `${'*a '.repeat(10_000)}${' b*'.repeat(10_000)}`,
    `${'['.repeat(20_000)}a${']'.repeat(20_000)}`,
    `|${'a|'.repeat(1000)}\n|${'-|'.repeat(1000)}\n${'|x\n'.repeat(2000)}`,
    Array.from({ length: 400 }, (_, depth) => `${'  '.repeat(depth)}- a`).join('\n'),
    Array.from({ length: 300 }, (_, size) => '`'.repeat(size)).join(' '),
    `# a${' '.repeat(60_000)}b`,
    'word '.repeat(200_000),
    '!['.repeat(500_000),
    '`a` '.repeat(20_000),
    '```\n'.concat('const a = 1\n'.repeat(80_000)),
  ]
  for (const text of texts) {
    const began = process.cpuUsage()
    const depth = measureDepth(parseMarkdown(text))
    const { user } = process.cpuUsage(began)
    t.ok(user < 4_000_000 && depth < 80, `${JSON.stringify(text.slice(0, 20))}: ${Math.round(user / 1000)} ms, depth ${depth}`)
  }
})

t.test('keeps every word of any text', async (t) => {
  const piece = fc.oneof(
    fc.constantFrom(
      '\n',
      '\n\n',
      '> ',
      '- ',
      '1. ',
      '    ',
      '**',
      '*',
      '_',
      '~~ ',
      '```\n',
      '[^1]',
      '[^1]: ',
      '\\(',
      '\\)',
      '$',
      '#',
      '<b>',
      '|',
    ),
    fc.stringMatching(/^[a-z]{1,4}$/),
  )
  const words = (of: string) => of.match(/[a-z]+/g)?.join('') ?? ''
  await fc.assert(
    fc.asyncProperty(fc.array(piece, { maxLength: 60 }), async (pieces) => {
      const text = pieces.join('')
      const shown = JSON.stringify(parseMarkdown(text), (key, value: unknown) => (['kind'].includes(key) ? undefined : value))
      const kept = (shown.match(/"(?:text|language)":"((?:[^"\\]|\\.)*)"/g) ?? []).map((one) =>
        one.replace(/^"\w+":/, '').replaceAll(/\\[nt]/g, ' '),
      )
      t.equal(words(kept.join('')), words(text.replaceAll(/```\n/g, '\n')))
    }),
    { numRuns: 400 },
  )
})

function measureDepth(nodes: readonly (Block | Inline)[]): number {
  let depth = 0
  for (const node of nodes) {
    const inner = 'items' in node ? node.items.flatMap(({ children }) => children) : 'children' in node ? node.children : []
    depth = Math.max(depth, 1 + measureDepth(inner))
  }
  return depth
}
