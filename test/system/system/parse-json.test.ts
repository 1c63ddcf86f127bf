/** Bounds of JSON from outside: what is parsed, what is refused before it is parsed, and the work of the check. */
import t from 'tap'
import { maxJsonDepth, ownJsonBounds, parseJson, tryParseJson } from '../../../src/system/parse-json.ts'
import { measureGrowth } from '../../support/cpu-growth.ts'

const nest = (depth: number, inner = '', [open, close] = ['[', ']']): string => open.repeat(depth) + inner + close.repeat(depth)

t.test('parses what JSON.parse parses, up to the depth', async (t) => {
  for (const text of [
    '1',
    ' {"a":[1,{"b":null}]} ',
    nest(maxJsonDepth),
    nest(maxJsonDepth, '1', ['{"a":', '}']),
    JSON.stringify({ text: nest(5_000), quoted: '"'.repeat(500), slashes: '\\'.repeat(501), both: '\\"'.repeat(301) }),
    JSON.stringify(Array.from({ length: 500 }, () => ({ [nest(200)]: [[], {}] }))),
    JSON.stringify(Array.from({ length: 300 }, (_, i) => Array.from({ length: i }, () => 0.123456))),
  ]) {
    t.same(parseJson(text), JSON.parse(text))
  }
})

t.test('refuses what is nested deeper, whether it ends, is cut or is mixed', async (t) => {
  const far = '0.5,'.repeat(100)
  for (const text of [
    nest(maxJsonDepth + 1),
    nest(maxJsonDepth + 1, '1', ['{"a":', '}']),
    nest(maxJsonDepth, '1', [`[${far}{"[[":`, '}]']),
    `${'[1,'.repeat(20_000)}"`,
    `${'{"a":['.repeat(20_000)}\\`,
    `[${JSON.stringify(']'.repeat(300))},${'['.repeat(maxJsonDepth)}`,
    `${' '.repeat(5_000)}${'['.repeat(maxJsonDepth + 1)}`,
    `${`[${far}`.repeat(maxJsonDepth + 1)}0`,
  ]) {
    t.throws(() => parseJson(text), { message: /deeper than/ }, text.slice(0, 20))
    t.equal(tryParseJson(text), undefined)
  }
})

t.test('reports malformed text as JSON.parse does', async (t) => {
  for (const text of ['', '{', '[1,"', '"'.repeat(301), '[1]]', '\\"[', `${nest(100)}x${nest(100)}`]) {
    t.throws(() => parseJson(text), { name: 'SyntaxError', message: /^(?!JSON nested)/ }, text.slice(0, 20))
  }
})

t.test('parses text of our own that wraps checked parts, and applies bounds of the caller', async (t) => {
  t.doesNotThrow(() => parseJson(nest(maxJsonDepth + 8), ownJsonBounds))
  t.throws(() => parseJson(nest(2 * maxJsonDepth + 1), ownJsonBounds), { message: /deeper than/ })
  t.throws(() => parseJson('[1,2,3]', { maxLength: 6 }), { message: /longer than/ })
  t.same(parseJson('[1,2,3]', { maxLength: 7 }), [1, 2, 3])
})

t.test('takes time in proportion to the length', async (t) => {
  for (const [name, make] of [
    ['numbers', (n: number) => '0.5,'.repeat(n)],
    ['one string', (n: number) => `"${'a'.repeat(4 * n)}`],
    ['backslashes', (n: number) => `"${'\\\\'.repeat(2 * n)}`],
    ['escaped quotes', (n: number) => `"${'\\"'.repeat(2 * n)}`],
    ['short strings', (n: number) => '"a",'.repeat(n)],
    ['far strings', (n: number) => `"${'a'.repeat(100)}",${' '.repeat(100)}`.repeat(n / 50)],
    ['brackets', (n: number) => '[],{},'.repeat(n / 2)],
    ['closing brackets', (n: number) => ']'.repeat(4 * n)],
  ] as const) {
    const { growth, size } = measureGrowth((n) => {
      const text = `[${'[],'.repeat(200)}${make(25 * n)}`
      return () => tryParseJson(text)
    }, 3)
    t.ok(growth <= 3, `${name}: × ${growth.toFixed(2)} from ${size} on`)
  }
})
