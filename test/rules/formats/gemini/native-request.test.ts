/** A target of the Gemini API receives a request of the same API as it was sent, but for what the gateway must change. */
import t from 'tap'
import type { JsonObject } from '../../../../src/exchange/api-format/api-format.ts'
import { findMediaAddresses } from '../../../../src/exchange/request/media-addresses.ts'
import { countPrompt } from '../../../../src/exchange/request/prompt-size.ts'
import { toChatRequest } from '../../../../src/exchange/request/chat-request.ts'
import { clientFormats, seal, toSentRequest } from '../../../support/formats/sent-request.ts'
import { geminiRequest } from '../../../support/formats/agent-requests.ts'

const target = { api: 'gemini' } as const
const send = (body: JsonObject): JsonObject => toSentRequest('gemini', body, target).body
const toChat = (body: JsonObject) => {
  const { chat, native } = clientFormats.gemini?.toChat(
    { model: 'p', ...body },
    { unseal: () => null, targetApis: new Set(['gemini'] as const) },
  ) ?? {
    chat: {},
    native: undefined,
  }
  return toChatRequest(chat, { bytes: 1, format: 'gemini', native })
}
const user = (...parts: object[]) => ({ role: 'user', parts })
const model = (...parts: object[]) => ({ role: 'model', parts })
const call = { functionCall: { name: 'look', args: {} }, thoughtSignature: 'c2lnbmVk' }
const result = { functionResponse: { name: 'look', response: { output: 'Seen.' } } }
const tools = [{ functionDeclarations: [{ name: 'look' }] }]

t.test('a request of Gemini CLI is the same', async (t) => {
  t.same(send(geminiRequest), geminiRequest)
})

t.test('keeps turns, parts and settings', async (t) => {
  const picture = { inlineData: { mimeType: 'image/png', data: 'iVBORw0KGgo=' } }
  for (const body of [
    { contents: [{ parts: [{ text: 'Hi' }] }] },
    { contents: [user({ text: 'One.' }, picture, { text: 'Two.' })] },
    { contents: [user({ text: 'Draw.' }), model(picture, { text: 'Here.' }), user({ text: 'Again.' })] },
    { contents: [user({ text: 'Hi' }), model({ text: 'Hm' }, call), user(result)], tools },
    { contents: [user({ text: 'Hi' }), model({ text: '', thoughtSignature: 'c2lnbmVk' }), user({ text: 'So?' })] },
    {
      contents: [user({ fileData: { fileUri: 'https://example.com/a.mp4', mimeType: 'video/mp4' }, videoMetadata: { fps: 2 } })],
    },
    {
      contents: [user({ text: 'Hi' })],
      generationConfig: { responseMimeType: 'application/json', responseSchema: { type: 'STRING' } },
    },
  ])
    t.match(send(body), body, JSON.stringify(body))
})

t.test('changes what the gateway must change', async (t) => {
  // Of another account: it cannot be opened.
  const sealed = Buffer.from(seal('unknown')).toString('base64')
  const loop = (thoughtSignature?: string) => ({
    contents: [user({ text: 'Hi' }), model({ ...call, thoughtSignature }), user(result)],
    tools,
  })
  for (const [body, expected] of [
    [loop(), loop('skip_thought_signature_validator')],
    [loop(sealed), loop('skip_thought_signature_validator')],
    [{ contents: [user({ text: 'Hi' })], tools: [...tools, { codeExecution: {} }] }, { tools }],
    [
      { contents: [user({ text: 'Hi' })], labels: { a: 'b' }, generationConfig: { logprobs: 1 } },
      { labels: undefined, generationConfig: { logprobs: undefined } },
    ],
    [{ contents: [user({ text: 'Hi' })], generation_config: { top_k: 3 } }, { generationConfig: { topK: 3 } }],
    ...[
      { functionCallingConfig: { mode: 'AUTO', streamFunctionCallArguments: true } },
      { function_calling_config: { mode: 'AUTO', stream_function_call_arguments: true } },
    ].map((toolConfig) => [
      { contents: [user({ text: 'Hi' })], tools, toolConfig },
      { toolConfig: { functionCallingConfig: { mode: 'AUTO', streamFunctionCallArguments: undefined } } },
    ]),
  ] as const)
    t.match(send(body), expected, JSON.stringify(body))
  t.notMatch(JSON.stringify(send(loop(sealed))), sealed)
})

t.test('translates a conversation that the API would refuse', async (t) => {
  for (const [contents, expected] of [
    [
      [user({ text: 'Hi' }), model(call)],
      [{}, {}, { parts: [{ functionResponse: { response: { output: '(no output)' } } }] }],
    ],
    [
      [user({ text: 'Hi' }), model({ text: 'A' }), model({ text: 'B' }), user({ text: 'C' })],
      [{}, { parts: [{ text: 'AB' }] }, {}],
    ],
    [
      [model({ text: 'A' }), user({ text: 'B' })],
      [{ parts: [{ text: 'Continue.' }] }, {}, {}],
    ],
    [[user(result)], [{ parts: [{ text: /^Result of the tool call look/ }] }]],
    [[user({ text: 'Hi', file_id: 'file_1' })], [{ parts: [{ text: 'Hi', fileId: undefined }] }]],
    [[user({ text: 'Hi' }, { executableCode: {} })], [{ parts: [{ text: 'Hi' }] }]],
  ] as const)
    t.match(send({ contents, tools }), { contents: expected }, JSON.stringify(contents))
})

t.test('counts and examines what a chat completion has no place for', async (t) => {
  const long = 'word '.repeat(1_000)
  const plain = { contents: [user({ text: 'Hi' })], tools }
  for (const more of [
    { contents: [user({ text: 'Hi', partMetadata: { long } })] },
    { contents: [{ ...user({ text: 'Hi' }), note: long }] },
    { contents: [user({ text: 'Hi' }), model({ text: long, thought: true }, { text: 'A' }), user({ text: 'B' })] },
    { contents: [user({ text: 'Hi' }), model({ text: 'A', thoughtSignature: long }), user({ text: 'B' })] },
    { tools: [{ functionDeclarations: [{ name: 'look', response: { description: long } }] }] },
  ]) {
    const [few, many] = [toChat(plain), toChat({ ...plain, ...more })]
    t.ok(countPrompt(many).maxTextTokens > countPrompt(few).maxTextTokens + 900, JSON.stringify(more).slice(0, 80))
  }
  t.same(findMediaAddresses(toChat({ contents: [user({ text: 'Hi', note: { uri: 'http://10.0.0.1/a' } })] })), [
    'http://10.0.0.1/a',
  ])
})
