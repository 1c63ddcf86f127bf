/** Ids sort by creation, also within one millisecond, and are unique. */
import t from 'tap'
import { createIds } from '../../../src/system/ids.ts'

const now = 1_790_000_000_000

t.test('sorts ids of one millisecond by creation, whatever earlier times come in between', (t) => {
  const ids = createIds()
  const made: string[] = []
  for (let i = 0; i < 5_000; i++) {
    made.push(ids.next('aud_', now))
    ids.next('mbr_', now - (i % 3))
  }
  t.same(made, made.toSorted())
  t.ok(made.every((id) => /^aud_[0-9A-HJKMNP-TV-Z]{26}$/.test(id)))
  t.ok(ids.next('aud_', now + 1) > (made.at(-1) ?? ''), 'a later one after all of them')
  t.ok(ids.next('aud_', now - 1) < (made[0] ?? ''), 'an earlier one before')
  t.end()
})

t.test('creates different ids in two processes in one millisecond', (t) => {
  const [one, other] = [createIds(), createIds()]
  const made = Array.from({ length: 5_000 }, () => [one.next('', now), other.next('', now)]).flat()
  t.equal(new Set(made).size, made.length)
  t.end()
})
