/** Who waits for the thread is served in proportion, and nobody can fill the room for all. */
import t from 'tap'
import { Lines } from '../../../src/exchange/large/lines.ts'

const job = (member: string, bytes = 1) => ({ member, bytes })

t.test('one who has many waiting is served between the others', async (t) => {
  const lines = new Lines(100)
  for (const member of ['a', 'a', 'a', 'b', 'b', 'c']) t.same(lines.add(job(member)), [])
  const order = Array.from({ length: 6 }, () => lines.next()?.member)
  t.same(order, ['a', 'b', 'c', 'a', 'b', 'a'])
  t.equal(lines.next(), undefined)
  t.equal(lines.bytes, 0)
})

t.test('a full room is made free by whoever has most of it, and by nobody who has less than the one who comes', async (t) => {
  const lines = new Lines<ReturnType<typeof job>>(100)
  const [first, second, third] = [job('a', 40), job('a', 40), job('b', 30)]
  t.same(lines.add(first), [])
  t.same(lines.add(second), [])
  t.same(lines.add(third), [second], 'the last of the longest line')
  const [fourth, fifth] = [job('a', 40), job('c', 20)]
  t.same(lines.add(fourth), [fourth], 'who has the most goes himself')
  t.same(lines.add(fifth), [])
  t.equal(lines.bytes, 90)
  t.same([lines.next(), lines.next(), lines.next(), lines.next()], [first, third, fifth, undefined])
})

t.test('one alone may be larger than the room', async (t) => {
  const lines = new Lines(100)
  t.same(lines.add(job('a', 1_000)), [])
  t.equal(lines.next()?.bytes, 1_000)
})

t.test('who leaves is out of the line, and leaving twice is nothing', async (t) => {
  const lines = new Lines<ReturnType<typeof job>>(100)
  const [first, second] = [job('a'), job('a')]
  lines.add(first)
  lines.add(second)
  lines.remove(first)
  lines.remove(first)
  t.equal(lines.bytes, 1)
  t.equal(lines.next(), second)
  lines.remove(second)
  t.equal(lines.bytes, 0)
})
