/** How long a run takes, and in which order. */
import t from 'tap'
import { inRound, planOf } from '../../bench/run/plan.ts'

const wish = {
  subjects: 6,
  shapes: ['whole', 'streamed'],
  clients: [1, 16, 64, 256],
  rate: 200,
  seconds: 2,
  warmTurns: 25_000,
  warmSeconds: 10,
  minutes: 15,
} as const

t.test('a run takes as many rounds as fit, and no longer than it was given', async (t) => {
  for (const minutes of [9, 15, 40]) {
    const { rounds, totalSeconds } = planOf({ ...wish, minutes })
    t.ok(totalSeconds <= minutes * 60, `${totalSeconds} s of ${minutes} minutes`)
    const another = (totalSeconds - 6 * 13) / rounds
    t.ok(totalSeconds + another > minutes * 60, `${rounds} rounds, and no room for one more`)
  }
  t.equal(planOf({ ...wish, rate: 0 }).openSeconds, 0)
})

t.test('where the time is too short it says how long it takes, and that is enough', async (t) => {
  const minutes = /give it --minutes ([\d.]+)/.exec(refusalOf(() => planOf({ ...wish, minutes: 2 })))?.[1]
  t.equal(planOf({ ...wish, minutes: Number(minutes) }).rounds, 3)
})

t.test('who is first in one round is last in the next', async (t) => {
  t.same(
    [0, 1, 2].map((round) => inRound(['a', 'b'], round).join('')),
    ['ab', 'ba', 'ab'],
  )
})

function refusalOf(plan: () => unknown): string {
  try {
    return `planned: ${JSON.stringify(plan())}`
  } catch (error) {
    return String(error)
  }
}
