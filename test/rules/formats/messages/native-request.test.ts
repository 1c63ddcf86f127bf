/** A target of the Messages API receives a request of the same API as it was sent, but for what the gateway must change. */
import t from 'tap'
import type { JsonObject } from '../../../../src/exchange/api-format/api-format.ts'
import { findMediaAddresses } from '../../../../src/exchange/request/media-addresses.ts'
import { countPrompt } from '../../../../src/exchange/request/prompt-size.ts'
import { findForbiddenField } from '../../../../src/exchange/request/field-policy.ts'
import { getBodyHash, toChatRequest } from '../../../../src/exchange/request/chat-request.ts'
import { messagesFormat } from '../../../../src/formats/messages/messages-format.ts'
import { seal, toSentRequest } from '../../../support/formats/sent-request.ts'
import { claudeCodeRequest } from '../../../support/formats/agent-requests.ts'

const target = { api: 'anthropic' } as const
const send = (body: JsonObject): JsonObject => toSentRequest('messages', body, target).body
const toChat = (body: JsonObject) => {
  const { chat, native } = messagesFormat.toChat(
    { model: 'p', max_tokens: 100, ...body },
    { unseal: () => null, targetApis: new Set(['anthropic'] as const) },
  )
  return toChatRequest(chat, { bytes: 1, format: 'messages', native })
}
const user = (...content: unknown[]) => ({ role: 'user', content })
const text = (words: string, more: object = {}) => ({ type: 'text', text: words, ...more })
const call = { type: 'tool_use', id: 't1', name: 'read', input: {} }
const tools = [{ name: 'read', input_schema: { type: 'object' } }]
const result = { type: 'tool_result', tool_use_id: 't1', content: 'file' }
const turn = [user(text('Go.')), { role: 'assistant', content: [call] }]

t.test('a request of Claude Code is the same but for the names of the model and of the user', async (t) => {
  t.same(send(claudeCodeRequest), { model: 'svc-2.1', ...claudeCodeRequest })
})

t.test('keeps the order of texts and pictures, fields of blocks, and settings', async (t) => {
  const image = { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } }
  for (const body of [
    { messages: [user(text('One.'), text('Two.'), image, text('Three.'))] },
    { messages: [user({ type: 'document', source: { type: 'content', content: [text('One.'), image] } })] },
    { messages: [user(text('One.', { citations: [{ type: 'char_location', cited_text: 'x' }] }))] },
    {
      messages: [
        { role: 'user', content: 'One.' },
        { role: 'user', content: 'Two.' },
      ],
    },
    { messages: [...turn, user({ ...result, is_error: true }, text('Why?'))], tools },
    { messages: [...turn, user({ ...result, content: [text('a'), image, text('b')] })], tools },
    { messages: [user(text('Hi'))], system: 'Be brief.', temperature: 0.3, top_k: 4, stop_sequences: ['x'] },
    { messages: [user(text('Hi'))], tools, tool_choice: { type: 'auto', disable_parallel_tool_use: false } },
    { messages: [user(text('Hi'))], thinking: { type: 'adaptive', display: 'omitted' }, output_config: { effort: 'high' } },
    { messages: [user({ type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'a' }, context: 'b' })] },
  ]) {
    const { model: _, max_tokens: __, ...sent } = send(body)
    t.same(sent, body, JSON.stringify(body))
  }
})

t.test('changes what the gateway must change', async (t) => {
  const hour = { cache_control: { type: 'ephemeral', ttl: '1h', scope: 'global' } }
  const mark = { cache_control: { type: 'ephemeral' } }
  const thinking = { type: 'thinking', thinking: 'Hm.', signature: 'sig' }
  const sealed = (owner: string) =>
    seal(`${owner}\nanthropic_thinking\n${JSON.stringify({ index: 0, type: 'thinking', thinking: 'Hm.', signature: 'sig' })}`)
  const answer = (block: object) => ({
    messages: [user(text('Hi')), { role: 'assistant', content: [block, text('Yes.')] }, user(text('So?'))],
  })
  for (const [body, expected] of [
    [{ messages: [user(text('Hi', hour))] }, { messages: [user(text('Hi', mark))] }],
    [
      { messages: [user(text('Hi'))], service_tier: 'auto', container: null },
      { service_tier: undefined, container: undefined },
    ],
    [{ messages: [user(text('Hi'))], safeguards: [{}] }, { safeguards: undefined }],
    [{ messages: [user(text('Hi'))], tools: [...tools, { type: 'web_search_20250305', name: 'web_search' }] }, { tools }],
    [{ messages: [user(text('Hi'))], tool_choice: { type: 'auto' } }, { tool_choice: undefined }],
    [
      { messages: [user(text('Hi'))], tools, tool_choice: { type: 'any' }, thinking: { type: 'adaptive' } },
      { thinking: undefined },
    ],
    [
      { messages: [user(text('Hi'))], context_management: { edits: [{ type: 'compact_20260112' }] } },
      { context_management: undefined },
    ],
    [answer({ ...thinking, signature: sealed('svc-2.1') }), answer(thinking)],
    [answer(thinking), answer(thinking)],
    [{ ...answer({ ...thinking, signature: sealed('other') }) }, { messages: [{}, { content: [text('Yes.')] }, {}] }],
    [answer({ ...thinking, signature: '' }), { messages: [{}, { content: [text('Yes.')] }, {}] }],
  ] as const)
    t.match(send(body), expected, JSON.stringify(body))
  t.notMatch(JSON.stringify(send(answer({ ...thinking, signature: sealed('svc-2.1') }))), /sealed/)
})

t.test('translates a conversation that the API would refuse', async (t) => {
  for (const [messages, expected] of [
    [turn, [{}, {}, { content: [{ type: 'tool_result', content: [{ text: '(no output)' }] }] }]],
    [
      [...turn, user(text('So?'), result)],
      [{}, {}, { content: [{ type: 'tool_result' }, { type: 'text' }] }],
    ],
    [
      [...turn, user({ ...result, content: [], is_error: true })],
      [{}, {}, { content: [{ is_error: true }] }],
    ],
    [[user(result)], [{ content: [{ text: /Result of the tool call t1/ }] }]],
    [[user(text(' '), text('Hi'))], [{ content: [{ text: / ?\n*Hi/ }] }]],
    [
      [user(text('Hi')), { role: 'assistant', content: 'So ' }],
      [{}, { content: [{ text: 'So' }] }],
    ],
    [[user(text('Hi', { file_id: 'file_1' }))], [{ content: [{ text: 'Hi', file_id: undefined }] }]],
    [[user(text('Hi'), { type: 'unknown_block' })], [{ content: [{ text: 'Hi' }] }]],
    [[{ role: 'system', content: 'Be.' }, user(text('Hi'))], [{ content: [{ text: 'Hi' }] }]],
    [
      [...turn, { role: 'system', content: 'Be.' }, user(result)],
      [{}, {}, {}],
    ],
  ] as const)
    t.match(send({ messages, tools }), { messages: expected }, JSON.stringify(messages))
})

t.test('counts, examines and hashes what a chat completion has no place for', async (t) => {
  const plain = { messages: [user(text('Hi'))], tools }
  const long = 'word '.repeat(1_000)
  for (const more of [
    { messages: [user(text('Hi', { unknown: long }))] },
    { messages: [{ ...user(text('Hi')), unknown: long }] },
    { tools: [{ ...tools[0], input_examples: [{ long }] }] },
    { messages: [user({ type: 'document', source: { type: 'text', data: 'Hi', unknown: long } })] },
    { context_management: { edits: [{ type: 'clear_tool_uses_20250919', note: long }] } },
    { output_config: { note: long } },
  ]) {
    const [few, many] = [toChat(plain), toChat({ ...plain, ...more })]
    t.ok(countPrompt(many).maxTextTokens > countPrompt(few).maxTextTokens + 900, JSON.stringify(more).slice(0, 80))
    t.not(getBodyHash(many), getBodyHash(few))
  }
  t.same(findMediaAddresses(toChat({ messages: [user(text('Hi', { image_url: 'http://10.0.0.1/a' }))] })), ['http://10.0.0.1/a'])
  t.same(findMediaAddresses(toChat({ messages: [user(text('Hi', { citations: [{ url: 'http://10.0.0.1/a' }] }))] })), [])
  const schema = { $ref: 'http://10.0.0.1/schema' }
  t.match(
    findForbiddenField(toChat({ ...plain, tools: [{ ...tools[0], output_schema: schema }] }), () => new Set()),
    { details: { param: 'tools' } },
  )
})

t.test('a target that refuses what clients send receives the translation', async (t) => {
  const body = { messages: [user(text('Hi')), { role: 'system', content: 'Be.' }] }
  t.match(send(body).messages, body.messages)
  t.match(toSentRequest('messages', body, { ...target, refusesNative: true }).body['messages'], [
    { role: 'user', content: [{ text: 'Hi\n\n<system>\nBe.\n</system>' }] },
  ])
  const image = { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } }
  const shown = { messages: [user(text('Hi'), text('So?'), image)] }
  t.match(toSentRequest('messages', shown, { ...target, refusedMedia: ['document'] }).body, shown)
  t.notMatch(JSON.stringify(toSentRequest('messages', shown, { ...target, refusedMedia: ['image'] }).body), /example\.com/)
})
