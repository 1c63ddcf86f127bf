/** Fields that choose or buy are rejected; empty values that request nothing are not. */
import t from 'tap'
import { findForbiddenField } from '../../../src/exchange/request/field-policy.ts'

const forbidden = (fields: object) =>
  findForbiddenField({ body: { model: 'svc-2.1', ...fields } }, () => new Set())?.details.param ?? null

t.test('drops empty values that request nothing', async (t) => {
  for (const fields of [
    { provider: {} },
    { extra_body: {} },
    { extra_headers: {} },
    { organization: '' },
    { models: [] },
    { models: ['svc-2.1'] },
    { provider: null },
  ])
    t.equal(forbidden(fields), null, JSON.stringify(fields))
})

t.test('rejects what chooses or buys', async (t) => {
  for (const fields of [
    { provider: { order: ['x'] } },
    { extra_body: { a: 1 } },
    { organization: 'org' },
    { models: ['svc-2.1', 'other'] },
    { models: 'svc-2.1' },
    { web_search_options: {} },
  ])
    t.equal(forbidden(fields), Object.keys(fields)[0] ?? '', JSON.stringify(fields))
})
