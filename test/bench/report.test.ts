/** From measurements to figures, tables and the picture. */
import t from 'tap'
import type { ClosedSample, OpenSample, Sample } from '../../bench/run/measure.ts'
import { pictureOf } from '../../bench/run/picture.ts'
import { comparisonsOf, groupsOf, latenciesOf } from '../../bench/run/report.ts'
import type { Run } from '../../bench/run/report.ts'
import { markdownOf } from '../../bench/run/table.ts'
import { nothingUsed } from '../../bench/run/threads.ts'

const look = { others: 0, stolen: 0, waited: 1, speed: 700 }
const bare = 'bare http-proxy-3'

/** A thousand turns in a second, `cpu` microseconds each. */
function closed(subject: string, round: number, cpu: number, more: Partial<ClosedSample> = {}): ClosedSample {
  return {
    kind: 'closed',
    subject,
    round,
    shape: 'whole',
    clients: 64,
    turns: 1_000,
    seconds: 1,
    failed: 0,
    cpu: { ...nothingUsed, main: cpu * 600, workers: cpu * 400 },
    look,
    disturbed: null,
    ...more,
  }
}

function open(subject: string, round: number, answered: readonly number[]): OpenSample {
  return { kind: 'open', subject, round, rate: 200, answered, late: [0], failed: 0, look, disturbed: null }
}

function runOf(samples: readonly Sample[], more: Partial<Run> = {}): Run {
  return {
    at: '2026-01-01',
    commit: 'abc',
    asked: ['--quick'],
    machine: 'two cores',
    rounds: 3,
    speed: { middle: 1, least: 1, most: 1 },
    subjects: [...new Set(samples.map(({ subject }) => subject))],
    pairs: [],
    books: {},
    samples,
    ...more,
  }
}

t.test('a ratio is taken within a round, so that a machine that grows slower changes none', async (t) => {
  const samples = [1, 2, 4].flatMap((slower, round) => [closed(bare, round, 100 * slower), closed('a', round, 150 * slower)])
  const [group] = groupsOf(runOf(samples))
  const cost = group?.costs.find(({ subject }) => subject === 'a')
  t.match(cost, { cpu: 300, cpuRatio: { middle: 1.5, least: 1.5, most: 1.5 }, rateRatio: { middle: 1 }, isDisturbed: false })
  t.match(cost?.threads, { main: 180, workers: 120, V8: 0 })
})

t.test('what was measured beside others is left out, and is marked where there is nothing else', async (t) => {
  const busy = { disturbed: 'other programs take 90 % of it' }
  const some = [closed(bare, 0, 100), closed(bare, 1, 900, busy), closed(bare, 2, 100)]
  t.match(groupsOf(runOf(some))[0]?.costs, [{ cpu: 100, isDisturbed: false }])
  const most = [closed(bare, 0, 100), closed(bare, 1, 900, busy), closed(bare, 2, 900, busy)]
  t.match(groupsOf(runOf(most))[0]?.costs, [{ cpu: 900, isDisturbed: true }])
  t.match(markdownOf(runOf(most)), '~900')
  t.notMatch(markdownOf(runOf(some)), '~100')
})

t.test('turns that failed are told, however fast they were', async (t) => {
  const run = runOf([closed('a', 0, 10, { failed: 3 }), closed('a', 1, 10), closed('a', 2, 10)])
  t.match(markdownOf(run), 'a (**3 turns failed**)')
})

t.test('times are of all rounds together, and what is added is against a direct call', async (t) => {
  const hundred = (first: number) => Array.from({ length: 100 }, (_, index) => first + index)
  const samples = [
    open('direct', 0, hundred(1)),
    open('direct', 1, hundred(1)),
    open('a', 0, hundred(11)),
    open('a', 1, hundred(11)),
  ]
  const [, through] = latenciesOf(runOf(samples))
  t.match(through, { p50: 60, p99: 109, p999: 110, added: { p50: 10, p99: 10 } })
})

t.test('two are compared round by round in everything that was measured of both', async (t) => {
  const samples = [0, 1, 2].flatMap((round) => [
    closed('here', round, 80 + round),
    closed('there', round, 100),
    open('here', round, [3]),
    open('there', round, [2]),
  ])
  const [cpu, rate, p50, p99, ...more] = comparisonsOf(runOf(samples), 'here', 'there')
  t.match(cpu, { here: 81, there: 100, ratio: { middle: 0.81, least: 0.8, most: 0.82 } })
  t.match(rate, { ratio: { middle: 1 } })
  t.match(p50, { ratio: { middle: 1.5 } })
  t.match(p99, { ratio: { middle: 1.5 } })
  t.same(more, [])
})

t.test('every table is one: as many cells in each of its rows', async (t) => {
  const samples = ['direct', bare, 'a', 'b'].flatMap((name) => [closed(name, 0, 100), open(name, 0, [1, 2, 3])])
  const books = { a: { kept: 250, logged: 400, written: 4_000, operationsACommit: Number.NaN, syncs: Number.NaN } }
  const markdown = markdownOf(runOf(samples, { pairs: [['a', 'b']], books }))
  const tables = markdown
    .trimEnd()
    .split('\n\n')
    .filter((part) => part.startsWith('|'))
  t.equal(tables.length, 4)
  for (const table of tables) t.equal(new Set(table.split('\n').map((line) => line.split('|').length)).size, 1, table)
})

t.test('the picture names everybody, breaks on no name, and has a second set of colours', async (t) => {
  const names = ['direct', bare, 'a <b> & c']
  const picture = pictureOf(runOf(names.flatMap((name) => [closed(name, 0, 100), open(name, 0, [1, 2, 3])])))
  t.match(picture, 'a &lt;b&gt; &amp; c')
  t.notMatch(picture, /NaN|undefined|Infinity/)
  t.match(picture, '@media (prefers-color-scheme: dark)')
  const used = [...picture.matchAll(/class="([^"]+)"/g)].flatMap(([, classes = '']) => classes.split(' '))
  for (const name of new Set(used)) t.match(picture, `.${name} {`, `${name} has a colour or a shape`)
})
