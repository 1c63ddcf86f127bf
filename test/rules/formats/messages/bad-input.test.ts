/** Input that is not as the API describes it: requests are refused with the field's path, and chunks of any shape make an answer. */
import * as fc from 'fast-check'
import t from 'tap'
import type { JsonObject } from '../../../../src/exchange/api-format/api-format.ts'
import { checkMutatedBodies, checkTextlessValues, mutate, tryWrongValues } from '../../../support/formats/field-mutations.ts'
import {
  createEncoder,
  findRefusedField,
  parseEvents,
  pushChunk,
  seal,
  translate,
  usageChunk,
  writeWhole,
} from '../../../support/formats/messages/translate.ts'

const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: png } }

/** Blocks of a user that are translated to text or a file, and that a tool's result may contain too. */
const documents = [
  { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'A' }, title: 'T', context: 'C' },
  { type: 'document', source: { type: 'content', content: [{ type: 'text', text: 'A' }] } },
  { type: 'document', source: { type: 'content', content: 'A' } },
  { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' }, title: 'T' },
  {
    type: 'search_result',
    source: 'https://example.com',
    title: 'T',
    content: [{ type: 'text', text: 'A' }],
    citations: { enabled: true },
  },
  { type: 'tool_reference', tool_name: 'look' },
]

/** Has every field and block that is translated. */
const request: JsonObject = {
  model: 'svc-2.1',
  max_tokens: 100,
  stream: true,
  system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }],
  messages: [
    { role: 'system', content: 'First.' },
    { role: 'user', content: [{ type: 'text', text: 'Hi' }, image, { type: 'document', source: { type: 'text', data: 'A' } }] },
    { role: 'system', content: [{ type: 'text', text: 'Later.' }] },
    {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'Hm.', signature: seal('svc-2.1\nreasoning_content\nHm.') },
        { type: 'text', text: 'Look.' },
        { type: 'tool_use', id: 'a', name: 'look', input: { word: 'sky' } },
        { type: 'tool_use', id: 'b', name: 'look', input: {} },
      ],
    },
    {
      role: 'user',
      content: [
        { type: 'tool_result', tool_use_id: 'a', is_error: false, content: [{ type: 'text', text: 'A' }, image] },
        { type: 'tool_result', tool_use_id: 'b', content: documents },
        ...documents,
      ],
    },
  ],
  tools: [{ name: 'look', description: 'Looks.', input_schema: { type: 'object', properties: {} } }],
  tool_choice: { type: 'tool', name: 'look', disable_parallel_tool_use: true },
  stop_sequences: ['x'],
  temperature: 1,
  top_p: 0.5,
  top_k: 5,
  metadata: { user_id: 'u' },
  service_tier: 'auto',
  thinking: { type: 'enabled', budget_tokens: 1024 },
  output_config: { effort: 'low', format: { type: 'json_schema', schema: { type: 'object' } } },
}

const chunk: JsonObject = {
  choices: [
    {
      index: 0,
      delta: {
        role: 'assistant',
        content: 'A',
        reasoning_content: 'B',
        reasoning_details: [{ text: 'B' }],
        refusal: null,
        annotations: [],
        tool_calls: [{ index: 0, id: 'a', type: 'function', function: { name: 'look', arguments: '{}' } }],
      },
      finish_reason: 'tool_calls',
      stop_reason: 'x',
    },
  ],
  usage: usageChunk.usage,
}

const text = ['wrong', []]
const anything = [7, -1, 'wrong', true, [], [7], {}, { wrong: 1 }]
const notText = anything.filter((value) => value !== 'wrong')

/** What the documents of a user, or of a tool's result, accept. */
function acceptIn(path: string, { isResult }: { readonly isResult: boolean }): Record<string, readonly unknown[]> {
  const at = (nth: number): string => `${path}[${isResult ? nth : nth + 2}]`
  const ignored = { [`${at(3)}.source.media_type`]: notText }
  return {
    [`${at(0)}.source.media_type`]: notText,
    [`${at(1)}.source.content`]: text,
    // A block of another type is not shown to the model.
    [`${at(1)}.source.content[0]`]: [{}, { wrong: 1 }],
    [`${at(1)}.source.content[0].type`]: notText,
    [`${at(2)}.source.content`]: [[]],
    [`${at(4)}.content`]: [[]],
    [`${at(4)}.content[0]`]: [{}, { wrong: 1 }],
    [`${at(4)}.content[0].type`]: notText,
    [`${at(4)}.citations`]: anything,
    [`${at(4)}.citations.enabled`]: anything.filter((value) => value !== true),
    ...ignored,
  }
}

/** Fields that another type fits as well, that a model server judges, or that no answer depends on. */
const accepted: Readonly<Record<string, readonly unknown[]>> = {
  system: text,
  'system[0].cache_control': anything,
  'system[0].cache_control.type': notText,
  'messages[0].content': [[]],
  'messages[1].content': text,
  'messages[2].content': text,
  'messages[3].content': text,
  'messages[3].content[2].input': [{}, { wrong: 1 }],
  'messages[3].content[2].input.word': notText,
  'messages[4].content': text,
  'messages[3].content[3].input': [{}, { wrong: 1 }],
  'messages[4].content[0].content': text,
  'messages[4].content[1].content': text,
  ...acceptIn('messages[4].content[1].content', { isResult: true }),
  ...acceptIn('messages[4].content', { isResult: false }),
  'tools[0].input_schema': [{}, { wrong: 1 }],
  'tools[0].input_schema.type': notText,
  'tools[0].input_schema.properties': anything,
  stop_sequences: [[]],
  metadata: [{}],
  service_tier: notText,
  thinking: [{}, { wrong: 1 }],
  output_config: [{}, { wrong: 1 }],
  'output_config.format.schema': [{}, { wrong: 1 }],
  'output_config.format.schema.type': notText,
}

t.test('a value of a wrong type is refused with the path of its field', async (t) => {
  t.equal(findRefusedField(request), null, 'the original is accepted')
  // Without tools, the choice of one is wrong.
  t.same(tryWrongValues(request, findRefusedField), { accepted, misplaced: ['tools = []: tool_choice.name'] })
})

t.test('no value is taken for a text that is none', async (t) => {
  checkTextlessValues(t, request, translate)
})

t.test('a request of any shape is translated, or refused with the path of a field', async (t) => {
  checkMutatedBodies(t, request, translate, 5_000)
})

t.test('chunks of any shape make an answer that is complete', async (t) => {
  fc.assert(
    fc.property(fc.array(fc.oneof(mutate(chunk), fc.constant(chunk)), { maxLength: 5 }), (chunks) => {
      const encoder = createEncoder({ stop_sequences: ['x'] })
      const events = parseEvents(encoder.start() + chunks.map((each) => pushChunk(encoder, each)).join('') + encoder.end())
      if (events.at(-1)?.type !== 'message_stop') throw new Error('no end')
      const starts = events.filter(({ type }) => type === 'content_block_start').length
      if (starts === 0 || starts !== events.filter(({ type }) => type === 'content_block_stop').length)
        throw new Error('open blocks')
      for (const each of chunks) JSON.parse(writeWhole(createEncoder(), each))
    }),
    { numRuns: 2_000 },
  )
  t.pass()
})
