/** The duration of a run and the order of its measurements. */
import t from 'tap'
import { orderForRound, planRun } from '../../../../bench/run/plan.ts'

const request = {
  subjects: 6,
  shapes: ['whole', 'streamed'],
  clients: [1, 16, 64, 256],
  rate: 200,
  seconds: 2,
  warmTurns: 25_000,
  warmSeconds: 10,
  minutes: 15,
  together: false,
} as const

t.test('a run takes as many rounds as fit into its time, and no longer', async (t) => {
  for (const minutes of [9, 15, 40]) {
    const { rounds, totalSeconds } = planRun({ ...request, minutes })
    t.ok(totalSeconds <= minutes * 60, `${totalSeconds} s of ${minutes} minutes`)
    const another = (totalSeconds - 6 * 13) / rounds
    t.ok(totalSeconds + another > minutes * 60, `${rounds} rounds, and no room for one more`)
  }
  t.equal(planRun({ ...request, rate: 0 }).openSeconds, 0)
})

t.test('reports the required time if the given time is too short, and that time is enough', async (t) => {
  const minutes = /give it --minutes ([\d.]+)/.exec(getRefusal(() => planRun({ ...request, minutes: 2 })))?.[1]
  t.equal(planRun({ ...request, minutes: Number(minutes) }).rounds, 3)
})

t.test('the first subject of one round is the last of the next', async (t) => {
  t.same(
    [0, 1, 2].map((round) => orderForRound(['a', 'b'], round).join('')),
    ['ab', 'ba', 'ab'],
  )
})

function getRefusal(plan: () => unknown): string {
  try {
    return `planned: ${JSON.stringify(plan())}`
  } catch (error) {
    return String(error)
  }
}
