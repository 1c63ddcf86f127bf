/** The table of endings as a rule. */
import t from 'tap'
import { UpstreamFailure } from '../../../src/exchange/upstream-failure.ts'
import type { FailureFacts } from '../../../src/exchange/upstream-failure.ts'
import { endingDescriptions, endingRules, findEndingRule, toEndingKind } from '../../../src/upstream/call-ending.ts'
import type { EndingKind } from '../../../src/upstream/call-ending.ts'
import { countsAgainstBreaker } from '../../../src/upstream/errors/retry-policy.ts'

const kinds = Object.keys(endingDescriptions) as EndingKind[]
const booleans = [false, true]
const situations = booleans.flatMap((isForwarded) =>
  booleans.flatMap((isClientSlow) => booleans.map((isUpstreamSilent) => ({ isForwarded, isClientSlow, isUpstreamSilent }))),
)

t.test('decides every ending in every situation, and each rule decides one', async (t) => {
  const used = new Set(kinds.flatMap((kind) => situations.map((situation) => findEndingRule({ kind, ...situation }))))
  t.equal(used.size, endingRules.length)
})

t.test('counts nothing against a target of what is charged, and fails no charged turn', async (t) => {
  for (const rule of endingRules) {
    const text = JSON.stringify(rule)
    t.equal(rule.credits === 'charge' && rule.countsAgainstTarget !== false, false, text)
    t.equal(rule.clientReceives === 'failure', rule.credits === 'refund', text)
    t.equal(rule.countsAgainstTarget !== false, rule.causedBy === 'upstream' && rule.credits === 'refund', text)
  }
})

t.test('charges all output that was forwarded before an ending that the client caused', async (t) => {
  for (const kind of [
    'connection_lost',
    'refusal_event',
    'error_event',
    'shutdown',
    'client_gone',
    'client_timeout',
    'total_time',
  ] as const)
    t.equal(findEndingRule({ kind, isForwarded: true, isClientSlow: true, isUpstreamSilent: false }).credits, 'charge', kind)
})

t.test('refunds at the total time what was not forwarded, and where the upstream fell silent', async (t) => {
  const decide = (isForwarded: boolean, isUpstreamSilent: boolean) => {
    const { credits, countsAgainstTarget } = findEndingRule({
      kind: 'total_time',
      isForwarded,
      isClientSlow: false,
      isUpstreamSilent,
    })
    return `${credits} ${countsAgainstTarget ? 'counted' : 'not counted'}`
  }
  t.same(
    [decide(true, false), decide(true, true), decide(false, false), decide(false, true)],
    ['charge not counted', 'refund counted', 'refund not counted', 'refund counted'],
  )
})

t.test('recognises the way in which a call ended by its failure', async (t) => {
  const inBand = (reason: Extract<FailureFacts, { kind: 'in_band' }>['reason']) =>
    ({ kind: 'in_band', status: 200, reason }) as const
  const reported = (error: unknown) => ({ ...inBand('error_object'), error })
  for (const [facts, kind] of [
    [{ kind: 'network', code: 'ECONNRESET' }, 'connection_lost'],
    [inBand('no_finish'), 'connection_lost'],
    [inBand('error_object'), 'error_event'],
    [inBand('bad_finish'), 'error_event'],
    [inBand('unusable_output'), 'unusable_output'],
    [reported({ type: 'invalid_request_error', message: 'No.' }), 'refusal_event'],
    [reported({ type: 'BadRequestError', message: 'No.' }), 'refusal_event'],
    [reported({ code: 422, message: 'No.' }), 'refusal_event'],
    [reported({ code: 'content_filter', message: 'No.' }), 'refusal_event'],
    [reported({ code: 'context_length_exceeded', message: 'No.' }), 'refusal_event'],
    [reported({ code: 'invalid_image_format', message: 'No.' }), 'refusal_event'],
    [reported({ type: 'invalid_request_error', code: 'invalid_api_key', message: 'No.' }), 'error_event'],
    [reported({ code: 429, message: 'Slow down.' }), 'error_event'],
    [reported({ code: 404, message: 'No model.' }), 'error_event'],
    [reported({ type: 'overloaded_error', message: 'No.' }), 'error_event'],
    [reported({ code: 500, message: 'It broke.' }), 'error_event'],
    [reported('it broke'), 'error_event'],
    [inBand('not_json'), 'invalid_answer'],
    [inBand('too_many_calls'), 'too_many_calls'],
    [inBand('too_long'), 'answer_length'],
    [{ kind: 'timeout', phase: 'idle' }, 'silence'],
    [{ kind: 'timeout', phase: 'total' }, 'total_time'],
  ] as const)
    t.equal(toEndingKind(new UpstreamFailure(facts)), kind, JSON.stringify(facts))
  t.equal(toEndingKind(new TypeError('a bug')), 'gateway_fault')
})

t.test('counts output that the upstream cannot use neither against the account nor against the target', async (t) => {
  for (const isForwarded of [true, false])
    t.match(findEndingRule({ kind: 'unusable_output', isForwarded, isClientSlow: false, isUpstreamSilent: false }), {
      causedBy: 'request',
      credits: 'refund',
      countsAgainstTarget: false,
    })
  t.equal(countsAgainstBreaker({ kind: 'in_band', status: 200, reason: 'unusable_output' }), false)
  t.equal(countsAgainstBreaker({ kind: 'in_band', status: 200, reason: 'bad_finish' }), true)
})

t.test('counts the total time against a target only where it was silent', async (t) => {
  t.equal(countsAgainstBreaker({ kind: 'timeout', phase: 'total' }), true)
  t.equal(countsAgainstBreaker({ kind: 'timeout', phase: 'total', isOwnLimit: true }), false)
})
