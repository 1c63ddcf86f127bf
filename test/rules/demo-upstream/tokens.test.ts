/** How the demo upstream splits a text into tokens. */
import * as fc from 'fast-check'
import t from 'tap'
import { toTokens } from '../../../src/demo-upstream/tokens.ts'

t.test('splits any text into non-empty tokens that join to the text', (t) => {
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

t.test('counts in a way that can be checked by hand', (t) => {
  t.same(toTokens(''), [])
  t.same(toTokens('Hello, my world 1234'), ['Hello', ',', ' my', ' world', ' 123', '4'])
  t.same(toTokens('你好 a'), ['你', '好', ' a'])
  t.same(toTokens('😀'), ['😀'], 'splits no character')
  t.end()
})
