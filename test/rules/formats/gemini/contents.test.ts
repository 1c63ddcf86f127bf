/** Turns of the Gemini API as messages of a chat completion. */
import t from 'tap'
import { ContentsBuilder } from '../../../../src/formats/gemini/contents.ts'
import { toolErrorField } from '../../../../src/exchange/request/gemini-fields.ts'
import { toThoughtSignature } from '../../../../src/codecs/gemini/thought-containers.ts'

const sealed = 'sealed:'

function translate(contents: readonly object[]) {
  const unseal = (container: string) =>
    container.startsWith(sealed) ? Buffer.from(container.slice(sealed.length), 'base64').toString() : null
  const builder = new ContentsBuilder({ model: 'p', unseal, ignored: new Set() })
  for (const content of contents) builder.addContent(content, 'contents')
  return builder.finish()
}

const sign = (model: string, text: string) =>
  toThoughtSignature([{ field: 'reasoning_content', text }], {
    model,
    seal: (plain) => sealed + Buffer.from(plain).toString('base64'),
  })
const picture = {
  inlineData: {
    mimeType: 'image/png',
    data: 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  },
}
const document = { inlineData: { mimeType: 'application/pdf', data: 'JVBERi0=' } }
const question = { role: 'user', parts: [{ text: 'Look.' }] }
const call = { role: 'model', parts: [{ functionCall: { id: 'a', name: 'look', args: {} } }] }
const readResult = (response: unknown, parts?: readonly object[]) =>
  translate([question, call, { role: 'user', parts: [{ functionResponse: { id: 'a', name: 'look', response, parts } }] }]).at(-1)

t.test('an error in place of an output is a call that failed', async (t) => {
  for (const [response, content] of [
    [{ error: 'No such file.' }, 'No such file.'],
    [{ error: { code: 2 } }, '{"code":2}'],
  ] as const)
    t.strictSame(readResult(response), { role: 'tool', tool_call_id: 'a', content, [toolErrorField]: true })
  for (const [response, content] of [
    [{ output: 'x' }, 'x'],
    [{ output: 'x', error: '' }, '{"output":"x","error":""}'],
    [{ output: 'x', error: 'warned' }, '{"output":"x","error":"warned"}'],
    [{ error: null }, '{"error":null}'],
    [{ error: '' }, '{"error":""}'],
  ] as const)
    t.strictSame(readResult(response), { role: 'tool', tool_call_id: 'a', content })
})

t.test('the files of a result stay in it', async (t) => {
  const content = [{ type: 'text', text: 'Seen.' }, { type: 'image_url' }, { type: 'file' }]
  t.match(readResult({ output: 'Seen.' }, [picture, document]), { role: 'tool', tool_call_id: 'a', content })
  t.match(readResult({ error: 'Half.' }, [picture]), { content: [{ text: 'Half.' }, {}], [toolErrorField]: true })
  t.match(readResult(undefined, [document]), { content: [{ text: '(no output)' }, { type: 'file' }] })
})

t.test('thoughts of a history that began elsewhere return as text', async (t) => {
  const read = (...parts: readonly object[]) =>
    translate([question, { role: 'model', parts: [...parts, { text: 'Yes.' }] }]).at(-1)?.['reasoning_content']
  const thought = { text: 'Hm.', thought: true }
  t.equal(read(thought), 'Hm.')
  t.equal(read(thought, { text: ' So.', thought: true }), 'Hm. So.')
  t.equal(read({ ...thought, thoughtSignature: 'Zm9yZWlnbg==' }), 'Hm.', 'signed by another service')
  t.equal(read(thought, { text: '', thoughtSignature: sign('p', 'Hm.') }), 'Hm.', 'sealed here')
  t.equal(read(thought, { text: '', thoughtSignature: sign('other', 'Hm.') }), 'Hm.', 'sealed for another model')
  t.equal(read({ text: '', thought: true }), undefined)
})
