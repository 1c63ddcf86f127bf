/** Requests that are not as the Responses API describes them: each is translated, or refused with the field's path. */
import * as fc from 'fast-check'
import t from 'tap'
import type { JsonObject } from '../../../../src/exchange/api-format/api-format.ts'
import { checkMutatedBodies, checkTextlessValues, mutate, tryWrongValues } from '../../../support/formats/field-mutations.ts'
import { createEncoder, findRefusal, parseEvents, pushChunk, seal, translate, usageChunk, writeWhole } from './translate.ts'

const png =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

/** Has every field and item that is translated. */
const request: JsonObject = {
  model: 'svc-2.1',
  stream: true,
  instructions: 'Be short.',
  max_output_tokens: 9,
  temperature: 1,
  top_p: 0.5,
  parallel_tool_calls: true,
  tool_choice: { type: 'function', name: 'look' },
  reasoning: { effort: 'low', summary: 'auto' },
  include: ['reasoning.encrypted_content'],
  metadata: { a: 'b' },
  prompt_cache_key: 'k',
  safety_identifier: 's',
  user: 'u',
  store: false,
  truncation: 'disabled',
  service_tier: 'auto',
  max_tool_calls: 3,
  text: {
    verbosity: 'low',
    format: { type: 'json_schema', name: 'answer', description: 'An answer.', strict: true, schema: { type: 'object' } },
  },
  tools: [
    { type: 'function', name: 'look', description: 'Looks.', strict: false, parameters: { type: 'object', properties: {} } },
    {
      type: 'custom',
      name: 'patch',
      description: 'Edits.',
      format: { type: 'grammar', syntax: 'lark', definition: 'start: x' },
    },
    {
      type: 'namespace',
      name: 'agents',
      description: 'Agents.',
      tools: [{ type: 'function', name: 'spawn', parameters: { type: 'object' } }],
    },
  ],
  input: [
    { type: 'message', role: 'developer', content: 'First.' },
    {
      type: 'message',
      role: 'user',
      content: [
        { type: 'input_text', text: 'Hi' },
        { type: 'input_image', image_url: png, detail: 'high' },
        { type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,aGk=' },
      ],
    },
    {
      type: 'reasoning',
      id: 'rs_1',
      summary: [{ type: 'summary_text', text: 'Hm.' }],
      encrypted_content: seal('svc-2.1\nreasoning_content\nHm.'),
    },
    {
      type: 'message',
      role: 'assistant',
      id: 'msg_1',
      status: 'completed',
      content: [{ type: 'output_text', text: 'Look.', annotations: [] }],
    },
    { type: 'function_call', id: 'fc_1', call_id: 'a', name: 'look', arguments: '{}', status: 'completed' },
    {
      type: 'function_call_output',
      call_id: 'a',
      output: [
        { type: 'input_text', text: 'A' },
        { type: 'input_image', image_url: png },
      ],
    },
    { type: 'custom_tool_call', call_id: 'b', name: 'patch', input: 'x' },
    { type: 'custom_tool_call_output', call_id: 'b', output: 'done' },
    { type: 'function_call', call_id: 'c', namespace: 'agents', name: 'spawn', arguments: '{}' },
    { type: 'function_call_output', call_id: 'c', output: 'ok' },
  ],
}

const chunk: JsonObject = {
  choices: [
    {
      index: 0,
      delta: {
        role: 'assistant',
        content: 'A',
        reasoning_content: 'B',
        refusal: null,
        annotations: [
          { type: 'url_citation', url_citation: { url: 'https://a.example', title: 'A', start_index: 0, end_index: 1 } },
        ],
        tool_calls: [{ index: 0, id: 'a', type: 'function', function: { name: 'look', arguments: '{}' } }],
      },
      finish_reason: 'tool_calls',
    },
  ],
  usage: usageChunk.usage,
}

const text = ['wrong', []]
const anything = [7, -1, 'wrong', true, [], [7], {}, { wrong: 1 }]
const notText = anything.filter((value) => value !== 'wrong')
const objects = [{}, { wrong: 1 }]

/** Fields that another type fits as well, that a model server judges, or that no answer depends on. */
const accepted: Readonly<Record<string, readonly unknown[]>> = {
  reasoning: objects,
  include: [[]],
  metadata: [{}],
  text: objects,
  'text.format.schema': objects,
  'text.format.schema.type': notText,
  'tools[0].parameters': objects,
  'tools[0].parameters.type': notText,
  'tools[0].parameters.properties': anything,
  'tools[1].format': objects,
  'tools[1].format.type': notText,
  'tools[2].tools': [[]],
  'tools[2].tools[0].parameters': objects,
  'tools[2].tools[0].parameters.type': notText,
  input: text,
  'input[0].content': [[]],
  'input[1].content': text,
  'input[2].id': notText,
  'input[2].summary': anything,
  'input[2].summary[0]': anything,
  'input[2].summary[0].type': notText,
  'input[2].summary[0].text': notText,
  'input[3].id': notText,
  'input[3].status': notText,
  'input[3].content': text,
  'input[3].content[0].annotations': anything,
  'input[4].id': notText,
  'input[4].status': notText,
  'input[5].output': text,
  'input[7].output': [[]],
  'input[9].output': [[]],
}

t.test('a value of a wrong type is refused with the path of its field', async (t) => {
  const findPath = (body: JsonObject): string | null | undefined => {
    const refusal = findRefusal(body)
    return refusal === null ? null : refusal.param
  }
  t.equal(findPath(request), null, 'the original is accepted')
  // Without tools, the choice of one is wrong.
  t.same(tryWrongValues(request, findPath), { accepted, misplaced: ['tools = []: tool_choice.name'] })
})

t.test('no value is taken for a text that is none', async (t) => {
  checkTextlessValues(t, request, translate)
})

t.test('a request of any shape is translated, or refused with the path of a field', async (t) => {
  checkMutatedBodies(t, request, translate, 3_000)
})

t.test('chunks of any shape make an answer that is complete', async (t) => {
  fc.assert(
    fc.property(fc.array(fc.oneof(mutate(chunk), fc.constant(chunk)), { maxLength: 5 }), (chunks) => {
      const encoder = createEncoder({ stream: true })
      const events = parseEvents(encoder.start() + chunks.map((each) => pushChunk(encoder, each)).join('') + encoder.end())
      if (!['response.completed', 'response.incomplete'].includes(events.at(-1)?.type ?? '')) throw new Error('no end')
      if (events.some(({ sequence_number: number }, index) => number !== index)) throw new Error('a gap in the numbers')
      for (const each of chunks) JSON.parse(writeWhole(createEncoder(), each))
    }),
    { numRuns: 1_500 },
  )
  t.pass()
})
