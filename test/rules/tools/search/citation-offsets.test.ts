import t from 'tap'
import { toDocument } from '../../../../src/tools/search/document.ts'

const url = 'https://source.example/a'
const frame = {
  schema: 's',
  id: 'i',
  query: 'q',
  model: 'm',
  created: 1,
  usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2, searches: 1 },
} as never

/** The texts at which citations of these positions in `answer` point after sanitising. */
function getCitedTexts(answer: string, places: readonly (readonly [number, number])[]): (string | undefined)[] {
  const citations = places.map(([start, end]) => ({ url, title: 'T', start, end }))
  const found = { answer, results: [{ url, title: 'T' }], citations, usage: {}, searches: null, warnings: [] } as never
  const document = toDocument(found, frame)
  return document.citations.map(({ start_index: start, end_index: end }) =>
    start === undefined ? undefined : document.answer.slice(start, end),
  )
}

t.test('places citations at their text after sanitising, for both ways of counting', async (t) => {
  const mark = `([source](${url}))`
  const at = (text: string, by: 'units' | 'characters', nth = 0): readonly [number, number] => {
    let start = -1
    for (let found = 0; found <= nth; found++) start = text.indexOf(mark, start + 1)
    const begin = by === 'units' ? start : Array.from(text.slice(0, start)).length
    return [begin, begin + mark.length]
  }
  const plain = `The tide turns. ${mark}`
  t.same(getCitedTexts(plain, [at(plain, 'units')]), [mark])
  const dirty = `The\u200b <b>tide</b>   turns \u{e0041}twice. ${mark} And again. ${mark} End. `
  t.same(getCitedTexts(dirty, [at(dirty, 'units'), at(dirty, 'units', 1)]), [mark, mark])
  const emoji = `🌊🌊🌊 The tide turns. ${mark}`
  t.same(getCitedTexts(emoji, [at(emoji, 'units')]), [mark])
  t.same(getCitedTexts(emoji, [at(emoji, 'characters')]), [mark])
  const both = `🌊\u200b🌊 The <i>tide</i> turns. ${mark}`
  t.same(getCitedTexts(both, [at(both, 'characters')]), [mark])
})

t.test('selects the cited one of several equal texts', async (t) => {
  const dirty = '\u200b[1] one, [1] two, [1] three'
  const start = dirty.lastIndexOf('[1]')
  const citations = [{ url, title: 'T', start, end: start + 3 }]
  const found = { answer: dirty, results: [{ url, title: 'T' }], citations, usage: {}, searches: null, warnings: [] } as never
  t.match(toDocument(found, frame).citations, [{ start_index: start - 1, end_index: start + 2 }])
})

t.test('omits an impossible position', async (t) => {
  t.same(
    getCitedTexts('The tide turns.', [
      [5, 2],
      [0, 1e9],
      [-1, 3],
      [3, 3],
      [0.5, 2],
    ]),
    Array(5).fill(undefined),
  )
  t.same(getCitedTexts('🌊 The tide turns twice.', [[2, 6]]), [undefined], 'the way of counting is unknown')
})
