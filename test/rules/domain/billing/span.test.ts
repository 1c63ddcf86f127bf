/** Spans of time as they are sold, and their ends in a calendar. */
import t from 'tap'
import { createCalendar } from '../../../../src/domain/billing/period.ts'
import { formatSpan, parseSpan } from '../../../../src/domain/billing/span.ts'

t.test('reads spans of days, months and years, and refuses others', async (t) => {
  for (const text of ['1d', '30d', '1mo', '12mo', '1y', '100y', '86400000ms']) {
    const span = parseSpan(text)
    t.equal(span && formatSpan(span), text)
  }
  for (const text of ['', '0d', '-1d', '1', 'd', '1m', '1.5d', '30 d', '36501d', '1201mo', '101y', '1d1d', '١d', '1e3d'])
    t.equal(parseSpan(text), undefined, text)
})

t.test('a span ends at the same time of day, across changes of the clocks and short months', async (t) => {
  for (const [zone, start, span, end] of [
    ['UTC', '2026-01-31T10:00:00Z', '1mo', '2026-02-28T10:00:00Z'],
    ['UTC', '2028-01-31T10:00:00Z', '1mo', '2028-02-29T10:00:00Z'],
    ['UTC', '2028-02-29T00:00:00Z', '1y', '2029-02-28T00:00:00Z'],
    ['UTC', '2026-12-31T23:59:59.999Z', '2mo', '2027-02-28T23:59:59.999Z'],
    ['UTC', '2026-11-30T12:00:00Z', '12mo', '2027-11-30T12:00:00Z'],
    ['UTC', '2026-03-02T00:00:00Z', '30d', '2026-04-01T00:00:00Z'],
    // The clocks go forward on 29 March and back on 25 October.
    ['Europe/Berlin', '2026-03-20T09:00:00+01:00', '30d', '2026-04-19T09:00:00+02:00'],
    ['Europe/Berlin', '2026-10-01T09:00:00+02:00', '1mo', '2026-11-01T09:00:00+01:00'],
    ['Europe/Berlin', '2026-01-31T23:30:00+01:00', '1mo', '2026-02-28T23:30:00+01:00'],
    // In UTC this is still the 30th.
    ['Asia/Shanghai', '2026-01-31T01:00:00+08:00', '1mo', '2026-02-28T01:00:00+08:00'],
    ['America/New_York', '2026-03-07T12:00:00-05:00', '1d', '2026-03-08T12:00:00-04:00'],
  ] as const) {
    const parsed = parseSpan(span) ?? { count: 0, unit: 'd' }
    const found = createCalendar(zone).addSpan(Date.parse(start), parsed)
    t.equal(new Date(found).toISOString(), new Date(end).toISOString(), `${zone} ${start} + ${span}`)
  }
})

t.test('a time that a change of the clocks skips or repeats ends within the hour', async (t) => {
  const calendar = createCalendar('Europe/Berlin')
  const minutesFrom = (start: string, end: string) =>
    Math.abs(calendar.addSpan(Date.parse(start), { count: 1, unit: 'd' }) - Date.parse(end)) / 60_000
  t.ok(minutesFrom('2026-03-28T02:30:00+01:00', '2026-03-29T03:00:00+02:00') <= 60)
  t.ok(minutesFrom('2026-10-24T02:30:00+02:00', '2026-10-25T02:30:00+01:00') <= 60)
})

t.test('every span has a later end', async (t) => {
  for (const zone of ['UTC', 'Europe/Berlin', 'Pacific/Apia', 'America/Santiago', 'Australia/Lord_Howe']) {
    const calendar = createCalendar(zone)
    for (let at = Date.parse('2026-01-01T00:17:00Z'); at < Date.parse('2027-02-01T00:00:00Z'); at += 11 * 3_600_000)
      for (const unit of ['d', 'mo', 'y'] as const)
        if (calendar.addSpan(at, { count: 1, unit }) <= at) t.fail(`${zone} ${new Date(at).toISOString()} ${unit}`)
  }
  t.equal(createCalendar('UTC').addSpan(1_000, { count: 5, unit: 'ms' }), 1_005)
})
