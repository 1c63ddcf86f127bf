/** What a refused field is called wrong for: control characters, a form that it must have, or neither. */
import t from 'tap'
import { z } from 'zod'
import { text } from '../../../../src/api/fields.ts'
import { exportUsageReport } from '../../../../src/api/operator/audit.ts'
import { tryTarget } from '../../../../src/api/operator/routing.ts'
import { validate } from '../../../../src/http/request/validate.ts'

t.test('a text of another form is not said to have control characters', async (t) => {
  const schema = z.object({ name: text(10), id: z.string().regex(/^[a-z]{3}$/), at: z.iso.datetime() })
  const good = { name: 'n', id: 'abc', at: '2026-01-01T00:00:00Z' }
  t.same(validate(schema, good), good)
  t.throws(() => validate(schema, { ...good, name: 'a\u0000' }), { message: /'name' has control characters/ })
  t.throws(() => validate(schema, { ...good, id: 'c' }), { message: /'id' must match \/\^\[a-z\]\{3\}\$\// })
  t.throws(() => validate(schema, { ...good, at: 'soon' }), {
    message: /'at' must be a moment in UTC, such as 2026-11-29T14:05:00Z/,
    messageZh: /'at' 必须是 UTC 时刻/,
  })
})

t.test('a rule of several fields is refused in its own words', (t) => {
  const one = tryTarget.body
  t.throws(() => validate(one, {}), { message: /'target' or 'product' is needed, and not both/, messageZh: /不能同时填写/ })
  t.throws(() => validate(one, { target: 'main/a', product: 'svc' }), { message: /'target' or 'product' is needed/ })
  t.throws(() => validate(exportUsageReport.query, { by: 'day,day' }), { message: /'by' has a name twice/ })
  t.end()
})
