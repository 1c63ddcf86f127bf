/** The cost of every translation grows with its input, and never with the square of it. */
import type { Test } from 'tap'
import t from 'tap'
import type { AnswerEncoder, ApiFormat, JsonObject } from '../../../src/exchange/api-format/api-format.ts'
import { analyzeRequest } from '../../../src/exchange/body-parser/analyze-request.ts'
import { toChatRequest } from '../../../src/exchange/request/chat-request.ts'
import { createGeminiFormat } from '../../../src/formats/gemini/gemini-format.ts'
import { messagesFormat } from '../../../src/formats/messages/messages-format.ts'
import { plainChatTarget, toRequestForm } from '../../../src/exchange/request/form/request-form.ts'
import { responsesFormat } from '../../../src/formats/responses/responses-format.ts'
import { readAnswerEvents } from '../../../src/codecs/chat/read-events.ts'
import { anthropicFormat } from '../../../src/upstream/format/anthropic-format.ts'
import { prepareParts } from '../../../src/upstream/prepare-parts.ts'
import { StreamedCitations, clampCitations } from '../../../src/codecs/chat/clamp-citations.ts'
import { responsesFormat as responsesUpstream } from '../../../src/upstream/format/responses-format.ts'
import { geminiFormat as geminiUpstream } from '../../../src/upstream/format/gemini-format.ts'
import type { UpstreamFormat } from '../../../src/upstream/format/upstream-format.ts'
import { measureGrowth } from '../../support/cpu-growth.ts'

const maxGrowth = 2.6

const listOf = <Item>(n: number, create: (i: number) => Item): Item[] => Array.from({ length: n }, (_, i) => create(i))
const unseal = (container: string): string | null => (container.startsWith('sealed:') ? container.slice(7) : null)
const seal = (text: string): string => `sealed:${text}`

function checkGrowth(t: Test, name: string, prepare: (n: number) => () => unknown): void {
  const { growth, size } = measureGrowth(prepare, maxGrowth)
  t.ok(growth <= maxGrowth, `${name}: twice ${size} takes ${growth.toFixed(1)} times as long`)
}

/** Requests with n of something. */
type Requests = Readonly<Record<string, (n: number) => JsonObject>>

const schemaOf = (n: number): JsonObject => {
  const names = listOf(n, (i) => `p${i}`)
  const properties = Object.fromEntries(names.map((name) => [name, { type: 'string' }]))
  return { type: 'object', properties, required: names.toReversed(), additionalProperties: false }
}
const mark = { cache_control: { type: 'ephemeral' } }

const responsesItem = {
  user: { role: 'user', content: 'x' },
  call: (call_id: string) => ({ type: 'function_call', call_id, name: 'f', arguments: '{}' }),
  result: (call_id: string) => ({ type: 'function_call_output', call_id, output: 'x' }),
}

const responsesRequests: Requests = {
  'user messages': (n) => ({ input: listOf(n, () => responsesItem.user) }),
  'system messages': (n) => ({ input: [...listOf(n, () => ({ role: 'developer', content: 'x' })), responsesItem.user] }),
  'assistant messages': (n) => ({ input: listOf(n, () => ({ role: 'assistant', content: 'x' })) }),
  'content parts': (n) => ({ input: [{ role: 'user', content: listOf(n, () => ({ type: 'input_text', text: 'x' })) }] }),
  'calls in one turn, answered in order': (n) => ({
    input: [...listOf(n, (i) => responsesItem.call(`c${i}`)), ...listOf(n, (i) => responsesItem.result(`c${i}`))],
  }),
  'calls in one turn, answered in reverse': (n) => ({
    input: [...listOf(n, (i) => responsesItem.call(`c${i}`)), ...listOf(n, (i) => responsesItem.result(`c${n - 1 - i}`))],
  }),
  'calls of one id in one turn': (n) => ({
    input: [...listOf(n, () => responsesItem.call('c')), ...listOf(n, () => responsesItem.result('c'))],
  }),
  'calls of one id in many turns': (n) => ({
    input: listOf(n, () => [responsesItem.call('c'), responsesItem.user]).flat(),
  }),
  'results without a call': (n) => ({
    input: [...listOf(n, (i) => responsesItem.call(`c${i}`)), ...listOf(n, (i) => responsesItem.result(`d${i}`))],
  }),
  'calls without a namespace': (n) => ({
    tools: [{ type: 'namespace', name: 'm', tools: listOf(n, (i) => ({ type: 'function', name: `f${i}` })) }],
    input: listOf(n, (i) => ({ type: 'function_call', call_id: `c${i}`, name: `f${i}`, arguments: '{}' })),
  }),
  'custom calls': (n) => ({
    tools: [{ type: 'custom', name: 'f' }],
    input: listOf(n, (i) => ({ type: 'custom_tool_call', call_id: `c${i}`, name: 'f', input: '\n\n\n"' })),
  }),
  'reasoning items': (n) => ({
    input: [
      ...listOf(n, () => ({ type: 'reasoning', encrypted_content: 'sealed:svc-2.1\nreasoning\nx' })),
      { role: 'assistant', content: 'x' },
    ],
  }),
  'unknown items': (n) => ({ input: [responsesItem.user, ...listOf(n, (i) => ({ type: `t${i}` }))] }),
  'found tools': (n) => ({
    input: [
      responsesItem.user,
      ...listOf(n, (i) => ({
        type: 'tool_search_output',
        call_id: `c${i}`,
        tools: [{ type: 'function', name: `f${i}` }],
      })),
    ],
  }),
  functions: (n) => ({ input: 'x', tools: listOf(n, (i) => ({ type: 'function', name: `f${i}`, parameters: {} })) }),
  'functions of one name': (n) => ({ input: 'x', tools: listOf(n, () => ({ type: 'function', name: 'f' })) }),
  namespaces: (n) => ({
    input: 'x',
    tools: listOf(n, (i) => ({ type: 'namespace', name: `n${i}`, tools: [{ type: 'custom', name: 'f' }] })),
  }),
  'allowed tools': (n) => ({
    input: 'x',
    tools: [...listOf(n, (i) => ({ type: 'function', name: `f${i}` })), ...listOf(n, (i) => ({ type: `hosted${i}` }))],
    tool_choice: { type: 'allowed_tools', tools: listOf(n, (i) => ({ type: 'function', name: `f${n - 1 - i}` })) },
  }),
  'unknown fields': (n) => ({ input: 'x', ...Object.fromEntries(listOf(n, (i) => [`field${i}`, i])) }),
  'included names': (n) => ({ input: 'x', include: listOf(n, (i) => `name${i}`) }),
  'properties of an output schema': (n) => ({
    input: 'x',
    text: { format: { type: 'json_schema', name: 's', schema: schemaOf(n) } },
  }),
}

const toolUse = (id: string) => ({ type: 'tool_use', id, name: 'f', input: {} })
const toolResult = (id: string) => ({ type: 'tool_result', tool_use_id: id, content: 'x' })
const user = (content: unknown) => ({ role: 'user', content })
const assistant = (content: unknown) => ({ role: 'assistant', content })

const messagesRequests: Requests = {
  turns: (n) => ({ messages: listOf(n, (i) => (i % 2 === 0 ? user('x') : assistant('x'))) }),
  'assistant messages in a row': (n) => ({ messages: [user('x'), ...listOf(n, () => assistant('xxxxxxxxxxxxxxxx'))] }),
  'user messages in a row': (n) => ({ messages: listOf(n, () => user('x')) }),
  'system messages': (n) => ({ messages: [user('x'), ...listOf(n, () => ({ role: 'system', content: 'x' }))] }),
  'text blocks': (n) => ({ messages: [user(listOf(n, () => ({ type: 'text', text: 'x', ...mark })))] }),
  'blank text blocks': (n) => ({ system: listOf(n, () => ({ type: 'text', text: '   ', ...mark })), messages: [user('x')] }),
  images: (n) => ({
    messages: [user(listOf(n, () => ({ type: 'image', source: { type: 'url', url: 'https://a.example/x.png' } })))],
  }),
  'calls and results in one turn': (n) => ({
    messages: [user('x'), assistant(listOf(n, (i) => toolUse(`c${i}`))), user(listOf(n, (i) => toolResult(`c${n - 1 - i}`)))],
  }),
  'calls of one id': (n) => ({
    messages: [user('x'), assistant(listOf(n, () => toolUse('c'))), user(listOf(n, () => toolResult('c')))],
  }),
  'results without a call': (n) => ({
    messages: [user('x'), assistant(listOf(n, (i) => toolUse(`c${i}`))), user(listOf(n, (i) => toolResult(`d${i}`)))],
  }),
  'names of calls': (n) => ({
    messages: [
      user('x'),
      assistant(listOf(n, (i) => ({ ...toolUse(`c${i}`), name: `a name that is too long ${i} `.repeat(4) }))),
    ],
  }),
  'parts of a result': (n) => ({
    messages: [
      user('x'),
      assistant([toolUse('c')]),
      user([{ ...toolResult('c'), content: listOf(n, () => ({ type: 'text', text: 'x' })) }]),
    ],
  }),
  thinking: (n) => ({
    messages: [
      user('x'),
      assistant([
        ...listOf(n, () => ({ type: 'thinking', thinking: 'x', signature: 'sealed:svc-2.1\nreasoning\nx' })),
        { type: 'text', text: 'x' },
      ]),
    ],
  }),
  'unknown blocks': (n) => ({ messages: [user([{ type: 'text', text: 'x' }, ...listOf(n, (i) => ({ type: `t${i}` }))])] }),
  tools: (n) => ({
    messages: [user('x')],
    tools: listOf(n, (i) => ({ name: `f${i}`, input_schema: {} })),
    tool_choice: { type: 'tool', name: `f${n - 1}` },
  }),
  'hosted tools': (n) => ({
    messages: [user('x')],
    tools: [{ name: 'f', input_schema: {} }, ...listOf(n, () => ({ type: 'web_fetch_20250910', name: 'web_fetch' }))],
  }),
  'stop sequences': (n) => ({ messages: [user('x')], stop_sequences: listOf(n, (i) => `s${i}`) }),
  'unknown fields': (n) => ({ messages: [user('x')], ...Object.fromEntries(listOf(n, (i) => [`field${i}`, i])) }),
  'properties of an output schema': (n) => ({
    messages: [user('x')],
    output_config: { format: { type: 'json_schema', schema: schemaOf(n) } },
  }),
}

const functionCall = (i: number, id?: string) => ({
  functionCall: { name: `f${i}`, args: {}, ...(id === undefined ? {} : { id }) },
})
const functionResult = (i: number, id?: string) => ({
  functionResponse: { name: `f${i}`, response: { output: 'x' }, ...(id === undefined ? {} : { id }) },
})
const turn = (role: 'user' | 'model', parts: readonly unknown[]) => ({ role, parts })
const textTurn = turn('user', [{ text: 'x' }])
const sealedThought = Buffer.from('sealed:svc-2.1\nreasoning\nx').toString('base64')

const geminiRequests: Requests = {
  turns: (n) => ({ contents: listOf(n, (i) => turn(i % 2 === 0 ? 'user' : 'model', [{ text: 'x' }])) }),
  'events of one answer': (n) => ({ contents: [textTurn, ...listOf(n, () => turn('model', [{ text: 'xxxxxxxxxxxxxxxx' }]))] }),
  'text parts': (n) => ({
    contents: [
      turn(
        'user',
        listOf(n, () => ({ text: 'x' })),
      ),
    ],
  }),
  pictures: (n) => ({
    contents: [
      turn(
        'user',
        listOf(n, () => ({ inlineData: { mimeType: 'image/png', data: 'iVBORw0KGgoA' } })),
      ),
    ],
  }),
  'calls without ids, answered in reverse': (n) => ({
    contents: [
      textTurn,
      turn(
        'model',
        listOf(n, (i) => functionCall(i)),
      ),
      turn(
        'user',
        listOf(n, (i) => functionResult(n - 1 - i)),
      ),
    ],
  }),
  'calls of one name without ids': (n) => ({
    contents: [
      textTurn,
      turn(
        'model',
        listOf(n, () => functionCall(0)),
      ),
      turn(
        'user',
        listOf(n, () => functionResult(0)),
      ),
    ],
  }),
  'calls of one id': (n) => ({
    contents: [
      textTurn,
      turn(
        'model',
        listOf(n, (i) => functionCall(i, 'c')),
      ),
      turn(
        'user',
        listOf(n, (i) => functionResult(i, 'c')),
      ),
    ],
  }),
  'results without a call': (n) => ({
    contents: [
      textTurn,
      turn(
        'model',
        listOf(n, (i) => functionCall(i, `c${i}`)),
      ),
      turn(
        'user',
        listOf(n, (i) => functionResult(-1 - i)),
      ),
    ],
  }),
  thoughts: (n) => ({
    contents: [
      textTurn,
      turn(
        'model',
        listOf(n, () => ({ text: 'x', thought: true, thoughtSignature: sealedThought })),
      ),
      textTurn,
    ],
  }),
  'unknown parts': (n) => ({
    contents: [
      textTurn,
      turn(
        'user',
        listOf(n, (i) => ({ [`part${i}`]: {} })),
      ),
    ],
  }),
  'fields in the other spelling': (n) => ({
    contents: [
      turn(
        'user',
        listOf(n, () => ({ inline_data: { mime_type: 'image/png', data: 'iVBORw0KGgoA' } })),
      ),
    ],
  }),
  functions: (n) => ({
    contents: [textTurn],
    tools: [{ functionDeclarations: listOf(n, (i) => ({ name: `f${i}`, parameters: { type: 'OBJECT' } })) }],
    toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: listOf(n, (i) => `f${n - 1 - i}`) } },
  }),
  'properties of an output schema': (n) => ({ contents: [textTurn], generationConfig: { responseSchema: schemaOf(n) } }),
  'unknown fields': (n) => ({ contents: [textTurn], ...Object.fromEntries(listOf(n, (i) => [`field${i}`, i])) }),
}

const pdf = (objects: string): string => `data:application/pdf;base64,${Buffer.from(`%PDF-1.4\n${objects}`).toString('base64')}`
const chatCall = (i: number) => ({ id: `c${i}`, type: 'function', function: { name: 'f', arguments: '{}' } })

const chatRequests: Requests = {
  messages: (n) => ({ messages: listOf(n, () => user('x')) }),
  'developer messages': (n) => ({ messages: [user('x'), ...listOf(n, () => ({ role: 'developer', content: 'x' }))] }),
  'assistant messages': (n) => ({ messages: [user('x'), ...listOf(n, () => assistant('x'))] }),
  'content parts': (n) => ({ messages: [user(listOf(n, () => ({ type: 'text', text: 'x', ...mark })))] }),
  'calls and results': (n) => ({
    messages: [
      user('x'),
      { role: 'assistant', content: null, tool_calls: listOf(n, chatCall) },
      ...listOf(n, (i) => ({ role: 'tool', tool_call_id: `c${n - 1 - i}`, content: 'x' })),
    ],
  }),
  'calls without results': (n) => ({
    messages: listOf(n, (i) => ({ role: 'assistant', content: null, tool_calls: [chatCall(i)] })),
  }),
  'results without calls': (n) => ({
    messages: [user('x'), ...listOf(n, (i) => ({ role: 'tool', tool_call_id: `c${i}`, content: 'x' }))],
  }),
  'breakpoints in blanks': (n) => ({
    messages: [{ ...user(' '.repeat(n)), anthropic_cache: listOf(n, (i) => ({ end: i, ...mark })) }, user('x')],
  }),
  tools: (n) => ({
    messages: [user('x')],
    tools: listOf(n, (i) => ({ type: 'function', function: { name: `f${i}`, parameters: {} } })),
  }),
  'stop sequences': (n) => ({ messages: [user('x')], stop: listOf(n, (i) => `s${i}`) }),
  'unknown fields': (n) => ({ messages: [user('x')], ...Object.fromEntries(listOf(n, (i) => [`field${i}`, i])) }),
  pictures: (n) => ({
    messages: [user(listOf(n, () => ({ type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgoA' } })))],
  }),
  'addresses of pictures': (n) => ({
    messages: [user(listOf(n, (i) => ({ type: 'image_url', image_url: { url: `https://${i}.example/x.png` } })))],
  }),
  files: (n) => ({
    messages: [user(listOf(n, (i) => ({ type: 'file', file: { filename: `${i}.pdf`, file_data: pdf('/Type /Page\n') } })))],
  }),
  'pages of a file': (n) => ({
    messages: [user([{ type: 'file', file: { filename: 'a.pdf', file_data: pdf('/Type /Page\n'.repeat(8 * n)) } }])],
  }),
  'object streams of a file': (n) => ({
    messages: [user([{ type: 'file', file: { filename: 'a.pdf', file_data: pdf('/ObjStm stream\n'.repeat(8 * n)) } }])],
  }),
  blanks: (n) => ({ messages: [assistant(' '.repeat(64 * n))] }),
}

const targets = (['anthropic', 'gemini', 'responses', 'chat'] as const).flatMap((api) =>
  (['developer', 'system'] as const).map((developerRole) => ({ ...plainChatTarget, api, developerRole })),
)
const upstreamFormats = { anthropic: anthropicFormat, responses: responsesUpstream, gemini: geminiUpstream }

function checkRequests(t: Test, requests: Requests, toChat: ((body: JsonObject) => JsonObject) | null): void {
  for (const [name, create] of Object.entries(requests)) {
    const translate = (body: JsonObject): JsonObject => (toChat === null ? body : toChat(body))
    // Translated once for all upstreams.
    const chats = new Map<number, JsonObject>()
    const createChat = (n: number): JsonObject => {
      const chat = chats.get(n) ?? translate({ model: 'svc-2.1', max_tokens: 1, ...create(n) })
      chats.set(n, chat)
      return chat
    }
    if (toChat !== null)
      checkGrowth(t, `${name}, to a chat`, (n) => {
        const body = { model: 'svc-2.1', max_tokens: 1, ...create(n) }
        return () => toChat(body)
      })
    // The analysis of a translated request is that of a chat completion.
    if (toChat === null)
      checkGrowth(t, `${name}, analyzed`, (n) => {
        const chat = createChat(n)
        return () => analyzeRequest(toChatRequest(chat, { bytes: n }), new Set())
      })
    for (const [upstream, format] of Object.entries(upstreamFormats))
      checkGrowth(t, `${name}, to ${upstream}`, (n) => {
        const chat = createChat(n)
        return () => format.toRequest(chat)
      })
  }
}

const isSealed = (container: string): boolean => container.startsWith('sealed:')
const context = { unseal, isSealed, targetApis: new Set(['anthropic', 'gemini', 'responses'] as const), hostsSearch: true }

t.test('requests of the Responses API', async (t) => {
  checkRequests(t, responsesRequests, (body) => responsesFormat.toChat(body, context).chat)
})

t.test('requests of the Messages API', async (t) => {
  checkRequests(t, messagesRequests, (body) => messagesFormat.toChat(body, context).chat)
})

const geminiFormat = createGeminiFormat('/v1beta/models/svc-2.1:generateContent')

t.test('requests of the Gemini API', async (t) => {
  checkRequests(t, geminiRequests, (body) => geminiFormat.toChat(body, context).chat)
})

t.test('requests of chat completions', async (t) => {
  checkRequests(t, chatRequests, null)
  for (const target of targets)
    checkGrowth(t, `parts for ${target.api}/${target.developerRole}`, (n) => {
      const body = { model: 'svc-2.1', ...chatRequests['calls and results']?.(n) }
      return () => prepareParts(toChatRequest(body, { bytes: n }), toRequestForm(target, 'messages'))
    })
})

const delta = (fields: JsonObject, more: JsonObject = {}): JsonObject => ({
  choices: [{ index: 0, delta: fields, finish_reason: null, ...more }],
})
const pieceOf = (index: number, fields: JsonObject) => delta({ tool_calls: [{ index, ...fields }] })
const begin = (index: number, name: string) => pieceOf(index, { id: `c${index}`, function: { name, arguments: '' } })
const more = (index: number, args: string) => pieceOf(index, { function: { arguments: args } })
const citation = (i: number) => ({
  type: 'url_citation',
  url_citation: { url: `https://${i}.example`, start_index: 9, end_index: i },
})

/** Chunks of streams with n of something. */
const streams: Readonly<Record<string, (n: number) => readonly JsonObject[]>> = {
  'pieces of text': (n) => listOf(n, () => delta({ content: 'word ' })),
  'pieces of blanks': (n) => listOf(n, () => delta({ content: '  \n' })),
  'pieces of reasoning': (n) => listOf(n, () => delta({ reasoning_content: 'word ' })),
  'signed reasoning': (n) => listOf(n, () => delta({ extra_content: { google: { thought_signature: 'x' } } })),
  calls: (n) => listOf(n, (i) => [begin(i, `f${i}`), more(i, '{"a":1}')]).flat(),
  'calls without an index': (n) =>
    listOf(n, (i) => delta({ tool_calls: [{ id: `c${i}`, function: { name: 'f', arguments: '{}' } }] })),
  'calls of unknown names': (n) => listOf(n, (i) => [begin(i, `unknown.${i}`), more(i, '{}')]).flat(),
  'pieces of arguments': (n) => [begin(0, 'f0'), ...listOf(n, () => more(0, '     1,'))],
  'pieces of two calls in turn': (n) => [begin(0, 'f0'), begin(1, 'f1'), ...listOf(n, (i) => more(i % 2, '{"a":['))],
  'pieces of blanks in a custom call': (n) => [begin(0, 'custom'), ...listOf(n, () => more(0, '    '))],
  'pieces of a custom call': (n) => [begin(0, 'custom'), more(0, '{"input":"'), ...listOf(n, () => more(0, 'a\\n b\\u00e9'))],
  'pieces of a custom call behind another': (n) => [
    begin(0, 'custom'),
    begin(1, 'custom'),
    ...listOf(n, (i) => more(i % 2, '{"input" :  ')),
  ],
  annotations: (n) => [delta({ content: 'x' }), ...listOf(n, (i) => delta({ annotations: [citation(i)] }))],
  'annotations of one piece': (n) => [delta({ content: 'x', annotations: listOf(n, citation) })],
}

const message = (fields: JsonObject): JsonObject => ({
  choices: [{ index: 0, message: { role: 'assistant', content: null, ...fields }, finish_reason: 'stop' }],
})

/** Whole answers with n of something. */
const answers: Readonly<Record<string, (n: number) => JsonObject>> = {
  text: (n) => message({ content: 'word '.repeat(16 * n) }),
  blanks: (n) => message({ content: '    '.repeat(16 * n) }),
  'parts of text': (n) => message({ content: listOf(n, () => ({ type: 'text', text: 'x' })) }),
  calls: (n) => message({ tool_calls: listOf(n, chatCall) }),
  'calls of one id': (n) => message({ tool_calls: listOf(n, () => chatCall(0)) }),
  annotations: (n) => message({ content: 'x', annotations: listOf(n, citation) }),
  'signed calls': (n) =>
    message({ tool_calls: listOf(n, (i) => ({ ...chatCall(i), extra_content: { google: { thought_signature: 'x' } } })) }),
}

const requests: Readonly<Record<'gemini' | 'messages' | 'responses', JsonObject>> = {
  gemini: { model: 'svc-2.1', contents: [textTurn], generationConfig: { thinkingConfig: { includeThoughts: true } } },
  messages: { model: 'svc-2.1', max_tokens: 1, messages: [user('x')] },
  responses: {
    model: 'svc-2.1',
    input: 'x',
    tools: [
      { type: 'custom', name: 'custom' },
      ...listOf(1_000, (i) => ({ type: 'function', name: `f${i}` })),
      { type: 'namespace', name: 'n', tools: listOf(1_000, (i) => ({ type: 'function', name: `g${i}` })) },
    ],
  },
}

for (const [name, format] of [
  ['gemini', geminiFormat],
  ['messages', messagesFormat],
  ['responses', responsesFormat],
] as const) {
  const { state } = (format as ApiFormat).toChat(requests[name], context)
  const createEncoder = (): AnswerEncoder =>
    (format as ApiFormat).createEncoder({
      state,
      requestId: 'mbr_1',
      model: 'svc-2.1',
      startedAt: 0,
      inputEstimate: 10,
      seal,
      now: () => 0,
    })

  t.test(`answers to the ${name} API`, async (t) => {
    for (const [what, create] of Object.entries(streams))
      checkGrowth(t, `${what}, in a stream`, (n) => {
        const chunks = create(n)
        return () => {
          const encoder = createEncoder()
          const events = [encoder.start(), ...chunks.map((chunk) => encoder.push(readAnswerEvents(chunk))), encoder.end()]
          return events.join('').length
        }
      })
    for (const [what, create] of Object.entries(answers))
      checkGrowth(t, `${what}, in a whole answer`, (n) => {
        const completion = create(n)
        return () => createEncoder().whole(readAnswerEvents(completion)).length
      })
  })
}

const messageEvents: Readonly<Record<string, (n: number) => readonly JsonObject[]>> = {
  'pieces of text': (n) =>
    listOf(n, () => ({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'word ' } })),
  'pieces of thinking': (n) => [
    { type: 'content_block_start', index: 0, content_block: { type: 'thinking', thinking: '', signature: '' } },
    ...listOf(n, () => ({ type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'x' } })),
    ...listOf(n, () => ({ type: 'content_block_delta', index: 0, delta: { type: 'signature_delta', signature: 'x' } })),
    { type: 'content_block_stop', index: 0 },
  ],
}

const messageDocuments: Readonly<Record<string, (n: number) => JsonObject>> = {
  blocks: (n) => ({ type: 'message', content: listOf(n, () => ({ type: 'text', text: 'x' })) }),
  'a call': (n) => ({ type: 'message', content: [{ type: 'tool_use', id: 'c', name: 'f', input: listOf(n, () => 'x') }] }),
  thinking: (n) => ({ type: 'message', content: listOf(n, () => ({ type: 'thinking', thinking: 'x', signature: 'x' })) }),
}

const responseEvents: Readonly<Record<string, (n: number) => readonly JsonObject[]>> = {
  'pieces of text': (n) => listOf(n, () => ({ type: 'response.output_text.delta', output_index: 0, delta: 'word ' })),
  'pieces of input': (n) => [
    { type: 'response.output_item.added', output_index: 0, item: { type: 'custom_tool_call', call_id: 'c', name: 'f' } },
    ...listOf(n, () => ({ type: 'response.custom_tool_call_input.delta', output_index: 0, delta: '   "' })),
  ],
}

const createResponse = (item: JsonObject): JsonObject => ({ object: 'response', status: 'completed', output: [item] })
const responseDocuments: Readonly<Record<string, (n: number) => JsonObject>> = {
  'parts of a message': (n) =>
    createResponse({ type: 'message', content: listOf(n, () => ({ type: 'output_text', text: 'x', logprobs: [{}] })) }),
  'parts of a summary': (n) =>
    createResponse({ type: 'reasoning', summary: listOf(n, () => ({ text: 'x' })), encrypted_content: 'x' }),
}

const geminiAnswer = (parts: readonly unknown[]): JsonObject => ({ candidates: [{ content: { parts }, index: 0 }] })

const geminiEvents: Readonly<Record<string, (n: number) => readonly JsonObject[]>> = {
  'pieces of text': (n) => listOf(n, () => geminiAnswer([{ text: 'word ' }])),
  'pieces of thoughts': (n) => listOf(n, () => geminiAnswer([{ text: 'word ', thought: true, thoughtSignature: 'x' }])),
}

const geminiDocuments: Readonly<Record<string, (n: number) => JsonObject>> = {
  parts: (n) => geminiAnswer(listOf(n, () => ({ text: 'x' }))),
  'a call': (n) => geminiAnswer([{ functionCall: { name: 'f', args: { list: listOf(n, () => 'x') } } }]),
}

function checkDecoder(t: Test, format: UpstreamFormat, events: typeof messageEvents, documents: typeof messageDocuments): void {
  for (const [what, create] of Object.entries(events))
    checkGrowth(t, `${what}, in a stream`, (n) => {
      const all = create(n).map((event) => ({ ...event }))
      return () => {
        const decoder = format.createDecoder('mbr_1')
        return all.map((event) => decoder.decode(event))
      }
    })
  for (const [what, create] of Object.entries(documents))
    checkGrowth(t, `${what}, in a whole answer`, (n) => {
      const document = { ...create(n) }
      return () => format.createDecoder('mbr_1').decodeWhole(document)
    })
}

t.test('answers of an upstream of the Messages API', async (t) => {
  checkDecoder(t, anthropicFormat, messageEvents, messageDocuments)
})

t.test('answers of an upstream of the Responses API', async (t) => {
  checkDecoder(t, responsesUpstream, responseEvents, responseDocuments)
})

t.test('answers of a Gemini upstream', async (t) => {
  checkDecoder(t, geminiUpstream, geminiEvents, geminiDocuments)
})

t.test('positions of citations', async (t) => {
  checkGrowth(t, 'in one chunk of a stream', (n) => {
    const choice = { index: 0, delta: { content: 'x', annotations: listOf(n, citation) }, finish_reason: null }
    return () => {
      const citations = new StreamedCitations()
      citations.process(choice)
      return citations.process({ index: 0, delta: {}, finish_reason: 'stop' })
    }
  })
  checkGrowth(t, 'of many choices', (n) => {
    const choices = listOf(n, (index) => ({ index, delta: { annotations: [citation(5)] }, finish_reason: null }))
    return () => {
      const citations = new StreamedCitations()
      for (const choice of choices) citations.process(choice)
      return choices.map(({ index }) => citations.process({ index, delta: {}, finish_reason: 'stop' }))
    }
  })
  checkGrowth(t, 'in a whole answer', (n) => {
    const annotations = listOf(n, citation)
    return () => clampCitations(annotations, 5)
  })
})
