/** The queue is shared in proportion, and no member can fill it for all. */
import t from 'tap'
import { FairQueue } from '../../../src/exchange/body-parser/fair-queue.ts'

const job = (member: string, bytes = 1) => ({ member, bytes })

t.test('serves a member with many jobs between the others', async (t) => {
  const lines = new FairQueue(100)
  for (const member of ['a', 'a', 'a', 'b', 'b', 'c']) t.same(lines.enqueue(job(member)), [])
  const order = Array.from({ length: 6 }, () => lines.dequeue()?.member)
  t.same(order, ['a', 'b', 'c', 'a', 'b', 'a'])
  t.equal(lines.dequeue(), undefined)
  t.equal(lines.bytes, 0)
})

t.test('evicts from the member with the most bytes, never from one with less than the newcomer', async (t) => {
  const lines = new FairQueue<ReturnType<typeof job>>(100)
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
  const lines = new FairQueue(100)
  t.same(lines.enqueue(job('a', 1_000)), [])
  t.equal(lines.dequeue()?.bytes, 1_000)
})

t.test('removes a cancelled job, once', async (t) => {
  const lines = new FairQueue<ReturnType<typeof job>>(100)
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
