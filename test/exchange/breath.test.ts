/** Large requests are worked through between other people's turns, one slice of one of them a round. */
import { setImmediate as nextRound } from 'node:timers/promises'
import t from 'tap'
import { breath } from '../../src/exchange/breath.ts'

t.test('of all that wait one goes on a round, in the order they came, and each of them does', async (t) => {
  const seen: string[] = []
  const large = async (name: string): Promise<void> => {
    for (let i = 0; i < 3; i++) {
      await breath()
      seen.push(name)
    }
  }
  const done = Promise.all([large('a'), large('b')])
  for (let round = 0; round < 6; round++) {
    await nextRound()
    t.ok(seen.length <= round + 1, `round ${round}: ${seen.length} slices`)
  }
  await done
  t.same(seen, ['a', 'b', 'a', 'b', 'a', 'b'])
})
