/** The figures of a node: what a span of counters says, and which counters are kept. */
import t from 'tap'
import { FigureHistory } from '../../../../src/services/health/node-figures.ts'
import type { MetricsJson } from '../../../../src/observability/merge-metrics.ts'

const minuteMs = 60_000
const hourMs = 60 * minuteMs

type Labels = Readonly<Record<string, string>>

function counters(values: Readonly<Record<string, readonly (readonly [Labels, number])[]>>): MetricsJson[] {
  const list = Object.entries(values).map(([name, samples]) => ({
    name,
    help: '',
    type: 'counter',
    aggregator: 'sum',
    values: samples.map(([labels, value]) => ({ metricName: `${name}_bucket`, labels, value })),
  }))
  return [list as unknown as MetricsJson]
}

const turns = (completed: number, failed = 0) => ({
  svc_turns_total: [
    [{ outcome: 'completed', code: 'none' }, completed],
    [{ outcome: 'failed', code: 'upstream_error' }, failed],
  ] as const,
})
const at = (nowMs: number) => ({ now: 1_800_000_000_000 + nowMs, nowMs })

t.test('before any look a span begins with the server', async (t) => {
  const figures = new FigureHistory(0).add(counters(turns(120, 30)), at(10 * minuteMs))
  t.match(figures, {
    turnsPerMinute: 15,
    quarter: { spanMs: 10 * minuteMs, endings: { completed: 120, upstream_error: 30 } },
    day: { spanMs: 10 * minuteMs },
    firstToken: null,
    freeDiskBytes: null,
  })
})

t.test('a span counts what was added since, of all threads', async (t) => {
  const history = new FigureHistory(0)
  for (let minute = 1; minute <= 60; minute += 1) history.add(counters(turns(minute * 10)), at(minute * minuteMs))
  const figures = history.add([...counters(turns(300)), ...counters(turns(310, 4))], at(61 * minuteMs))
  t.equal(figures.turnsPerMinute, 14)
  t.match(figures.quarter, { spanMs: 15 * minuteMs, endings: { completed: 150, upstream_error: 4 } })
  t.match(figures.day, { spanMs: 61 * minuteMs, endings: { completed: 610, upstream_error: 4 } })
})

t.test('keeps a bounded number of counters, and a day is a day', async (t) => {
  const history = new FigureHistory(0)
  let figures = history.add(counters(turns(0)), at(1))
  for (let step = 1; step <= 50 * 240; step += 1) figures = history.add(counters(turns(step)), at(step * 15_000))
  t.equal(figures.quarter.endings['completed'], 60)
  t.ok(figures.day.spanMs >= 24 * hourMs && figures.day.spanMs < 24 * hourMs + 20 * minuteMs, String(figures.day.spanMs))
  t.equal(figures.day.endings['completed'], figures.day.spanMs / 15_000)
  t.ok(history.size < 200, String(history.size))
})

t.test('percentiles are bounds of buckets, of the last quarter of an hour alone', async (t) => {
  const history = new FigureHistory(0)
  const buckets = (fast: number, slow: number) => ({
    gen_ai_server_time_to_first_token_seconds: [
      [{ le: '0.5' }, fast],
      [{ le: '2.5' }, fast + slow],
      [{ le: '+Inf' }, fast + slow],
    ] as const,
  })
  t.match(history.add(counters(buckets(90, 10)), at(minuteMs)).firstToken, { p50: 0.5, p95: 2.5 })
  t.match(history.add(counters(buckets(90, 30)), at(20 * minuteMs)).firstToken, { p50: 2.5, p95: 2.5 })
  t.equal(history.add(counters(buckets(90, 30)), at(40 * minuteMs)).firstToken, null)
})

t.test('a target has its breaker, its calls, and its last failure; what the client ended is none', async (t) => {
  const history = new FigureHistory(0)
  const calls = (ok: number, failed: number, left: number, breaker: number) => ({
    svc_upstream_attempts_total: [
      [{ target: 'main/big', outcome: 'ok' }, ok],
      [{ target: 'main/big', outcome: 'http_error' }, failed],
      [{ target: 'main/big', outcome: 'client_disconnected' }, left],
    ] as const,
    svc_upstream_breaker_state: [[{ target: 'main/big' }, breaker]] as const,
  })
  const first = history.add(counters(calls(5, 1, 1, 0)), at(minuteMs)).targets
  t.same(first, [{ target: 'main/big', breaker: 'closed', attempts: 7, failed: 1, lastFailure: null }])
  const [target] = history.add(counters(calls(5, 2, 3, 2)), at(2 * minuteMs)).targets
  t.match(target, { breaker: 'open', attempts: 10, failed: 2, lastFailure: { outcome: 'http_error', at: at(2 * minuteMs).now } })
})
