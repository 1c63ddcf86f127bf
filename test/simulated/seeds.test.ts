/** Histories of fixed seeds, and some of new ones. A failing seed is printed with its history, and `npm run test:seeds -- 1 SEED` repeats it. */
import { randomInt } from 'node:crypto'
import t from 'tap'
import { runHistory } from './histories/history.ts'

const fixedSeeds = Array.from({ length: 60 }, (_, index) => index + 1)
const newSeeds = Array.from({ length: 20 }, () => randomInt(2 ** 31))

t.test('one seed is one history', async (t) => {
  const { events } = await runHistory(7)
  t.ok(events.length > 10)
  t.same((await runHistory(7)).events, events)
})

/** So many take less than a second. */
const seedsPerTest = 4

for (const [name, seeds] of [
  ['fixed', fixedSeeds],
  ['new', newSeeds],
] as const)
  for (let from = 0; from < seeds.length; from += seedsPerTest)
    t.test(`nothing goes wrong in the histories of ${name} seeds, from number ${from + 1}`, async (t) => {
      for (const seed of seeds.slice(from, from + seedsPerTest)) {
        const { events, faults } = await runHistory(seed)
        t.same(faults, [], `seed ${seed}${faults.length === 0 ? '' : `\n${events.join('\n')}`}`)
      }
    })
