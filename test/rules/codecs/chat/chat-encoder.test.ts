/** Events of an answer become chunks of a chat completion. */
import t from 'tap'
import { ChatEncoder } from '../../../../src/codecs/chat/chat-encoder.ts'
import type { AnswerEvent } from '../../../../src/conversation/answer-event.ts'

const context = { requestId: 'mbr_1', model: 'svc-2.1', startedAt: 1_700_000_000_500 }

interface Chunk {
  readonly choices: readonly { readonly delta: Readonly<Record<string, unknown>> }[]
}

function encode(...events: readonly AnswerEvent[]): readonly Chunk[] {
  const encoder = new ChatEncoder(context)
  return events.flatMap((event) => (encoder.toChunk(event) as Chunk | null) ?? [])
}

/** The deltas after the first, which has the role. */
const listDeltas = (...events: readonly AnswerEvent[]) =>
  encode({ kind: 'start', id: '', model: '' }, ...events)
    .slice(1)
    .flatMap(({ choices }) => choices.map(({ delta }) => delta))

t.test('writes each kind of event', async (t) => {
  const logprobs = { content: [], refusal: null }
  const signed = { field: 'anthropic_thinking', value: { type: 'thinking', signature: 's' } } as const
  const annotation = { type: 'url_citation' }
  for (const [event, delta, choice] of [
    [{ kind: 'start', id: 'up_1', model: 'up' }, { content: '' }, {}],
    [{ kind: 'image', url: 'data:x' }, { images: [{ type: 'image_url', image_url: { url: 'data:x' } }] }, {}],
    [{ kind: 'text', text: 'a' }, { content: 'a' }, {}],
    [{ kind: 'text', text: 'a', logprobs }, { content: 'a' }, { logprobs }],
    [{ kind: 'refusal', text: 'no' }, { refusal: 'no' }, {}],
    [{ kind: 'reasoning', text: 'a', field: 'reasoning' }, { reasoning: 'a' }, {}],
    [{ kind: 'signed-reasoning', signed }, { anthropic_thinking: [signed.value] }, {}],
    [{ kind: 'citation', annotation }, { annotations: [annotation] }, {}],
    [{ kind: 'finish', reason: 'stop' }, {}, { finish_reason: 'stop' }],
  ] as readonly (readonly [AnswerEvent, object, object])[])
    t.same(encode({ kind: 'start', id: 'up_1', model: 'up' }, event).at(-1), {
      id: 'up_1',
      object: 'chat.completion.chunk',
      created: 1_700_000_000,
      model: 'svc-2.1',
      choices: [{ index: 0, delta, logprobs: null, finish_reason: null, ...choice }],
    })
  t.match(encode({ kind: 'start', id: '', model: '' }), [{ id: 'chatcmpl-mbr_1' }], 'an id of its own where there is none')
  t.same(encode({ kind: 'usage', usage: {} }), [])
})

t.test('numbers calls, and names each once', async (t) => {
  const piece = (index: number, id: string, name: string, args: string, isCustom?: true): AnswerEvent => ({
    kind: 'call',
    index,
    id,
    name,
    arguments: args,
    ...(isCustom ? { isCustom } : {}),
  })
  t.same(
    listDeltas(piece(0, 'a', 'f', ''), piece(0, '', '', '{}'), piece(1, 'b', 'g', '', true), piece(1, '', '', 'free', true)),
    [
      { tool_calls: [{ index: 0, id: 'a', type: 'function', function: { name: 'f', arguments: '' } }] },
      { tool_calls: [{ index: 0, function: { arguments: '{}' } }] },
      { tool_calls: [{ index: 1, id: 'b', type: 'custom', custom: { name: 'g', input: '' } }] },
      { tool_calls: [{ index: 1, custom: { input: 'free' } }] },
    ],
  )
  for (const [reason, delta, finish] of [
    ['stop', { tool_calls: [{ index: 0, function: { arguments: '{}' } }] }, 'tool_calls'],
    ['tool_calls', { tool_calls: [{ index: 0, function: { arguments: '{}' } }] }, 'tool_calls'],
    ['length', {}, 'length'],
    ['content_filter', {}, 'content_filter'],
  ] as const)
    t.match(
      encode(piece(0, 'a', 'f', ''), piece(1, 'b', 'g', '', true), { kind: 'finish', reason }).at(-1)?.choices,
      [{ delta, finish_reason: finish }],
      reason,
    )
})

t.test('separates reasoning from a signed piece before it', async (t) => {
  const signed = { field: 'responses_reasoning', value: {} } as const
  const reasoning = (text: string): AnswerEvent => ({ kind: 'reasoning', text, field: 'reasoning_content' })
  const deltas = listDeltas(
    { kind: 'signed-reasoning', signed },
    reasoning('One.'),
    reasoning(' More.'),
    { kind: 'signed-reasoning', signed },
    reasoning('Two.'),
  )
  t.equal(deltas.map((delta) => delta['reasoning_content'] ?? '').join(''), 'One. More.\n\nTwo.')
})

t.test('names the stop sequence beside the finish reason', async (t) => {
  t.match(encode({ kind: 'stop-sequence', sequence: 'END' }, { kind: 'finish', reason: 'stop' }), [
    { choices: [{ finish_reason: 'stop', stop_reason: 'END' }] },
  ])
})

t.test('puts the role into the first chunk alone', async (t) => {
  for (const first of [
    { kind: 'start', id: 'up_1', model: 'up' },
    { kind: 'text', text: 'a' },
    { kind: 'finish', reason: 'stop' },
  ] as const)
    t.same(
      encode(first, { kind: 'text', text: 'b' }).map(({ choices }) => choices[0]?.delta['role']),
      ['assistant', undefined],
    )
})

t.test('puts signatures of Gemini where its compatible endpoint has them', async (t) => {
  const extra_content = { google: { thought_signature: 's' } }
  const sign = (value: object): AnswerEvent => ({
    kind: 'signed-reasoning',
    signed: { field: 'call_signatures', value: { ...value, extra_content } },
  })
  const call = { kind: 'call', index: 0, id: 'a', name: 'f', arguments: '{}' } as const
  t.same(listDeltas(sign({}), sign({ id: 'a' }), call), [
    { extra_content },
    { tool_calls: [{ index: 0, id: 'a', type: 'function', function: { name: 'f', arguments: '{}' }, extra_content }] },
  ])
})
