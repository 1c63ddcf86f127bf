/** The queue is shared in proportion, and no member can fill it for all. */
import t from 'tap'
import { FairQueue } from '../../../../src/exchange/body-parser/fair-queue.ts'

const job = (member: string, bytes = 1) => ({ member, bytes })
const standing = (): number => 0

t.test('serves a member with many jobs between the others', async (t) => {
  const lines = new FairQueue(100, standing)
  for (const member of ['a', 'a', 'a', 'b', 'b', 'c']) t.same(lines.enqueue(job(member)), [])
  const order = Array.from({ length: 6 }, () => lines.dequeue()?.member)
  t.same(order, ['a', 'b', 'c', 'a', 'b', 'a'])
  t.equal(lines.dequeue(), undefined)
  t.equal(lines.bytes, 0)
})

t.test('gives each member the same time, however costly its jobs are', async (t) => {
  const lines = new FairQueue(1_000, standing)
  const costs: Readonly<Record<string, number>> = { costly: 300_000, cheap: 10_000, other: 10_000 }
  const spent: Record<string, number> = { costly: 0, cheap: 0, other: 0 }
  for (let i = 0; i < 200; i++) for (const member of Object.keys(costs)) lines.enqueue(job(member))
  for (let i = 0; i < 100; i++) {
    const { member } = lines.dequeue() ?? job('')
    lines.charge(member, costs[member] ?? 0)
    spent[member] = (spent[member] ?? 0) + (costs[member] ?? 0)
  }
  const { costly = 0, cheap = 0, other = 0 } = spent
  t.ok(costly - cheap <= 300_000 && cheap - costly <= 300_000, `${costly} beside ${cheap}`)
  t.equal(cheap, other)
})

t.test('serves a member with costly jobs after others for a while, and forgets the cost', async (t) => {
  let now = 0
  const lines = new FairQueue(1_000, () => now)
  lines.charge('costly', 3_000_000)
  const enqueueAll = () => ['costly', 'cheap', 'costly', 'cheap'].map((member) => lines.enqueue(job(member)))
  const dequeueAll = () =>
    Array.from({ length: 4 }, () => {
      const member = lines.dequeue()?.member ?? ''
      lines.charge(member, 10_000)
      return member
    })
  enqueueAll()
  t.same(dequeueAll(), ['cheap', 'cheap', 'costly', 'costly'])
  now = 60_000
  enqueueAll()
  t.same(dequeueAll(), ['cheap', 'cheap', 'costly', 'costly'], 'a minute later')
  now = 300_000
  enqueueAll()
  t.same(dequeueAll(), ['costly', 'cheap', 'costly', 'cheap'])
})

t.test('a member alone is served at once, whatever it has used', async (t) => {
  const lines = new FairQueue(1_000, standing)
  lines.charge('costly', 3_000_000)
  lines.enqueue(job('costly'))
  t.equal(lines.dequeue()?.member, 'costly')
})

t.test('evicts from the member with the most bytes, never from one with less than the newcomer', async (t) => {
  const lines = new FairQueue<ReturnType<typeof job>>(100, standing)
  const [first, second, third] = [job('a', 40), job('a', 40), job('b', 30)]
  t.same(lines.enqueue(first), [])
  t.same(lines.enqueue(second), [])
  t.same(lines.enqueue(third), [second], 'the last job of the longest queue')
  const [fourth, fifth] = [job('a', 40), job('c', 20)]
  t.same(lines.enqueue(fourth), [fourth], 'the newcomer itself if it has the most')
  t.same(lines.enqueue(fifth), [])
  t.equal(lines.bytes, 90)
  t.same([lines.dequeue(), lines.dequeue(), lines.dequeue(), lines.dequeue()], [first, third, fifth, undefined])
})

t.test('accepts a single job larger than the limit', async (t) => {
  const lines = new FairQueue(100, standing)
  t.same(lines.enqueue(job('a', 1_000)), [])
  t.equal(lines.dequeue()?.bytes, 1_000)
})

t.test('removes a cancelled job, once', async (t) => {
  const lines = new FairQueue<ReturnType<typeof job>>(100, standing)
  const [first, second] = [job('a'), job('a')]
  lines.enqueue(first)
  lines.enqueue(second)
  lines.remove(first)
  lines.remove(first)
  t.equal(lines.bytes, 1)
  t.equal(lines.dequeue(), second)
  lines.remove(second)
  t.equal(lines.bytes, 0)
})
