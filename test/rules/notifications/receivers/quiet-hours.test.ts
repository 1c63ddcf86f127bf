/** The time of day in which a receiver gets only the most important reports. */
import t from 'tap'
import { isQuiet } from '../../../../src/notifications/receivers/quiet-hours.ts'

interface Case {
  readonly hours: `${string}–${string}`
  readonly zone: string
  readonly quietAt: readonly string[]
  readonly loudAt: readonly string[]
}

const cases: readonly Case[] = [
  {
    hours: '22:00–07:00',
    zone: 'UTC',
    quietAt: ['2026-11-28T22:00:00Z', '2026-11-28T06:59:00Z'],
    loudAt: ['2026-11-28T21:59:59Z', '2026-11-28T07:00:00Z'],
  },
  { hours: '22:00–07:00', zone: 'Asia/Shanghai', quietAt: ['2026-11-28T14:00:00Z'], loudAt: ['2026-11-28T23:00:00Z'] },
  // The clock of Berlin goes from 02:00 to 03:00 in the night in March, and back in the other.
  {
    hours: '22:00–07:00',
    zone: 'Europe/Berlin',
    quietAt: ['2026-03-29T04:59:00Z', '2026-10-25T05:59:00Z'],
    loudAt: ['2026-03-29T05:00:00Z', '2026-10-25T06:00:00Z'],
  },
  { hours: '00:00–06:00', zone: 'UTC', quietAt: ['2026-11-28T00:00:00Z'], loudAt: ['2026-11-28T06:00:00Z'] },
  { hours: '12:00–13:00', zone: 'UTC', quietAt: ['2026-11-28T12:30:00Z'], loudAt: ['2026-11-28T11:59:00Z'] },
  { hours: '09:00–09:00', zone: 'UTC', quietAt: ['2026-11-28T12:00:00Z'], loudAt: [] },
]

for (const { hours, zone, quietAt, loudAt } of cases)
  t.test(`the hours ${hours} in ${zone} are quiet, and others are not`, async (t) => {
    const [from = '', to = ''] = hours.split('–')
    for (const [instants, expected] of [
      [quietAt, true],
      [loudAt, false],
    ] as const)
      for (const at of instants) t.equal(isQuiet({ from, to }, Date.parse(at), zone), expected, at)
  })
