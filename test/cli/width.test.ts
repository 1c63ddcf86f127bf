/** How many columns of a terminal a text takes. */
import t from 'tap'
import { pad, padLeft, width } from '../../src/cli/width.ts'

t.test('a text takes as many columns as a terminal gives it', async (t) => {
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
    t.equal(width(text), columns, JSON.stringify(text))
})

t.test('what is filled up is as wide as was asked, what is wider stays', async (t) => {
  t.equal(pad('表', 4), '表  ')
  t.equal(padLeft('🇨🇳', 4), '  🇨🇳')
  t.equal(pad('表格', 3), '表格')
})
