/** Places at a target that takes only so many calls at once. */
import t from 'tap'
import { Gate } from '../../src/upstream/gate.ts'

const nobody = (): void => undefined

t.test('places are taken, waited for in order, and given back', async (t) => {
  const gate = new Gate({ places: 2, queue: 2, waitMs: 10_000 })
  t.same([gate.enter(), gate.enter(), gate.enter()], [true, true, false])
  const order: string[] = []
  const first = gate.wait(nobody).then((isIn) => order.push(`first ${isIn}`))
  const second = gate.wait(nobody).then((isIn) => order.push(`second ${isIn}`))
  t.equal(await gate.wait(nobody), false, 'the line has an end')
  t.equal(gate.waiting, 2)
  gate.leave()
  t.notOk(gate.enter(), 'nobody overtakes')
  gate.leave()
  await Promise.all([first, second])
  t.same(order, ['first true', 'second true'])
  t.match(gate, { running: 2, waiting: 0 })
  gate.leave()
  gate.leave()
  t.match(gate, { running: 0, waiting: 0 })
})

t.test('who has waited long enough, or has left, is passed over', async (t) => {
  const gate = new Gate({ places: 1, queue: 5, waitMs: 20 })
  gate.enter()
  t.equal(await gate.wait(nobody), false, 'the time is up')
  let leave = nobody
  const gone = gate.wait((giveUp) => (leave = giveUp))
  const there = gate.wait(nobody)
  leave()
  t.equal(await gone, false)
  gate.leave()
  t.equal(await there, true)
  t.match(gate, { running: 1, waiting: 0 })
  leave()
  t.match(gate, { running: 1, waiting: 0 }, 'leaving twice changes nothing')
})
