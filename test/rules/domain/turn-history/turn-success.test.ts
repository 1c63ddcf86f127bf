/** Which endings count for a share of success. */
import t from 'tap'
import { membersFaults, rateEndings } from '../../../../src/domain/turn-history/turn-success.ts'

t.test('a share counts completed turns and failures that are not their member’s', async (t) => {
  const endings = { completed: 6, aborted: 50, expired: 1, upstream_error: 1, context_length_exceeded: 9, quota_exceeded: 9 }
  t.same(rateEndings(endings), { succeeded: 6, faults: 2, rated: 8, share: 0.75 })
  t.same(rateEndings({ a_code_of_before: 1 }), { succeeded: 0, faults: 1, rated: 1, share: 0 })
  t.equal(rateEndings({}).share, null)
  t.equal(rateEndings({ aborted: 3, invalid_request: 1 }).share, null)
})

t.test('what a request or its limits cause is its member’s fault, and what upstream or service cause is not', async (t) => {
  for (const code of [
    'invalid_request',
    'context_length_exceeded',
    'content_filter',
    'rate_limited',
    'quota_exceeded',
    'sign_in_required',
  ])
    t.ok(membersFaults.includes(code), code)
  for (const code of [
    'upstream_error',
    'upstream_rate_limited',
    'upstream_not_configured',
    'upstream_model_unavailable',
    'internal_error',
    'temporarily_unavailable',
  ])
    t.notOk(membersFaults.includes(code), code)
})
