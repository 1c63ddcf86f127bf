/** Which backups are kept. */
import t from 'tap'
import { findLongestKeepDays, selectExpired } from '../../../src/backup/thin-backups.ts'

const hourMs = 3_600_000
const dayMs = 24 * hourMs
const now = Date.parse('2026-11-28T14:30:00Z')
const keep = { days: 7, weeks: 4, months: 6 }

/** The instants that remain when a backup is written every `everyMs` for `forMs`, and each one thins. */
function simulate(everyMs: number, forMs: number): readonly number[] {
  let backups: { at: number }[] = []
  for (let at = now - forMs; at <= now; at += everyMs) {
    backups.push({ at })
    const expired = new Set(selectExpired(backups, keep, at))
    backups = backups.filter((backup) => !expired.has(backup))
  }
  return backups.map(({ at }) => at)
}

t.test('the newest backup of each of the last days, weeks and months stays', async (t) => {
  const kept = simulate(6 * hourMs, 400 * dayMs).map((at) => new Date(at).toISOString().slice(0, 13))
  t.same(kept, [
    // The last of each month that had one left.
    '2026-06-30T20',
    '2026-07-31T20',
    '2026-08-31T20',
    '2026-09-30T20',
    '2026-10-31T20',
    // The last of each week.
    '2026-11-08T20',
    '2026-11-15T20',
    // The last of each day, of which a Sunday is also the last of its week.
    '2026-11-22T20',
    '2026-11-23T20',
    '2026-11-24T20',
    '2026-11-25T20',
    '2026-11-26T20',
    '2026-11-27T20',
    // The last 24 hours.
    '2026-11-28T02',
    '2026-11-28T08',
    '2026-11-28T14',
  ])
})

t.test('the number of backups is bounded, and none is older than the page of deletion states', async (t) => {
  for (const everyMs of [hourMs, 7 * hourMs, dayMs, 3 * dayMs, 20 * dayMs]) {
    const kept = simulate(everyMs, 1000 * dayMs)
    t.ok(kept.length <= 7 + 4 + 6 + Math.ceil(dayMs / everyMs), `${kept.length} at every ${everyMs / hourMs} hours`)
    t.ok(now - (kept[0] ?? 0) <= findLongestKeepDays(keep, everyMs) * dayMs)
  }
})

t.test('the newest backup stays however old it is', async (t) => {
  const backups = [{ at: now - 4000 * dayMs }, { at: now - 3000 * dayMs }, { at: now - 3001 * dayMs }]
  t.same(selectExpired(backups, keep, now), [{ at: now - 4000 * dayMs }, { at: now - 3001 * dayMs }])
  t.same(selectExpired([], keep, now), [])
})

t.test('all backups of the last 24 hours stay, and those of a clock that ran ahead', async (t) => {
  const backups = Array.from({ length: 48 }, (_, index) => ({ at: now - (index + 1) * (hourMs / 2) + 1 }))
  t.same(selectExpired([...backups, { at: now + 9 * dayMs }], keep, now), [])
})
