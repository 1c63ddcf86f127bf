/** A mark for the cache stands on whatever block its block becomes, where the target takes marks; elsewhere it is named as dropped. */
import t from 'tap'
import { toSentRequest } from '../../../support/formats/sent-request.ts'

const mark = { cache_control: { type: 'ephemeral' } }
const png = 'iVBORw0KGgo='
const picture = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: png } }
const pdf = { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' } }
const use = (id: string, more: object = {}) => ({ type: 'tool_use', id, name: 'read', input: {}, ...more })
const answered = (id: string, more: object = {}) => ({ type: 'tool_result', tool_use_id: id, content: 'file', ...more })
const user = (...content: object[]) => ({ role: 'user', content })
const assistant = (...content: object[]) => ({ role: 'assistant', content })
const text = (words: string, more: object = {}) => ({ type: 'text', text: words, ...more })
const tools = [{ name: 'read', input_schema: { type: 'object' } }]

/** The reported request: the mark stands on a system message behind the result. */
const reported = {
  system: [text('S', mark)],
  messages: [
    { role: 'user', content: 'do it' },
    assistant(use('t1')),
    user(answered('t1')),
    { role: 'system', content: [text('5000 tokens left', mark)] },
  ],
}

/** Where marks stand in what a target receives, as paths in document order. */
function findMarks(value: unknown, path = ''): readonly string[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, inner]) =>
    name === 'cache_control' ? [`${path} ${JSON.stringify(inner)}`] : findMarks(inner, path === '' ? name : `${path}.${name}`),
  )
}

const ephemeral = '{"type":"ephemeral"}'

/** Requests of the Messages API, and where their marks stand in a request of the same API and in a chat completion. */
const cases: Readonly<Record<string, readonly [body: object, anthropic: readonly string[], chat: readonly string[]]>> = {
  'a system message behind a result': [
    reported,
    ['messages.3.content.0', 'system.0'],
    ['messages.0.content.0', 'messages.4.content.0'],
  ],
  'a tool': [{ tools: [{ ...tools[0], ...mark }], messages: [user(text('Hi'))] }, ['tools.0'], ['tools.0']],
  'a call behind a text': [
    { messages: [user(text('Hi')), assistant(text('Well'), use('a', mark)), user(answered('a'))] },
    ['messages.1.content.1'],
    ['messages.1.tool_calls.0'],
  ],
  'a text before a call': [
    { messages: [user(text('Hi')), assistant(text('Well', mark), use('a')), user(answered('a'))] },
    ['messages.1.content.0'],
    ['messages.1.content.0'],
  ],
  'the first of two calls': [
    { messages: [user(text('Hi')), assistant(use('a', mark), use('b')), user(answered('a'), answered('b'))] },
    ['messages.1.content.0'],
    ['messages.1.tool_calls.0'],
  ],
  'an empty text behind a text': [
    { messages: [user(text('Hi'), text('', mark))] },
    ['messages.0.content.0'],
    ['messages.0.content.0'],
  ],
  'a text in a document': [
    { messages: [user({ type: 'document', source: { type: 'content', content: [text('a', mark), text('b')] } }, text('Hi'))] },
    ['messages.0.content.0.source.content.0'],
    ['messages.0.content.0'],
  ],
  'a text in a result of a search': [
    {
      messages: [
        user({ type: 'search_result', title: 'A', source: 'https://a.example', content: [text('a', mark)] }, text('Hi')),
      ],
    },
    ['messages.0.content.0.content.0'],
    ['messages.0.content.0'],
  ],
  'a result': [
    { messages: [user(text('Hi')), assistant(use('a')), user(answered('a', mark))] },
    ['messages.2.content.0'],
    ['messages.2'],
  ],
  'a result with a picture': [
    { messages: [user(text('Hi')), assistant(use('a')), user(answered('a', { content: [text('seen'), picture], ...mark }))] },
    ['messages.2.content.0'],
    ['messages.2'],
  ],
  'a text within a result': [
    { messages: [user(text('Hi')), assistant(use('a')), user(answered('a', { content: [text('seen', mark)] }))] },
    ['messages.2.content.0.content.0'],
    ['messages.2'],
  ],
  'a picture': [{ messages: [user(text('Hi'), { ...picture, ...mark })] }, ['messages.0.content.1'], ['messages.0.content.1']],
  'a document': [{ messages: [user({ ...pdf, ...mark }, text('Hi'))] }, ['messages.0.content.0'], ['messages.0.content.0']],
  'two texts of a user': [
    { messages: [user(text('One', mark), text('Two', mark), text('Three'))] },
    ['messages.0.content.0', 'messages.0.content.1'],
    ['messages.0.content.0', 'messages.0.content.1'],
  ],
  'an hour': [
    { messages: [user(text('Hi', { cache_control: { type: 'ephemeral', ttl: '1h' } }))] },
    ['messages.0.content.0'],
    ['messages.0.content.0'],
  ],
  'the whole request': [
    { ...mark, messages: [user(text('Hi')), assistant(use('a')), user(answered('a'))] },
    [''],
    ['messages.2'],
  ],
  'the whole request, which ends with a text': [
    { ...mark, messages: [user(text('Hi')), assistant(text('Yes')), user(text('Go'))] },
    [''],
    ['messages.2.content.0'],
  ],
}

for (const [name, [body, anthropic, chat]] of Object.entries(cases)) {
  const request = { tools, ...body }
  t.test(`${name}: to an upstream of the Messages API`, async (t) => {
    const sent = toSentRequest('messages', request, { api: 'anthropic' })
    t.same(
      findMarks(sent.body),
      anthropic.map((path) => `${path} ${ephemeral}`),
    )
    t.same(sent.dropped, [])
  })
  t.test(`${name}: to an upstream of chat completions that takes marks`, async (t) => {
    const sent = toSentRequest('messages', request, { api: 'chat', takesMarks: true })
    t.same(new Set(findMarks(sent.body)), new Set(chat.map((path) => `${path} ${ephemeral}`)))
    t.same(sent.dropped, [])
  })
  for (const api of ['chat', 'responses'] as const)
    t.test(`${name}: to an upstream of ${api} without marks`, async (t) => {
      const sent = toSentRequest('messages', request, { api })
      t.same(findMarks(sent.body), [])
      t.notMatch(JSON.stringify(sent.body), /anthropic_/)
      t.same(sent.dropped, ['cache_control'])
    })
}

const call = { id: 'a', type: 'function', function: { name: 'read', arguments: '{}' } }

for (const [name, messages, anthropic] of [
  ['a part', [user(text('Hi', mark))], ['messages.0.content.0']],
  ['a message', [{ role: 'user', content: 'Hi', ...mark }], ['messages.0.content.0']],
  ['a message of parts', [{ ...user(text('Hi'), text('Well')), ...mark }], ['messages.0.content.1']],
  ['a system prompt', [{ role: 'system', content: [text('S', mark)] }, user(text('Hi'))], ['system.0']],
  [
    'a result',
    [user(text('Hi')), { role: 'assistant', tool_calls: [call] }, { role: 'tool', tool_call_id: 'a', content: 'x', ...mark }],
    ['messages.2.content.0'],
  ],
  [
    'a part of a result',
    [
      user(text('Hi')),
      { role: 'assistant', tool_calls: [call] },
      { role: 'tool', tool_call_id: 'a', content: [text('x', mark)] },
    ],
    ['messages.2.content.0'],
  ],
  [
    'a call',
    [
      user(text('Hi')),
      { role: 'assistant', tool_calls: [{ ...call, ...mark }] },
      { role: 'tool', tool_call_id: 'a', content: 'x' },
    ],
    ['messages.1.content.0'],
  ],
  [
    'the function of a call',
    [
      user(text('Hi')),
      { role: 'assistant', tool_calls: [{ ...call, function: { ...call.function, ...mark } }] },
      { role: 'tool', tool_call_id: 'a', content: 'x' },
    ],
    ['messages.1.content.0'],
  ],
  [
    'a message with a call',
    [
      user(text('Hi')),
      { role: 'assistant', content: 'Well', tool_calls: [call], ...mark },
      { role: 'tool', tool_call_id: 'a', content: 'x' },
    ],
    ['messages.1.content.1'],
  ],
] as const)
  t.test(`a chat client's mark on ${name}`, async (t) => {
    t.same(
      findMarks(toSentRequest('chat', { messages }, { api: 'anthropic' }).body),
      anthropic.map((path) => `${path} ${ephemeral}`),
    )
    t.same(toSentRequest('chat', { messages }, { api: 'chat', takesMarks: true }).body['messages'], messages)
    const without = toSentRequest('chat', { messages }, { api: 'chat' })
    t.same(findMarks(without.body), [])
    t.same(without.dropped, ['cache_control'])
  })

t.test('a chat client’s mark on a tool, or on its function', async (t) => {
  const tool = { type: 'function', function: { name: 'f', parameters: { type: 'object' } } }
  for (const marked of [
    { ...tool, ...mark },
    { ...tool, function: { ...tool.function, ...mark } },
  ]) {
    const body = { messages: [{ role: 'user', content: 'Hi' }], tools: [marked] }
    t.same(findMarks(toSentRequest('chat', body, { api: 'anthropic' }).body), [`tools.0 ${ephemeral}`])
    t.same(toSentRequest('chat', body, { api: 'chat', takesMarks: true }).body['tools'], [marked])
    t.same(toSentRequest('chat', body, { api: 'chat' }).dropped, ['cache_control'])
  }
})
