/** The time of day in which a receiver gets only the most important reports. */
import t from 'tap'
import { isQuiet } from '../../../src/notifications/receivers/quiet-hours.ts'

const cases = [
  { from: '22:00', to: '07:00', zone: 'UTC', at: '2026-11-28T21:59:59Z', expected: false },
  { from: '22:00', to: '07:00', zone: 'UTC', at: '2026-11-28T22:00:00Z', expected: true },
  { from: '22:00', to: '07:00', zone: 'UTC', at: '2026-11-28T06:59:00Z', expected: true },
  { from: '22:00', to: '07:00', zone: 'UTC', at: '2026-11-28T07:00:00Z', expected: false },
  { from: '22:00', to: '07:00', zone: 'Asia/Shanghai', at: '2026-11-28T14:00:00Z', expected: true },
  { from: '22:00', to: '07:00', zone: 'Asia/Shanghai', at: '2026-11-28T23:00:00Z', expected: false },
  { from: '00:00', to: '06:00', zone: 'UTC', at: '2026-11-28T00:00:00Z', expected: true },
  { from: '12:00', to: '13:00', zone: 'UTC', at: '2026-11-28T12:30:00Z', expected: true },
  { from: '12:00', to: '13:00', zone: 'UTC', at: '2026-11-28T11:59:00Z', expected: false },
  // The clock of Berlin goes from 02:00 to 03:00 in this night, and back in the other.
  { from: '22:00', to: '07:00', zone: 'Europe/Berlin', at: '2026-03-29T04:59:00Z', expected: true },
  { from: '22:00', to: '07:00', zone: 'Europe/Berlin', at: '2026-03-29T05:00:00Z', expected: false },
  { from: '22:00', to: '07:00', zone: 'Europe/Berlin', at: '2026-10-25T05:59:00Z', expected: true },
  { from: '09:00', to: '09:00', zone: 'UTC', at: '2026-11-28T12:00:00Z', expected: true },
]

for (const { from, to, zone, at, expected } of cases)
  t.test(`${at} is ${expected ? '' : 'not '}between ${from} and ${to} in ${zone}`, async (t) => {
    t.equal(isQuiet({ from, to }, Date.parse(at), zone), expected)
  })
