/** A whole answer: judged, metered, and given the product's name. */
import t from 'tap'
import { UpstreamFailure } from '../../src/upstream/failure.ts'
import { completionOf } from '../../src/upstream/completion.ts'

const route = { productId: 'svc-2.1', inputEstimate: 99 }
const good = {
  id: 'c1',
  object: 'chat.completion',
  created: 1,
  model: 'vendor/big',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hello there, you.' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 12, completion_tokens: 5, total_tokens: 17 },
}
const read = (body: unknown) => completionOf(typeof body === 'string' ? body : JSON.stringify(body), route, 'host')
const bodyOf = (body: unknown) => {
  const { last } = read(body)
  return last.kind === 'reply' ? (JSON.parse(String(last.reply.body)) as Record<string, unknown>) : {}
}

t.test('everything passes but the model id', async (t) => {
  t.same(bodyOf({ ...good, vendor_extra: { a: 1 } }), { ...good, model: 'svc-2.1', vendor_extra: { a: 1 } })
  t.same(bodyOf({ ...good, model: undefined })['model'], 'svc-2.1', 'also where there was none')
})

t.test('usage is what was reported, else our own count', async (t) => {
  t.same(read(good).usage, { inputTokens: 12, outputTokens: 5, estimated: false })
  for (const usage of [
    undefined,
    null,
    {},
    { prompt_tokens: -1, completion_tokens: 5 },
    { prompt_tokens: 1e308, completion_tokens: 5 },
    'x',
  ]) {
    t.same(read({ ...good, usage }).usage, { inputTokens: 99, outputTokens: 5, estimated: true }, JSON.stringify(usage))
  }
})

t.test('a 200 that is no success is a failure with its reason', async (t) => {
  const choice = good.choices[0]
  for (const [name, body, reason] of [
    ['nothing', '', 'empty'],
    ['white space', ' \n', 'empty'],
    ['a web page', '<!DOCTYPE html><html></html>', 'not_json'],
    ['half a document', JSON.stringify(good).slice(0, -9), 'not_json'],
    ['a list', '[]', 'not_json'],
    ['an error', { error: { message: 'boom' } }, 'error_object'],
    ['an error beside choices', { ...good, error: 'boom' }, 'error_object'],
    ['an error of the flat kind', { object: 'error', message: 'boom' }, 'error_object'],
    ['an error of another family', { type: 'error', error: { message: 'boom' } }, 'error_object'],
    ['no choices', { ...good, choices: [] }, 'empty'],
    ['choices that are none', { ...good, choices: 'x' }, 'empty'],
    ['a choice that is none', { ...good, choices: [null] }, 'empty'],
    ['an error in a choice', { ...good, choices: [{ ...choice, error: { code: 500 } }] }, 'error_object'],
    ['no finish reason', { ...good, choices: [{ ...choice, finish_reason: null }] }, 'no_finish'],
    ['one choice of two without', { ...good, choices: [choice, { ...choice, finish_reason: undefined }] }, 'no_finish'],
    ['a finish of error', { ...good, choices: [{ ...choice, finish_reason: 'error' }] }, 'bad_finish'],
  ] as const) {
    try {
      read(body)
      t.fail(name)
    } catch (error) {
      t.match(error, { facts: { kind: 'in_band', status: 200, reason } }, name)
      t.ok(error instanceof UpstreamFailure)
    }
  }
})

t.test('an error that is null is none', async (t) => {
  t.equal(bodyOf({ ...good, error: null })['model'], 'svc-2.1')
})
