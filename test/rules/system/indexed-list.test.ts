/** The indexed list while items are added and removed. */
import { array, assert, nat, property } from 'fast-check'
import t from 'tap'
import { IndexedList } from '../../../src/system/indexed-list.ts'

t.test('visits exactly the items that were added and not removed, each once', async (t) => {
  assert(
    property(array(nat(20), { maxLength: 200 }), (steps) => {
      const running = new IndexedList<{ listIndex: number }>()
      const model = new Set<{ listIndex: number }>()
      for (const step of steps) {
        const known = [...model][step]
        if (known === undefined) {
          const call = { listIndex: -1 }
          running.add(call)
          model.add(call)
        } else {
          running.remove(known)
          model.delete(known)
          // Removing twice must not remove another item.
          running.remove(known)
        }
      }
      const seen: { listIndex: number }[] = []
      running.forEach((call) => seen.push(call))
      return running.size === model.size && seen.length === model.size && seen.every((call) => model.has(call))
    }),
  )
  t.pass('for every order of additions and removals')
})

t.test('allows removal of an item while it is visited', async (t) => {
  const running = new IndexedList<{ listIndex: number }>()
  for (let count = 0; count < 5; count += 1) running.add({ listIndex: -1 })
  const seen = new Set<{ listIndex: number }>()
  running.forEach((call) => {
    seen.add(call)
    running.remove(call)
  })
  t.equal(seen.size, 5)
  t.equal(running.size, 0)
})
