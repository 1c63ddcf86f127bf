/** Measures the columns of a text on a terminal. */
import t from 'tap'
import { padToWidth, padStartToWidth, measureWidth } from '../../../../src/system/terminal/measure-width.ts'

t.test('measures as many columns as a terminal uses', async (t) => {
  for (const [text, columns] of [
    ['', 0],
    ['plain', 5],
    ['é', 1],
    ['e\u0301', 1],
    ['表格', 4],
    ['한글', 4],
    ['カタカナ', 8],
    ['ｶﾅ', 2],
    ['“—…”', 4],
    ['👍', 2],
    ['👍🏽', 2],
    ['👨‍👩‍👧', 2],
    ['🇨🇳', 2],
    ['❤️', 2],
    ['❤', 1],
    ['1️⃣', 2],
    ['a👨‍👩‍👧表🇨🇳', 7],
    ['zero\u200bwidth', 9],
  ] as const)
    t.equal(measureWidth(text), columns, JSON.stringify(text))
})

t.test('pads to the requested width, and leaves wider text unchanged', async (t) => {
  t.equal(padToWidth('表', 4), '表  ')
  t.equal(padStartToWidth('🇨🇳', 4), '  🇨🇳')
  t.equal(padToWidth('表格', 3), '表格')
})
