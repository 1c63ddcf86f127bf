/** How the demonstration upstream cuts a text into tokens. */
import * as fc from 'fast-check'
import t from 'tap'
import { toTokens } from '../../../src/upstream/demo/tokens.ts'

t.test('the tokens of any text are the text, and none of them is empty', (t) => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'binary' }),
      (text) => toTokens(text).join('') === text && toTokens(text).every((token) => token !== ''),
    ),
    { numRuns: 1_000 },
  )
  t.pass()
  t.end()
})

t.test('a count can be checked by hand', (t) => {
  t.same(toTokens(''), [])
  t.same(toTokens('Hello, my world 1234'), ['Hello', ',', ' my', ' world', ' 123', '4'])
  t.same(toTokens('你好 a'), ['你', '好', ' a'])
  t.same(toTokens('😀'), ['😀'], 'no character is cut in two')
  t.end()
})
