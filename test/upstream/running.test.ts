/** The calls that are running, visited while they come and go. */
import { array, assert, nat, property } from 'fast-check'
import t from 'tap'
import { Running } from '../../src/upstream/running.ts'

t.test('whatever comes and goes, exactly those that have not left are visited, each once', async (t) => {
  assert(
    property(array(nat(20), { maxLength: 200 }), (steps) => {
      const running = new Running<{ place: number }>()
      const model = new Set<{ place: number }>()
      for (const step of steps) {
        const known = [...model][step]
        if (known === undefined) {
          const call = { place: -1 }
          running.add(call)
          model.add(call)
        } else {
          running.remove(known)
          model.delete(known)
          // Leaving twice takes nobody else along.
          running.remove(known)
        }
      }
      const seen: { place: number }[] = []
      running.each((call) => seen.push(call))
      return running.size === model.size && seen.length === model.size && seen.every((call) => model.has(call))
    }),
  )
  t.pass('for every order of comings and goings')
})

t.test('a call may leave while it is visited', async (t) => {
  const running = new Running<{ place: number }>()
  for (let count = 0; count < 5; count += 1) running.add({ place: -1 })
  const seen = new Set<{ place: number }>()
  running.each((call) => {
    seen.add(call)
    running.remove(call)
  })
  t.equal(seen.size, 5)
  t.equal(running.size, 0)
})
