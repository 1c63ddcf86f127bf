import t from 'tap'
import { createCalendar, resolvePeriod } from '../../../../src/domain/billing/period.ts'

const utc = createCalendar('UTC')
const iso = (instant: number): string => new Date(instant).toISOString().replace(':00.000Z', '')
const hour = 3_600_000

/** One row: an instant and a zone, and their day, week and month. */
const rows: readonly (readonly [zone: string, now: string, day: string, week: string, month: string])[] = [
  [
    'UTC',
    '2026-05-13T12:00:00Z',
    '2026-05-13T00:00 2026-05-14T00:00',
    '2026-05-11T00:00 2026-05-18T00:00',
    '2026-05-01T00:00 2026-06-01T00:00',
  ],
  [
    'UTC',
    '2026-05-13T00:00:00Z',
    '2026-05-13T00:00 2026-05-14T00:00',
    '2026-05-11T00:00 2026-05-18T00:00',
    '2026-05-01T00:00 2026-06-01T00:00',
  ],
  // A Sunday belongs to the week of the Monday before, a month's last day to that month.
  [
    'UTC',
    '2026-05-31T23:59:59.999Z',
    '2026-05-31T00:00 2026-06-01T00:00',
    '2026-05-25T00:00 2026-06-01T00:00',
    '2026-05-01T00:00 2026-06-01T00:00',
  ],
  [
    'UTC',
    '2026-06-01T00:00:00Z',
    '2026-06-01T00:00 2026-06-02T00:00',
    '2026-06-01T00:00 2026-06-08T00:00',
    '2026-06-01T00:00 2026-07-01T00:00',
  ],
  // The leap day, and a year whose first days belong to the last ISO week of the previous year.
  [
    'UTC',
    '2028-02-29T12:00:00Z',
    '2028-02-29T00:00 2028-03-01T00:00',
    '2028-02-28T00:00 2028-03-06T00:00',
    '2028-02-01T00:00 2028-03-01T00:00',
  ],
  [
    'UTC',
    '2027-02-28T23:00:00Z',
    '2027-02-28T00:00 2027-03-01T00:00',
    '2027-02-22T00:00 2027-03-01T00:00',
    '2027-02-01T00:00 2027-03-01T00:00',
  ],
  [
    'UTC',
    '2027-01-01T00:00:00Z',
    '2027-01-01T00:00 2027-01-02T00:00',
    '2026-12-28T00:00 2027-01-04T00:00',
    '2027-01-01T00:00 2027-02-01T00:00',
  ],
  [
    'UTC',
    '2026-12-31T23:59:59Z',
    '2026-12-31T00:00 2027-01-01T00:00',
    '2026-12-28T00:00 2027-01-04T00:00',
    '2026-12-01T00:00 2027-01-01T00:00',
  ],
  // East of Greenwich the day begins earlier, and the month with it.
  [
    'Asia/Shanghai',
    '2026-05-31T16:00:00Z',
    '2026-05-31T16:00 2026-06-01T16:00',
    '2026-05-31T16:00 2026-06-07T16:00',
    '2026-05-31T16:00 2026-06-30T16:00',
  ],
  [
    'Asia/Shanghai',
    '2026-05-31T15:59:59Z',
    '2026-05-30T16:00 2026-05-31T16:00',
    '2026-05-24T16:00 2026-05-31T16:00',
    '2026-04-30T16:00 2026-05-31T16:00',
  ],
  [
    'Asia/Kathmandu',
    '2026-05-13T18:20:00Z',
    '2026-05-13T18:15 2026-05-14T18:15',
    '2026-05-10T18:15 2026-05-17T18:15',
    '2026-04-30T18:15 2026-05-31T18:15',
  ],
  // Days of 23 and of 25 hours, and their weeks and months.
  [
    'Europe/Berlin',
    '2026-03-29T10:00:00Z',
    '2026-03-28T23:00 2026-03-29T22:00',
    '2026-03-22T23:00 2026-03-29T22:00',
    '2026-02-28T23:00 2026-03-31T22:00',
  ],
  [
    'Europe/Berlin',
    '2026-10-25T00:30:00Z',
    '2026-10-24T22:00 2026-10-25T23:00',
    '2026-10-18T22:00 2026-10-25T23:00',
    '2026-09-30T22:00 2026-10-31T23:00',
  ],
  [
    'America/New_York',
    '2026-03-08T12:00:00Z',
    '2026-03-08T05:00 2026-03-09T04:00',
    '2026-03-02T05:00 2026-03-09T04:00',
    '2026-03-01T05:00 2026-04-01T04:00',
  ],
  // Where the clocks change at midnight there is no 00:00: the day begins at 01:00.
  [
    'America/Santiago',
    '2026-09-06T12:00:00Z',
    '2026-09-06T04:00 2026-09-07T03:00',
    '2026-08-31T04:00 2026-09-07T03:00',
    '2026-09-01T04:00 2026-10-01T03:00',
  ],
]

for (const [zone, now, day, week, month] of rows) {
  t.test(`${now} in ${zone} has its day, ISO week and month`, async (t) => {
    const periods = createCalendar(zone).getPeriods(Date.parse(now))
    const shown = (window: 'day' | 'week' | 'month'): string => `${iso(periods[window].start)} ${iso(periods[window].end)}`
    t.same([shown('day'), shown('week'), shown('month')], [day, week, month])
  })
}

for (const zone of [
  'UTC',
  'Asia/Shanghai',
  'Europe/Berlin',
  'America/New_York',
  'Australia/Lord_Howe',
  'Pacific/Apia',
  'Africa/Casablanca',
]) {
  t.test(`in ${zone} every hour of four years is inside its periods, and they follow each other without gaps`, async (t) => {
    const calendar = createCalendar(zone)
    let last = calendar.getPeriods(Date.UTC(2025, 0, 1))
    const wrong: string[] = []
    for (let now = Date.UTC(2025, 0, 1); now < Date.UTC(2029, 0, 1); now += 7 * hour) {
      const periods = calendar.getPeriods(now)
      for (const window of ['day', 'week', 'month'] as const) {
        const { start, end } = periods[window]
        if (!(start <= now && now < end)) wrong.push(`${window} of ${iso(now)}`)
        if (start !== last[window].start && start !== last[window].end) wrong.push(`gap before ${window} of ${iso(now)}`)
        if (start === last[window].end && end !== last[window].nextEnd) wrong.push(`next end before ${window} of ${iso(now)}`)
      }
      last = periods
    }
    t.same(wrong, [])
  })
}

t.test('a clock set back over midnight returns to the previous day', async (t) => {
  const midnight = Date.UTC(2026, 4, 14)
  const calendar = createCalendar('UTC')
  t.equal(calendar.getPeriods(midnight).day.start, midnight)
  t.equal(calendar.getPeriods(midnight - hour).day.start, midnight - 24 * hour)
  t.equal(calendar.getPeriods(midnight - 1).day.end, midnight)
  t.equal(calendar.getPeriods(midnight).day.start, midnight)
})

t.test('returns the same object for the whole day', async (t) => {
  t.equal(utc.getPeriods(Date.UTC(2026, 4, 13, 1)), utc.getPeriods(Date.UTC(2026, 4, 13, 23)))
  t.not(utc.getPeriods(Date.UTC(2026, 4, 13, 1)), utc.getPeriods(Date.UTC(2026, 4, 14, 1)))
})

t.test("ignores the host's time zone", async (t) => {
  const before = process.env['TZ']
  t.teardown(() => {
    if (before === undefined) delete process.env['TZ']
    else process.env['TZ'] = before
  })
  for (const zone of ['Pacific/Kiritimati', 'America/Los_Angeles']) {
    process.env['TZ'] = zone
    t.equal(iso(createCalendar('UTC').getPeriods(Date.UTC(2026, 4, 13, 23)).day.start), '2026-05-13T00:00')
    t.equal(iso(createCalendar('Asia/Shanghai').getPeriods(Date.UTC(2026, 4, 13, 23)).day.start), '2026-05-13T16:00')
  }
})

/** One row: a clock in a zone, the last period, and the current one. */
const afterChange: readonly (readonly [
  name: string,
  zone: string,
  now: string,
  window: 'day' | 'month',
  last: string,
  next: string,
])[] = [
  ['follows one that ended before it', 'UTC', '2026-05-13T12:00Z', 'day', '12T00 13T00', '2026-05-13T00:00 2026-05-14T00:00'],
  ['is the one that runs', 'Asia/Shanghai', '2026-05-13T20:00Z', 'day', '13T00 14T00', '2026-05-13T00:00 2026-05-14T00:00'],
  [
    'is shorter after a step east',
    'Asia/Shanghai',
    '2026-05-14T00:00Z',
    'day',
    '13T00 14T00',
    '2026-05-14T00:00 2026-05-14T16:00',
  ],
  [
    'is longer after a step west',
    'America/Bogota',
    '2026-05-14T00:00Z',
    'day',
    '13T00 14T00',
    '2026-05-14T00:00 2026-05-15T05:00',
  ],
  [
    'is not a month’s last hours',
    'America/Bogota',
    '2026-06-01T00:00Z',
    'month',
    '01T00 32T00',
    '2026-06-01T00:00 2026-07-01T05:00',
  ],
]

for (const [name, zone, now, window, last, next] of afterChange) {
  t.test(`the period at hand ${name}`, async (t) => {
    const [start = 0, end = 0] = last.split(' ').map((text) => Date.UTC(2026, 4, Number(text.slice(0, 2))))
    const at = Date.parse(now)
    const period = resolvePeriod(at, { start, end }, createCalendar(zone).getPeriods(at)[window])
    t.equal(`${iso(period.start)} ${iso(period.end)}`, next)
  })
}
