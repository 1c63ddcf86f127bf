/** Moments as operators type them, also on the days on which the clocks change. */
import t from 'tap'
import { parseTime } from '../../../../../src/pages/views/operator/turns/parse-time.ts'

const read = (text: string, zone = 'Europe/Berlin'): string => {
  const time = parseTime(text, zone)
  return time.kind === 'good' ? new Date(time.at).toISOString() : time.kind
}

t.test('reads a day or a time in a zone', async (t) => {
  t.equal(read('2026-11-29'), '2026-11-28T23:00:00.000Z')
  t.equal(read('2026-11-29 14:05'), '2026-11-29T13:05:00.000Z')
  t.equal(read('2026-11-29T14:05:06.789Z'), '2026-11-29T14:05:06.789Z')
  t.equal(read('2026-11-29 14:05 +08:00'), '2026-11-29T06:05:00.000Z')
  t.equal(read('2026-11-29 14:05 America/New_York'), '2026-11-29T19:05:00.000Z')
  t.equal(read('2026-11-29 Asia/Kolkata'), '2026-11-28T18:30:00.000Z')
})

t.test('keeps the time of day on days on which the clocks change', async (t) => {
  t.equal(read('2026-03-29 01:30'), '2026-03-29T00:30:00.000Z')
  t.equal(read('2026-03-29 12:00'), '2026-03-29T10:00:00.000Z')
  t.equal(read('2026-03-29 23:30'), '2026-03-29T21:30:00.000Z')
  t.equal(read('2026-10-25 12:00'), '2026-10-25T11:00:00.000Z')
  t.equal(read('2026-10-25 23:30'), '2026-10-25T22:30:00.000Z')
})

t.test('refuses what is no time or no zone', async (t) => {
  for (const text of ['', '2026', '2026-02-30', '2026-13-01', '2026-11-29 24:00', '2026-11-29 14:60', '29.11.2026', "' or 1=1"])
    t.equal(read(text), 'no_time', text)
  for (const text of ['2026-11-29 Mars/Base', '2026-11-29 14:05 +99:00', '2026-11-29 nowhere'])
    t.equal(read(text), 'no_zone', text)
})
