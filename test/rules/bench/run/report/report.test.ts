/** Computes figures, tables and the chart from measurements. */
import t from 'tap'
import type { ClosedSample, OpenSample, Sample } from '../../../../../bench/run/bench-runner.ts'
import { renderChart } from '../../../../../bench/run/report/chart.ts'
import { compareSubjects, groupByShape, computeLatencies } from '../../../../../bench/run/report/report.ts'
import type { Run } from '../../../../../bench/run/report/report.ts'
import { renderMarkdown } from '../../../../../bench/run/report/table.ts'
import { zeroThreadCpu } from '../../../../../bench/run/machine/thread-cpu.ts'

const machineLoad = { others: 0, stolen: 0, waited: 1, speed: 700 }
const bare = 'bare http-proxy-3'

/** A thousand turns in a second, `cpu` microseconds each. */
function createClosedSample(subject: string, round: number, cpu: number, more: Partial<ClosedSample> = {}): ClosedSample {
  return {
    kind: 'closed',
    subject,
    round,
    shape: 'whole',
    clients: 64,
    turns: 1_000,
    seconds: 1,
    failed: 0,
    cpu: { ...zeroThreadCpu, main: cpu * 600, workers: cpu * 400 },
    machineLoad,
    disturbance: null,
    ...more,
  }
}

function createOpenSample(subject: string, round: number, latenciesMs: readonly number[]): OpenSample {
  return { kind: 'open', subject, round, rate: 200, latenciesMs, sendDelaysMs: [0], failed: 0, machineLoad, disturbance: null }
}

function createRun(samples: readonly Sample[], more: Partial<Run> = {}): Run {
  return {
    at: '2026-01-01',
    commit: 'abc',
    args: ['--quick'],
    machine: 'two cores',
    rounds: 3,
    speed: { median: 1, min: 1, max: 1, likely: [1, 1] },
    subjects: [...new Set(samples.map(({ subject }) => subject))],
    pairs: [],
    storage: {},
    samples,
    ...more,
  }
}

t.test('computes a ratio within a round, so that a machine that slows down changes none', async (t) => {
  const samples = [1, 2, 4].flatMap((slower, round) => [
    createClosedSample(bare, round, 100 * slower),
    createClosedSample('a', round, 150 * slower),
  ])
  const [group] = groupByShape(createRun(samples))
  const cost = group?.costs.find(({ subject }) => subject === 'a')
  t.match(cost, { cpu: 300, cpuRatio: { median: 1.5, min: 1.5, max: 1.5 }, rateRatio: { median: 1 }, isDisturbed: false })
  t.match(cost?.threads, { main: 180, workers: 120, V8: 0 })
})

t.test('leaves disturbed measurements out, and marks them if there are no others', async (t) => {
  const busy = { disturbance: 'other programs take 90 % of it' }
  const some = [createClosedSample(bare, 0, 100), createClosedSample(bare, 1, 900, busy), createClosedSample(bare, 2, 100)]
  t.match(groupByShape(createRun(some))[0]?.costs, [{ cpu: 100, isDisturbed: false }])
  const most = [createClosedSample(bare, 0, 100), createClosedSample(bare, 1, 900, busy), createClosedSample(bare, 2, 900, busy)]
  t.match(groupByShape(createRun(most))[0]?.costs, [{ cpu: 900, isDisturbed: true }])
  t.match(renderMarkdown(createRun(most)), '~900')
  t.notMatch(renderMarkdown(createRun(some)), '~100')
})

t.test('reports failed turns, however fast they were', async (t) => {
  const run = createRun([
    createClosedSample('a', 0, 10, { failed: 3 }),
    createClosedSample('a', 1, 10),
    createClosedSample('a', 2, 10),
  ])
  t.match(renderMarkdown(run), 'a (**3 turns failed**)')
})

t.test('computes times over all rounds together, and the added time against a direct call', async (t) => {
  const hundred = (first: number) => Array.from({ length: 100 }, (_, index) => first + index)
  const samples = [
    createOpenSample('direct', 0, hundred(1)),
    createOpenSample('direct', 1, hundred(1)),
    createOpenSample('a', 0, hundred(11)),
    createOpenSample('a', 1, hundred(11)),
  ]
  const [, through] = computeLatencies(createRun(samples))
  t.match(through, { p50: 60, p99: 109, p999: 110, added: { p50: 10, p99: 10 } })
})

t.test('compares two subjects round by round in everything measured of both', async (t) => {
  const samples = [0, 1, 2].flatMap((round) => [
    createClosedSample('here', round, 80 + round),
    createClosedSample('there', round, 100),
    createOpenSample('here', round, [3]),
    createOpenSample('there', round, [2]),
  ])
  const [cpu, main, workers, rate, p50, p99, ...more] = compareSubjects(createRun(samples), 'here', 'there')
  t.match(cpu, { here: 81, there: 100, ratio: { median: 0.81, min: 0.8, max: 0.82 } })
  t.match(main, { here: 48.6, there: 60 })
  t.match(workers, { here: 32.4, there: 40 })
  t.match(rate, { ratio: { median: 1 } })
  t.match(p50, { ratio: { median: 1.5 } })
  t.match(p99, { ratio: { median: 1.5 } })
  t.same(more, [])
})

t.test('every table has the same number of cells in each row', async (t) => {
  const samples = ['direct', bare, 'a', 'b'].flatMap((name) => [
    createClosedSample(name, 0, 100),
    createOpenSample(name, 0, [1, 2, 3]),
  ])
  const storage = {
    a: { databaseBytes: 250, logBytes: 400, writtenBytes: 4_000, operationsPerCommit: Number.NaN, fsyncs: Number.NaN },
  }
  const markdown = renderMarkdown(createRun(samples, { pairs: [['a', 'b']], storage }))
  const tables = markdown
    .trimEnd()
    .split('\n\n')
    .filter((part) => part.startsWith('|'))
  t.equal(tables.length, 4)
  for (const table of tables) t.equal(new Set(table.split('\n').map((line) => line.split('|').length)).size, 1, table)
})

t.test('the chart names every subject, accepts any name, and has a second set of colours', async (t) => {
  const names = ['direct', bare, 'a <b> & c']
  const picture = renderChart(
    createRun(names.flatMap((name) => [createClosedSample(name, 0, 100), createOpenSample(name, 0, [1, 2, 3])])),
  )
  t.match(picture, 'a &lt;b&gt; &amp; c')
  t.notMatch(picture, /NaN|undefined|Infinity/)
  t.match(picture, '@media (prefers-color-scheme: dark)')
  const used = [...picture.matchAll(/class="([^"]+)"/g)].flatMap(([, classes = '']) => classes.split(' '))
  for (const name of new Set(used)) t.match(picture, `.${name} {`, `${name} has a colour or a shape`)
})
