/** Tokens of program code: kinds, that no character is lost, and bounds of time. */
import * as fc from 'fast-check'
import t from 'tap'
import { highlightCode } from '../../../src/markdown/highlight-code.ts'

t.test('splits code of known languages, also by their other names', async (t) => {
  for (const [language, code, part, kind] of [
    ['ts', 'const a = "b"', 'const', 'keyword'],
    ['typescript', 'const a = "b"', '"b"', 'string'],
    ['Python', 'def a():\n  # b\n  return 1', 'def', 'keyword'],
    ['py', '# b\n', '# b', 'comment'],
    ['sh', 'echo "a" # b', '"a"', 'string'],
    ['json', '{"a": 12}', '12', 'number'],
    ['diff', '+ a\n- b', '- b', 'deleted'],
    ['sql', 'SELECT 1', 'SELECT', 'keyword'],
    ['c++', 'return 1;', 'return', 'keyword'],
    ['yml', 'a: 12', '12', 'number'],
  ] as const)
    t.ok(
      highlightCode(code, language).some((token) => token.text.trimEnd() === part && token.kind === kind),
      `${language}: ${part} is of the kind ${kind}`,
    )
})

t.test('leaves code of other languages, and of none, in one token', async (t) => {
  for (const language of ['', 'brainf', 'constructor', '__proto__', 'toString'])
    t.same(highlightCode('const a', language), [{ text: 'const a', kind: null }], language)
})

t.test('loses no character', async () => {
  const piece = fc.oneof(
    fc.constantFrom('"', "'", '`', '${', '}', '/*', '*/', '//', '#', '\n', '\\', '<a ', '>', '&', '=', ' '),
    fc.string(),
  )
  await fc.assert(
    fc.property(
      fc.array(piece, { maxLength: 40 }),
      fc.constantFrom(
        'js',
        'ts',
        'py',
        'bash',
        'json',
        'css',
        'html',
        'xml',
        'sql',
        'go',
        'rs',
        'c',
        'java',
        'yaml',
        'diff',
        'md',
        'docker',
      ),
      (pieces, language) => {
        const code = pieces.join('')
        return (
          highlightCode(code, language)
            .map(({ text }) => text)
            .join('') === code
        )
      },
    ),
    { numRuns: 500 },
  )
})

for (const language of ['css', 'bash', 'ts'])
  for (const repeats of [60, 1])
    t.test(`splits hostile ${language} in lines of ${repeats} pieces within a few seconds`, async (t) => {
      for (const piece of ['a::b', 'a b ', '$(', '"', '`${', '<a ', '{', 'a: ', '/*', '\\', '[']) {
        const line = `${piece.repeat(repeats)}\n`
        const began = process.cpuUsage()
        highlightCode(line.repeat(20_000 / line.length), language)
        t.ok(process.cpuUsage(began).user < 4_000_000, piece)
      }
    })

t.test('leaves long code as it is', async (t) => {
  t.equal(highlightCode('const a = 1\n'.repeat(10_000), 'js').length, 1)
})
