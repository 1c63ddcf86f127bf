/** A mark for the cache stands on whatever block its block becomes, from a Messages request to an upstream of the same API. */
import t from 'tap'
import type { JsonObject } from '../../../../src/exchange/api-format/api-format.ts'
import { messagesFormat } from '../../../../src/formats/messages/messages-format.ts'
import { toMessagesRequest } from '../../../../src/codecs/messages/request/messages-request.ts'

const mark = { cache_control: { type: 'ephemeral' } }
const text = (words: string, more: object = {}) => ({ type: 'text', text: words, ...more })
const call = { role: 'assistant', content: [{ type: 'tool_use', id: 't1', name: 'read', input: {} }] }
const toResult = (more: object) => ({
  role: 'user',
  content: [{ type: 'tool_result', tool_use_id: 't1', content: 'file', ...more }],
})

/** The texts of the marked blocks; for a result, those in it. */
function findMarked(...messages: readonly object[]): readonly unknown[] {
  const { chat } = messagesFormat.toChat(
    { model: 'p', max_tokens: 10, tools: [{ name: 'read', input_schema: { type: 'object' } }], messages },
    { unseal: () => null, targetApis: new Set(['anthropic'] as const) },
  )
  const sent = toMessagesRequest(chat)['messages'] as readonly { readonly content: readonly JsonObject[] }[]
  return sent
    .flatMap(({ content }) => content)
    .filter((block) => block['cache_control'] !== undefined)
    .map((block) => block['text'] ?? block['type'])
}

for (const [name, messages, expected] of [
  [
    'a system message behind a result',
    [{ role: 'user', content: 'do it' }, call, toResult({}), { role: 'system', content: [text('5000 tokens left', mark)] }],
    ['<system>\n5000 tokens left\n</system>'],
  ],
  [
    'the first of two texts of a system message',
    [
      { role: 'user', content: 'do it' },
      { role: 'system', content: [text('One.', mark), text('Two.')] },
    ],
    ['do it\n\n<system>\nOne.\n\nTwo.\n</system>'],
  ],
  ['a result', [{ role: 'user', content: 'do it' }, call, toResult(mark)], ['tool_result']],
  [
    'a block within a result',
    [{ role: 'user', content: 'do it' }, call, toResult({ content: [text('file', mark)] })],
    ['tool_result'],
  ],
  [
    'a result of a call that is gone',
    [{ role: 'user', content: [text('do it')] }, toResult(mark)],
    ['do it\n\nResult of the tool call t1:\nfile'],
  ],
  ['a text of the user', [{ role: 'user', content: [text('do it', mark)] }], ['do it']],
  [
    'a call',
    [
      { role: 'user', content: 'do it' },
      { ...call, content: [{ ...call.content[0], ...mark }] },
    ],
    ['tool_use'],
  ],
] as const)
  t.test(`the mark on ${name}`, async (t) => {
    t.same(findMarked(...messages), expected)
  })
