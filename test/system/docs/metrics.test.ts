/** `docs/operations.md` lists the metrics that the server has. */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { alerts, updateMetricTable } from '../../../docs/generate/metric-table.ts'
import { createMetrics } from '../../../src/observability/metrics.ts'

const text = readFileSync(new URL('../../../docs/operations.md', import.meta.url), 'utf8')
const rows = new Map(
  [...updateMetricTable(text).matchAll(/^\| `(\w+)` \| (\w+) \| .* \| (.*) \|$/gm)].map(
    ([, name = '', type = '', alert = '']) => [name, { type, alert }],
  ),
)

t.test('the table has every metric with its type, and no other', async (t) => {
  const page = await createMetrics().registry.metrics()
  const types = new Map([...page.matchAll(/^# TYPE (\w+) (\w+)$/gm)].map(([, name = '', type = '']) => [name, type]))
  t.ok(types.size > 25, `${types.size} metrics`)
  t.same([...rows.keys()].toSorted(), [...types.keys()].toSorted())
  for (const [name, type] of types) t.equal(rows.get(name)?.type, type, name)
})

t.test('every alert stands in the row of its metric', async (t) => {
  for (const [name, alert] of Object.entries(alerts)) t.equal(rows.get(name)?.alert, alert, name)
})

t.test('a metric that operations.md names in its text exists', async (t) => {
  const named = [...text.matchAll(/`(svc_[a-z_]+)`/g)].map(([, name = '']) => name)
  t.same(
    named.filter((name) => !rows.has(name)),
    [],
  )
})
