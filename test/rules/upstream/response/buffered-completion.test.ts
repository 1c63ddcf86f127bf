/** A whole response: validated, measured, and with the product's name. */
import t from 'tap'
import { UpstreamFailure } from '../../../../src/exchange/upstream-failure.ts'
import { parseDocument } from '../../../../src/upstream/response/validate-completion.ts'
import type { AnswerEvent } from '../../../../src/conversation/answer-event.ts'
import { CompletionAnswer, DecodedAnswer } from '../../../../src/upstream/response/whole-answer.ts'
import { toSingleChunkResult, toCompletionResult } from '../../../../src/upstream/response/buffered-completion.ts'

const given = {
  allowlist: { productId: 'svc-2.1', extraFields: ['kept_extra'] },
  bounds: { inputEstimate: 99, outputCap: 1_000 },
  upstreamHost: 'host',
  context: { requestId: 'mbr_1', model: 'svc-2.1', startedAt: 0 },
}
const good = {
  id: 'c1',
  object: 'chat.completion',
  created: 1,
  model: 'vendor/big',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hello there, you.' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 12, completion_tokens: 5, total_tokens: 17 },
}
const wholeOf = (body: unknown) => ({
  ...given,
  answer: new CompletionAnswer(parseDocument(typeof body === 'string' ? body : JSON.stringify(body), 'host')),
})
const read = (body: unknown) => toCompletionResult(wholeOf(body))
const bodyOf = (body: unknown) => {
  const { final } = read(body)
  return final.kind === 'reply' ? (JSON.parse(String(final.reply.body)) as Record<string, unknown>) : {}
}

t.test('passes the response with the product as its model and without the operator’s fields', async (t) => {
  const extras = { system_fingerprint: 'fp', service_tier: 'default', citations: ['https://a.example'], kept_extra: { a: 1 } }
  t.same(bodyOf({ ...good, ...extras, provider: 'Vendor', vendor_extra: { a: 1 }, x_groq: { id: 'r' } }), {
    ...good,
    ...extras,
    model: 'svc-2.1',
  })
  t.same(bodyOf({ ...good, model: undefined })['model'], 'svc-2.1', 'also where there was none')
})

t.test('reports the upstream’s usage, else our own count', async (t) => {
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
    t.match(bodyOf({ ...good, usage })['usage'], { prompt_tokens: 99, completion_tokens: 5, total_tokens: 104 })
  }
  const zero = { prompt_tokens: 12, completion_tokens: 0 }
  t.same(read({ ...good, usage: zero }).usage, {
    inputTokens: 12,
    outputTokens: 5,
    estimated: true,
    disputed: { inputTokens: 12, outputTokens: 0 },
  })
})

t.test('fails a 200 that is no success, with its reason', async (t) => {
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
    ['an empty finish reason', { ...good, choices: [{ ...choice, finish_reason: '' }] }, 'no_finish'],
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

t.test('clamps citations to the text', async (t) => {
  const cited = (start: unknown, end: unknown) => ({
    type: 'url_citation',
    url_citation: { url: 'https://a.example', title: 'A', start_index: start, end_index: end },
  })
  const placesOf = (...annotations: unknown[]) => {
    const message = { role: 'assistant', content: 'Hello there', annotations }
    const { choices } = bodyOf({ ...good, choices: [{ index: 0, message, finish_reason: 'stop' }] }) as {
      choices: { message: { annotations: { url_citation?: { start_index: unknown; end_index: unknown } }[] } }[]
    }
    return choices[0]?.message.annotations.map(({ url_citation: at }) => [at?.start_index, at?.end_index])
  }
  t.same(
    placesOf(cited(0, 5), cited(5, 2), cited(0, 1e9), cited(-1, 3), cited(0.5, 3), cited('0', '5'), cited(6, 11), cited(6, 12)),
    [
      [0, 5],
      [0, 0],
      [0, 0],
      [0, 0],
      [0, 0],
      [0, 0],
      [6, 11],
      [0, 0],
    ],
  )
})

t.test('sends a whole response as one chunk to a client that requested a stream', async (t) => {
  const call = { id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }
  const choices = [
    { index: 0, message: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop', logprobs: null },
    { index: 1, message: { role: 'assistant', content: null, tool_calls: [call] }, finish_reason: 'tool_calls' },
  ]
  const heard: string[] = []
  const { final, usage } = toSingleChunkResult(wholeOf({ ...good, choices, provider: 'x' }), {
    includeUsage: true,
    onEvent: (json) => heard.push(json),
  })
  const frames = final.kind === 'trailer' ? final.frames : ''
  t.match(frames, /data: \[DONE\]\n\n$/)
  const chunks = frames
    .split('\n\n')
    .filter((frame) => frame !== '' && frame !== 'data: [DONE]')
    .map((frame) => JSON.parse(frame.slice(6)) as Record<string, unknown>)
  const head = { id: 'c1', object: 'chat.completion.chunk', created: 1, model: 'svc-2.1' }
  t.match(chunks, [
    { ...head, choices: [{ index: 0, delta: { content: 'Hello' }, finish_reason: null }] },
    { ...head, choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
    { ...head, choices: [{ index: 1, delta: { tool_calls: [{ index: 0, id: 'c' }] }, finish_reason: null }] },
    { ...head, choices: [{ index: 1, delta: {}, finish_reason: 'tool_calls' }] },
    { ...head, choices: [], usage: good.usage },
  ])
  t.equal(heard.length, 4)
  t.notMatch(frames, /vendor|provider/)
  t.same(usage, { inputTokens: 12, outputTokens: 5, estimated: false })
})

t.test('measures the events of another API as its completion', async (t) => {
  const context = { requestId: 'mbr_1', model: 'svc-2.1', startedAt: 0 }
  const finish = { kind: 'finish', reason: 'stop' } as const
  const call = { kind: 'call', index: 0, id: 'a', name: 'look', arguments: '{"at":"x"}' } as const
  const reasoning = { kind: 'reasoning', text: 'Thought.', field: 'reasoning_content' } as const
  for (const events of [
    [{ kind: 'text', text: 'Hello there, you.' }, finish],
    [reasoning, { kind: 'refusal', text: 'No.' }, finish],
    [{ kind: 'text', text: 'x' }, call, finish],
    [{ kind: 'start', id: 'a', model: 'b' }, finish],
  ] as readonly AnswerEvent[][]) {
    const decoded = new DecodedAnswer(events, context)
    const completion = new CompletionAnswer(decoded.toCompletion())
    t.same(toCompletionResult({ ...given, answer: decoded }).usage, toCompletionResult({ ...given, answer: completion }).usage)
  }
  for (const [events, message] of [
    [[{ kind: 'text', text: 'x' }], /no_finish/],
    [[{ kind: 'finish', reason: 'error' }], /bad_finish/],
    [[{ kind: 'finish', reason: 'unusable_output' }], /unusable_output/],
  ] as readonly (readonly [AnswerEvent[], RegExp])[])
    t.throws(() => toCompletionResult({ ...given, answer: new DecodedAnswer(events, context) }), { message })
})
