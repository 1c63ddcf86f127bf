/** Results of tools keep their flag of failure, pictures, documents and their order, from each API to each other one. */
import t from 'tap'
import { toSentRequest } from '../../../support/formats/sent-request.ts'
import type { ClientApi, TargetApi } from '../../../support/formats/sent-request.ts'

const png = 'iVBORw0KGgo='
const pdf = 'JVBERi0='

/** A part of a result: a text, a picture or a document. */
type Part = 'picture' | 'document' | `text ${string}`

interface Result {
  readonly parts: readonly Part[]
  readonly isError?: boolean
}

/** Each API's own words for a part, as its clients send them and its upstreams receive them. */
const words: Readonly<Record<Exclude<ClientApi, 'gemini'>, (part: Part) => object>> = {
  chat: (part: Part) =>
    part === 'picture'
      ? { type: 'image_url', image_url: { url: `data:image/png;base64,${png}` } }
      : part === 'document'
        ? { type: 'file', file: { filename: 'document.pdf', file_data: `data:application/pdf;base64,${pdf}` } }
        : { type: 'text', text: part.slice(5) },
  messages: (part: Part) =>
    part === 'picture'
      ? { type: 'image', source: { type: 'base64', media_type: 'image/png', data: png } }
      : part === 'document'
        ? { type: 'document', title: 'document.pdf', source: { type: 'base64', media_type: 'application/pdf', data: pdf } }
        : { type: 'text', text: part.slice(5) },
  responses: (part: Part) =>
    part === 'picture'
      ? { type: 'input_image', image_url: `data:image/png;base64,${png}`, detail: 'auto' }
      : part === 'document'
        ? { type: 'input_file', filename: 'document.pdf', file_data: `data:application/pdf;base64,${pdf}` }
        : { type: 'input_text', text: part.slice(5) },
}

const write: Readonly<Record<Exclude<ClientApi, 'gemini'>, (results: readonly Result[]) => Record<string, unknown>>> = {
  chat: (results) => ({
    messages: [
      { role: 'user', content: 'look' },
      {
        role: 'assistant',
        content: null,
        tool_calls: results.map((_, i) => ({ id: `t${i}`, type: 'function', function: { name: 'shot', arguments: '{}' } })),
      },
      ...results.map(({ parts }, i) => ({ role: 'tool', tool_call_id: `t${i}`, content: parts.map(words.chat) })),
    ],
  }),
  messages: (results) => ({
    messages: [
      { role: 'user', content: 'look' },
      { role: 'assistant', content: results.map((_, i) => ({ type: 'tool_use', id: `t${i}`, name: 'shot', input: {} })) },
      {
        role: 'user',
        content: results.map(({ parts, isError }, i) => ({
          type: 'tool_result',
          tool_use_id: `t${i}`,
          content: parts.map(words.messages),
          ...(isError === true ? { is_error: true } : {}),
        })),
      },
    ],
  }),
  responses: (results) => ({
    input: [
      { role: 'user', content: 'look' },
      ...results.map((_, i) => ({ type: 'function_call', call_id: `t${i}`, name: 'shot', arguments: '{}' })),
      ...results.map(({ parts }, i) => ({ type: 'function_call_output', call_id: `t${i}`, output: parts.map(words.responses) })),
    ],
  }),
}

/** The results as the target receives them, each as its parts. */
const read: Readonly<Record<Exclude<TargetApi, 'gemini'>, (body: Readonly<Record<string, unknown>>) => readonly unknown[]>> = {
  chat: ({ messages }) =>
    (messages as { role: string; content: unknown }[])
      .slice(2)
      .map(({ role, content }) => (role === 'tool' ? content : { attached: content })),
  anthropic: ({ messages }) =>
    (messages as { content: { type: string; content: unknown; is_error?: boolean }[] }[])
      .flatMap(({ content }) => content)
      .filter(({ type }) => type === 'tool_result')
      .map(({ content, is_error: isError }) => (isError === true ? { failed: content } : content)),
  responses: ({ input }) =>
    (input as { type: string; output: unknown }[])
      .filter(({ type }) => type === 'function_call_output')
      .map(({ output }) => output),
}

const cases: Readonly<Record<string, readonly Result[]>> = {
  'a picture alone': [{ parts: ['picture'] }],
  'a picture between texts': [{ parts: ['text before', 'picture', 'text behind'] }],
  'a document with a text': [{ parts: ['text read', 'document'] }],
  'a picture and a document of two results': [{ parts: ['picture', 'text one'] }, { parts: ['document'] }],
  'two pictures apart': [{ parts: ['picture', 'text middle', 'picture'] }],
}

for (const [name, results] of Object.entries(cases))
  for (const client of ['chat', 'messages', 'responses'] as const)
    for (const api of ['anthropic', 'responses'] as const)
      t.test(`${name}, from ${client} to ${api}`, async (t) => {
        const { body, dropped } = toSentRequest(client, write[client](results), { api })
        const toWord = words[api === 'anthropic' ? 'messages' : 'responses']
        t.same(
          read[api](body),
          results.map(({ parts }) => parts.map(toWord)),
        )
        t.same(dropped, [])
      })

for (const client of ['messages', 'responses'] as const) {
  const toChat = (results: readonly Result[]) => read.chat(toSentRequest(client, write[client](results), { api: 'chat' }).body)
  t.test(`files of results follow them, from ${client} to chat`, async (t) => {
    const attached = (id: string) => ({ type: 'text', text: `Attached to the result of the tool call ${id}:` })
    t.match(toChat([{ parts: ['text before', 'picture', 'text behind'] }]), [
      'before\nThe result is attached below.\nbehind',
      { attached: [attached('t0'), words.chat('picture')] },
    ])
    t.match(toChat([{ parts: ['picture', 'text one'] }, { parts: ['document'] }]), [
      'The result is attached below.\none',
      'The result is attached below.',
      { attached: [attached('t0'), words.chat('picture'), attached('t1'), words.chat('document')] },
    ])
    t.match(toChat([{ parts: ['picture', 'text middle', 'document'] }]), [
      'Attachment 1 of this result is below.\nmiddle\nAttachment 2 of this result is below.',
      {
        attached: [
          attached('t0'),
          { type: 'text', text: 'Attachment 1:' },
          words.chat('picture'),
          { type: 'text', text: 'Attachment 2:' },
          words.chat('document'),
        ],
      },
    ])
  })
}

for (const client of ['chat', 'messages', 'responses'] as const)
  t.test(`a text says where the files of a result were, from ${client} to gemini`, async (t) => {
    const toParts = (parts: readonly Part[]) => {
      const { body } = toSentRequest(client, write[client]([{ parts }]), { api: 'gemini' })
      return (body['contents'] as { parts: object[] }[]).at(-1)?.parts
    }
    const response = (output: string) => ({ functionResponse: { id: 't0', name: 'shot', response: { output } } })
    const head = { text: 'Attached to the result of the tool call t0:' }
    const picture = { inlineData: { mimeType: 'image/png', data: png } }
    const document = { inlineData: { mimeType: 'application/pdf', data: pdf } }
    t.same(toParts(['text read', 'document']), [response('read'), head, document], 'at the end they follow the text')
    t.same(toParts(['text before', 'picture', 'text behind']), [
      response('before\nThe result is attached below.\nbehind'),
      head,
      picture,
    ])
    t.same(toParts(['picture', 'text middle', 'document']), [
      response('Attachment 1 of this result is below.\nmiddle\nAttachment 2 of this result is below.'),
      head,
      { text: 'Attachment 1:' },
      picture,
      { text: 'Attachment 2:' },
      document,
    ])
  })

t.test('files of results stand before what the user says next', async (t) => {
  const { messages } = write.messages([{ parts: ['picture'] }]) as { messages: { content: unknown }[] }
  const said = [...((messages[2]?.content ?? []) as object[]), { type: 'text', text: 'Well?' }]
  const sent = toSentRequest(
    'messages',
    { messages: [...messages.slice(0, 2), { role: 'user', content: said }] },
    { api: 'chat' },
  )
  t.match((sent.body['messages'] as object[]).slice(2), [
    { role: 'tool', content: 'The result is attached below.' },
    { role: 'user', content: [{ text: /^Attached to/ }, { type: 'image_url' }, { type: 'text', text: 'Well?' }] },
  ])
  t.equal((sent.body['messages'] as object[]).length, 4)
})

t.test('a chat client’s picture in a message of the role `tool` stays there', async (t) => {
  const body = write.chat([{ parts: ['picture', 'text seen'] }])
  t.same(toSentRequest('chat', body, { api: 'chat' }).body['messages'], body['messages'])
  const moved = read.chat(toSentRequest('chat', body, { api: 'chat', refusesToolMedia: true }).body)
  t.match(moved, ['The result is attached below.\nseen', { attached: [{ type: 'text' }, { type: 'image_url' }] }])
})

for (const [name, parts, isFailed, text] of [
  ['a text', ['text no such file'], true, 'Error: no such file'],
  ['nothing', [], true, 'Error: (no output)'],
  ['a text that says so', ['text Error: no such file'], true, 'Error: no such file'],
  ['a text of a call that worked', ['text fine'], false, 'fine'],
] as const)
  t.test(`the flag of a failed call with ${name}`, async (t) => {
    const body = write.messages([{ parts, isError: isFailed }])
    const content = parts.length === 0 ? [words.messages('text (no output)')] : parts.map(words.messages)
    t.same(read.anthropic(toSentRequest('messages', body, { api: 'anthropic' }).body), [isFailed ? { failed: content } : content])
    t.same(read.chat(toSentRequest('messages', body, { api: 'chat' }).body), [text])
    t.same(read.responses(toSentRequest('messages', body, { api: 'responses' }).body), [text])
  })

t.test('the flag of a failed call whose result begins with a picture', async (t) => {
  const body = write.messages([{ parts: ['picture'], isError: true }])
  t.match(read.responses(toSentRequest('messages', body, { api: 'responses' }).body), [
    [{ type: 'input_text', text: 'Error:' }, { type: 'input_image' }],
  ])
  t.match(read.chat(toSentRequest('messages', body, { api: 'chat' }).body), [
    'Error: The result is attached below.',
    { attached: [{ type: 'text' }, { type: 'image_url' }] },
  ])
})
