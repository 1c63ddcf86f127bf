/** Title and context of a document reach targets of each API: in its own place, as a file's name, or as text before it. */
import t from 'tap'
import { toSentRequest } from '../../../support/formats/sent-request.ts'
import type { TargetApi } from '../../../support/formats/sent-request.ts'

const pdf = 'JVBERi0='
const said = { title: 'Report 2026', context: 'From the archive.' }
const text = { type: 'document', ...said, source: { type: 'text', media_type: 'text/plain', data: 'Sales rose.' } }
const blocks = { type: 'document', ...said, source: { type: 'content', content: [{ type: 'text', text: 'Sales rose.' }] } }
const file = { type: 'document', ...said, source: { type: 'base64', media_type: 'application/pdf', data: pdf } }

/** The last message as the target receives it, as JSON. */
function send(content: readonly object[], api: TargetApi, more: object = {}): string {
  const sent = toSentRequest('messages', { messages: [{ role: 'user', content }] }, { api, ...more })
  const { messages, input, contents } = sent.body
  return JSON.stringify([messages ?? input ?? contents])
}

for (const api of ['chat', 'responses', 'gemini', 'anthropic'] as const) {
  t.test(`a document of text, to ${api}`, async (t) => {
    for (const document of [text, blocks])
      for (const part of ['Report 2026', 'From the archive.', 'Sales rose.']) {
        t.ok(send([document], api).includes(part), part)
        t.ok(send([document], api, { refusesNative: true }).includes(part), `${part}, translated`)
      }
  })

  t.test(`a file, to ${api}`, async (t) => {
    const sent = send([file], api, { refusesNative: true })
    for (const part of ['Report 2026', 'From the archive.', pdf]) t.ok(sent.includes(part), part)
    t.ok(sent.indexOf('From the archive.') < sent.indexOf(pdf), 'the context comes first')
  })

  t.test(`a document in the result of a tool, to ${api}`, async (t) => {
    const messages = [
      { role: 'user', content: 'look' },
      { role: 'assistant', content: [{ type: 'tool_use', id: 't0', name: 'read', input: {} }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't0', content: [text, file] }] },
    ]
    const { body } = toSentRequest('messages', { messages }, { api, refusesNative: true })
    for (const part of ['Sales rose.', pdf]) t.ok(JSON.stringify(body).includes(part))
    t.equal(JSON.stringify(body).split('Report 2026').length, 3, 'the title of each')
    t.equal(JSON.stringify(body).split('From the archive.').length, 3, 'the context of each')
  })
}

t.test('a document without title and context has nothing before it', async (t) => {
  const bare = { type: 'document', source: text.source }
  t.match(toSentRequest('messages', { messages: [{ role: 'user', content: [bare] }] }, { api: 'chat' }).body, {
    messages: [{ role: 'user', content: 'Sales rose.' }],
  })
})

t.test('the name that a client gives a file reaches Gemini as text, and a placeholder does not', async (t) => {
  const send = (filename: string) => {
    const part = { type: 'file', file: { filename, file_data: `data:application/pdf;base64,${pdf}` } }
    const { body } = toSentRequest('chat', { messages: [{ role: 'user', content: [part] }] }, { api: 'gemini' })
    return (body['contents'] as { parts: object[] }[])[0]?.parts
  }
  const sent = { inlineData: { mimeType: 'application/pdf', data: pdf } }
  t.same(send('sales.pdf'), [{ text: 'File: sales.pdf' }, sent])
  t.same(send('document.pdf'), [sent])
})

t.test('the name that a client of Gemini gives a file is its name elsewhere', async (t) => {
  const parts = [{ inlineData: { mimeType: 'application/pdf', data: pdf, displayName: 'sales.pdf' } }]
  const { body } = toSentRequest('gemini', { contents: [{ role: 'user', parts }] }, { api: 'chat' })
  t.match(body, { messages: [{ content: [{ type: 'file', file: { filename: 'sales.pdf' } }] }] })
})
