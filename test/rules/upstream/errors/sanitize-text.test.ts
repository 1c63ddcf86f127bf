/** An upstream's sentence may quote a prompt: its length is all that its cost depends on. */
import t from 'tap'
import { sanitizeText } from '../../../../src/upstream/errors/sanitize-text.ts'
import { measureGrowth } from '../../../support/cpu-growth.ts'

const maxGrowth = 2.6

t.test('the cost grows with the length of a text, whatever its words are', async (t) => {
  for (const [unit, end] of [
    ['a', ''],
    ['1', '!'],
    ['a', ' 1'],
    ['a.', '@'],
    ['@', ''],
    ['a@b', ' '],
    ['data:', ','],
    ['/a', ' '],
    [' ', 'x'],
    ['\n', 'x'],
  ] as const) {
    const { growth, size } = measureGrowth((n) => {
      // Longer texts are cut.
      const text = unit.repeat(n / 128 / unit.length) + end
      return () => {
        for (let i = 0; i < 20; i++) sanitizeText(text)
      }
    }, maxGrowth)
    t.ok(growth <= maxGrowth, `${JSON.stringify(unit)}: twice ${size} takes ${growth.toFixed(1)} times as long`)
  }
})

t.test('hides an address and an identifier inside a longer word', async (t) => {
  for (const [text, expected] of [
    ['mail a@b.example, or <c@d.example>.', 'mail …, or …>.'],
    ['see x=(a@b.example)', 'see …)'],
    [`id:${'a'.repeat(24)}1.`, 'id:….'],
    [`id:${'a'.repeat(30)}.`, `id:${'a'.repeat(30)}.`],
  ] as const)
    t.equal(sanitizeText(text), expected)
})
