/** A target of the Responses API receives a request of the same API as it was sent, but for what the gateway must change. */
import t from 'tap'
import type { JsonObject } from '../../../../src/exchange/api-format/api-format.ts'
import { findMediaAddresses } from '../../../../src/exchange/request/media-addresses.ts'
import { countPrompt } from '../../../../src/exchange/request/prompt-size.ts'
import { getBodyHash, toChatRequest } from '../../../../src/exchange/request/chat-request.ts'
import { responsesFormat } from '../../../../src/formats/responses/responses-format.ts'
import { seal, toSentRequest } from '../../../support/formats/sent-request.ts'
import { codexRequest } from '../../../support/formats/agent-requests.ts'

const target = { api: 'responses' } as const
const send = (body: JsonObject): JsonObject => toSentRequest('responses', body, target).body
const toChat = (body: JsonObject) => {
  const { chat, native } = responsesFormat.toChat(
    { model: 'p', ...body },
    { unseal: () => null, targetApis: new Set(['responses'] as const) },
  )
  return toChatRequest(chat, { bytes: 1, format: 'responses', native })
}
const text = (words: string, more: object = {}) => ({ type: 'input_text', text: words, ...more })
const user = (...content: object[]) => ({ type: 'message', role: 'user', content })
const parameters = { type: 'object', properties: {} }
const tool = { type: 'function', name: 'look', parameters }
const call = { type: 'function_call', call_id: 'c1', name: 'look', arguments: '{}' }
const result = { type: 'function_call_output', call_id: 'c1', output: 'Seen.' }
const include = ['reasoning.encrypted_content']

t.test('a request of Codex is the same', async (t) => {
  // Only the server makes a pseudonym of the key.
  t.same(send(codexRequest), { model: 'svc-2.1', ...codexRequest })
})

t.test('keeps items, their order, and settings', async (t) => {
  for (const body of [
    { input: 'Hi' },
    { input: [{ role: 'user', content: 'Hi' }] },
    { input: [user(text('One.'), text('Two.'))], instructions: 'Be brief.' },
    { input: [user(text('Hi')), { role: 'developer', content: 'Be brief.' }] },
    { input: [user(text('Hi')), call, { ...call, call_id: 'c2' }, { ...result, call_id: 'c2' }, result], tools: [tool] },
    { input: [user(text('Hi'), { type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERi0=' })] },
    { input: 'Hi', tools: [tool, { type: 'tool_search', execution: 'client' }], tool_choice: { type: 'function', name: 'look' } },
    { input: [{ type: 'additional_tools', role: 'developer', tools: [tool] }, user(text('Hi'))], tool_choice: 'auto' },
    {
      input: [
        user(text('Hi')),
        { type: 'tool_search_call', call_id: 'c3', execution: 'client', arguments: { query: 'x' } },
        { type: 'tool_search_output', call_id: 'c3', execution: 'client', tools: [tool] },
      ],
    },
    { input: 'Hi', text: { verbosity: 'low' }, reasoning: {}, temperature: 0.2, parallel_tool_calls: false },
  ]) {
    const { model: _, ...sent } = send(body)
    t.same(sent, { ...body, include, store: false }, JSON.stringify(body))
  }
})

t.test('changes what the gateway must change', async (t) => {
  const reasoning = { type: 'reasoning', summary: [{ type: 'summary_text', text: 'Hm.' }], encrypted_content: 'gAAAA' }
  const sealed = (owner: string) => seal(`${owner}\nresponses_reasoning\n${JSON.stringify(reasoning)}`)
  const answer = (item?: object) => [
    user(text('Hi')),
    ...(item === undefined ? [] : [item]),
    { role: 'assistant', content: 'Yes.' },
    user(text('So?')),
  ]
  for (const [body, expected] of [
    [
      { input: 'Hi', store: true, metadata: { a: 'b' }, service_tier: 'priority' },
      { store: false, metadata: undefined, service_tier: undefined },
    ],
    [{ input: 'Hi', include: ['file_search_call.results'] }, { include }],
    [{ input: 'Hi', tools: [tool, { type: 'web_search' }] }, { tools: [tool] }],
    [
      { input: 'Hi', tools: [{ type: 'namespace', name: 'n', tools: [tool, { type: 'mcp' }] }] },
      { tools: [{ type: 'namespace', name: 'n', tools: [tool] }] },
    ],
    [{ input: 'Hi', max_output_tokens: 3 }, { max_output_tokens: 16 }],
    [{ input: 'Hi', unknown_field: 1 }, { unknown_field: undefined }],
  ] as const)
    t.match(send(body), expected, JSON.stringify(body))
  for (const [item, kept] of [
    [{ ...reasoning, id: 'rs_1', encrypted_content: sealed('svc-2.1') }, reasoning],
    [
      { ...reasoning, id: 'rs_1', content: null },
      { ...reasoning, id: 'rs_1', content: null },
    ],
    [{ ...reasoning, id: 'rs_1', encrypted_content: sealed('other') }, undefined],
    [{ ...reasoning, id: 'rs_1', encrypted_content: null }, undefined],
  ] as const)
    t.same(send({ input: answer(item) })['input'], answer(kept))
})

t.test('translates a conversation that the API would refuse', async (t) => {
  for (const [input, expected] of [
    [
      [user(text('Hi')), call],
      [{}, {}, { type: 'function_call_output' }],
    ],
    [
      [user(text('Hi')), result],
      [{}, { role: 'user' }],
    ],
    [
      [user(text('Hi')), call, call, result, result],
      [{}, { call_id: 'c1' }, { call_id: 'c1_1' }, {}, {}],
    ],
    [
      [user(text('Hi')), { ...call, call_id: 'c'.repeat(65) }, { ...result, call_id: 'c'.repeat(65) }],
      [{}, { call_id: /^call_/ }, {}],
    ],
    [[user(text('Hi')), { type: 'unknown_item', note: 'x' }], [{}]],
    [
      [user({ type: 'input_image', image_url: 'https://example.com/a.png', file_id: 'file_1' })],
      [{ content: [{ file_id: undefined }] }],
    ],
    [[{ ...user(text('Hi')), id: 'm'.repeat(65) }], [{ id: undefined }]],
  ] as const) {
    const sent = send({ input, tools: [tool] })['input'] as readonly unknown[]
    t.match(sent, expected, JSON.stringify(input))
    t.equal(sent.length, expected.length)
  }
})

t.test('counts, examines and hashes what a chat completion has no place for', async (t) => {
  const long = 'word '.repeat(1_000)
  const plain = { input: [user(text('Hi'))], tools: [tool] }
  for (const more of [
    { input: [user(text('Hi', { unknown: long }))] },
    { input: [{ ...user(text('Hi')), unknown: long }] },
    { input: [user(text('Hi', { annotations: [long] }))] },
    { input: [user(text('Hi')), { type: 'reasoning', summary: [], encrypted_content: long }] },
    { tools: [{ ...tool, unknown: long }] },
    { tools: [{ type: 'namespace', name: 'n', description: long, tools: [tool] }] },
    { client_metadata: { long } },
    { reasoning: { effort: 'low', context: long } },
    { text: { unknown: long } },
  ]) {
    const [few, many] = [toChat(plain), toChat({ ...plain, ...more })]
    t.ok(countPrompt(many).maxTextTokens > countPrompt(few).maxTextTokens + 900, JSON.stringify(more).slice(0, 80))
    t.not(getBodyHash(many), getBodyHash(few))
  }
  t.same(findMediaAddresses(toChat({ input: [user(text('Hi', { image_url: 'http://10.0.0.1/a' }))] })), ['http://10.0.0.1/a'])
})

t.test('leaves out what the target has rejected, and translates for one that has fewer types', async (t) => {
  const body = { ...codexRequest, reasoning: { effort: 'low', summary: 'auto', context: 'all' }, text: { verbosity: 'low' } }
  for (const [rejected, expected] of [
    ['reasoning_effort', { reasoning: { effort: undefined, summary: 'auto', context: 'all' } }],
    ['responses_reasoning_summary', { reasoning: { effort: 'low', summary: undefined } }],
    ['responses_encrypted_reasoning', { include: undefined }],
    ['verbosity', { text: { verbosity: undefined } }],
    ['parallel_tool_calls', { parallel_tool_calls: undefined }],
  ] as const)
    t.match(toSentRequest('responses', body, target, new Set([rejected])).body, expected, rejected)
  t.match(toSentRequest('responses', body, { ...target, refusesNative: true }).body, {
    instructions: /^You are a coding agent\./,
    tools: [{ name: 'exec_command' }, { name: 'mcp__demo__shot' }, { name: 'apply_patch' }],
    client_metadata: undefined,
  })
})
