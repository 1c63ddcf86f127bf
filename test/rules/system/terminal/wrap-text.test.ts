import * as fc from 'fast-check'
import t from 'tap'
import { measureWidth } from '../../../../src/system/terminal/measure-width.ts'
import { wrapCell, wrapStyledText, wrapText } from '../../../../src/system/terminal/wrap-text.ts'

t.test('breaks at words and keeps a long word whole', async (t) => {
  t.same(wrapText('one two  three', 8), ['one two', 'three'])
  t.same(wrapText('see https://example.org/a/long/path here', 10), ['see', 'https://example.org/a/long/path', 'here'])
  t.same(wrapText('a\nb', 10), ['a', 'b'])
  t.same(wrapText('', 10), [''])
})

t.test('breaks Chinese text between characters, not before closing or after opening punctuation', async (t) => {
  t.same(wrapText('你好,世界', 4), ['你', '好,', '世界'])
  t.same(wrapText('说(好)吧', 4), ['说', '(好)', '吧'])
  t.same(wrapText('使用 svc 命令', 8), ['使用 svc', '命令'])
})

t.test('keeps the styles of pieces, also inside a word', async (t) => {
  const pieces = [
    { text: 'very ', style: 'plain' },
    { text: 'bold', style: 'strong' },
    { text: 'ness. End', style: 'plain' },
  ]
  t.same(wrapStyledText(pieces, 10), [
    [{ text: 'very', style: 'plain' }],
    [
      { text: 'bold', style: 'strong' },
      { text: 'ness.', style: 'plain' },
    ],
    [{ text: 'End', style: 'plain' }],
  ])
})

t.test('a cell is cut inside a word that is wider', async (t) => {
  t.same(wrapCell('abcdefgh ij', 4), ['abcd', 'efgh', 'ij'])
  t.same(wrapCell('你好世界', 5), ['你好', '世界'])
})

t.test('keeps every character but white space, and no line is too wide unless one word is', async () => {
  const piece = fc.oneof(
    fc.constantFrom(' ', '\n', '中文', ',', '(', 'ab', 'https://a.b/c', '👩‍👩‍👧', 'é', '\u00a0'),
    fc.string({ maxLength: 5 }),
  )
  await fc.assert(
    fc.property(fc.array(piece, { maxLength: 40 }), fc.integer({ min: 1, max: 30 }), (pieces, columns) => {
      const text = pieces.join('')
      const lines = wrapText(text, columns)
      const letters = (of: string) => of.replaceAll(/\s/g, '')
      return (
        letters(lines.join('')) === letters(text) &&
        lines.every((line) => measureWidth(line) <= columns || !/\s/.test(line.replaceAll(/[\u00a0\u202f]/g, '')))
      )
    }),
    { numRuns: 500 },
  )
})
