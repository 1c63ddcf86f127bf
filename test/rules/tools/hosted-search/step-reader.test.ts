import t from 'tap'
import type { AnswerEvent } from '../../../../src/conversation/answer-event.ts'
import type { AnswerEncoder, JsonObject } from '../../../../src/exchange/api-format/api-format.ts'
import { readAnswerEvents } from '../../../../src/codecs/chat/read-events.ts'
import { addUsage, StepReader } from '../../../../src/tools/hosted-search/step-reader.ts'

const toChunk = (delta: JsonObject, finish: string | null = null): JsonObject => ({
  choices: [{ index: 0, delta, finish_reason: finish }],
})

const call = (index: number, fields: JsonObject, id?: string): JsonObject => ({
  index,
  ...(id === undefined ? {} : { id, type: 'function' }),
  function: fields,
})

/** Writes each chunk as a line. */
const outer: AnswerEncoder = {
  start: () => 'start\n',
  push: (events) => events.map((event) => `${JSON.stringify(event)}\n`).join(''),
  heartbeat: () => 'heartbeat\n',
  end: () => 'end\n',
  fail: () => 'failed\n',
  whole: () => 'whole',
}

/** What the client gets of these chunks, and the answer. */
function read(chunks: readonly JsonObject[]) {
  const reader = new StepReader('mbr_1', outer)
  const lines = chunks.map((chunk) => reader.push(readAnswerEvents(chunk))).join('')
  const passed = lines
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as AnswerEvent)
  return { passed, answer: reader.finish() }
}

t.test('takes out the calls of the search, in whichever pieces they arrive', (t) => {
  for (const [name, chunks] of [
    ['in one piece', [toChunk({ tool_calls: [call(0, { name: 'web_search', arguments: '{"query":"a"}' }, 'c1')] })]],
    [
      'in many pieces',
      [
        toChunk({ tool_calls: [call(0, { name: 'web_search', arguments: '' }, 'c1')] }),
        toChunk({ tool_calls: [call(0, { arguments: '{"query"' })] }),
        toChunk({ tool_calls: [call(0, { arguments: ':"a"}' })] }),
      ],
    ],
    [
      'with a late name',
      [
        toChunk({ tool_calls: [call(0, { arguments: '{"query"' }, 'c1')] }),
        toChunk({ tool_calls: [call(0, { name: 'web_search', arguments: ':"a"}' })] }),
      ],
    ],
    ['as a function call', [toChunk({ function_call: { name: 'web_search', arguments: '{"query":"a"}' } })]],
    [
      'with the end',
      [toChunk({ tool_calls: [call(0, { name: 'web_search', arguments: '{"query":"a"}' }, 'c1')] }, 'tool_calls')],
    ],
  ] as const) {
    const { answer, passed } = read([toChunk({ content: 'Text.' }), ...chunks])
    t.match(answer, { text: 'Text.', hasOtherCalls: false, searches: [{ name: 'web_search', arguments: '{"query":"a"}' }] }, name)
    t.notMatch(JSON.stringify(passed), /web_search|query/, name)
  }
  t.end()
})

t.test('passes other calls, those with a late name too', (t) => {
  const { passed, answer } = read([
    toChunk({ tool_calls: [call(0, { name: 'web_search', arguments: '{"query":' }, 'c1')] }),
    toChunk({ tool_calls: [call(1, { arguments: '{"wo' }, 'c2'), call(0, { arguments: '"a"}' })] }),
    toChunk({ tool_calls: [call(1, { name: 'look', arguments: 'rd":' })] }),
    toChunk({ tool_calls: [call(1, { arguments: '1}' })] }, 'tool_calls'),
  ])
  t.same(passed, [
    { kind: 'call', index: 1, id: 'c2', name: 'look', arguments: '{"word":' },
    { kind: 'call', index: 1, id: '', name: '', arguments: '1}' },
  ])
  t.match(answer, { hasOtherCalls: true, searches: [{ arguments: '{"query":"a"}' }] })
  t.end()
})

t.test('keeps the end and the usage for the last answer of the turn', (t) => {
  const usage = { prompt_tokens: 5, completion_tokens: 2 }
  const { passed, answer } = read([
    { ...toChunk({ content: 'Text', reasoning_content: 'Thought' }, 'length'), usage: null },
    { choices: [], usage },
  ])
  const reasoning = { kind: 'reasoning', text: 'Thought', field: 'reasoning_content' }
  t.same(passed, [reasoning, { kind: 'text', text: 'Text' }])
  t.same(answer.usage, usage)
  t.match(answer, { text: 'Text', reasoning, ending: [{ kind: 'finish', reason: 'length' }] })
  t.end()
})

t.test('passes all but the end of the answer', (t) => {
  const reader = new StepReader('mbr_1', outer)
  const event = { kind: 'text', text: 'says "tool_calls" and "usage":{' } as const
  t.equal(reader.push([event]), `${JSON.stringify(event)}\n`)
  t.equal(reader.start() + reader.heartbeat(), 'start\nheartbeat\n')
  t.equal(reader.end(), '')
  t.equal(reader.finish().text, 'says "tool_calls" and "usage":{')
  t.end()
})

t.test('takes the searches out of a whole completion', (t) => {
  const completion = {
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: 'Text',
          tool_calls: [
            { id: 'c1', function: { name: 'web_search', arguments: '{}' } },
            { id: 'c2', function: { name: 'look', arguments: '{}' } },
          ],
        },
        finish_reason: 'tool_calls',
      },
    ],
    usage: { prompt_tokens: 5 },
  }
  const reader = new StepReader('mbr_1', outer)
  t.equal(reader.whole(readAnswerEvents(completion)), '')
  const answer = reader.finish()
  t.match(answer, { text: 'Text', hasOtherCalls: true, usage: { prompt_tokens: 5 } })
  t.same(answer.events, [
    { kind: 'text', text: 'Text' },
    { kind: 'call', index: 1, id: 'c2', name: 'look', arguments: '{}' },
  ])
  t.same(answer.ending, [{ kind: 'finish', reason: 'tool_calls' }])
  t.end()
})

t.test('adds the usage of several calls', (t) => {
  const first = { prompt_tokens: 5, completion_tokens: 2, prompt_tokens_details: { cached_tokens: 1 } }
  const second = { prompt_tokens: 9, completion_tokens: 3, prompt_tokens_details: { cached_tokens: 4 }, extra: 1 }
  t.same(addUsage(first, second), {
    prompt_tokens: 14,
    completion_tokens: 5,
    prompt_tokens_details: { cached_tokens: 5 },
    extra: 1,
  })
  t.same(addUsage(null, first), first)
  t.same(addUsage(first, null), first)
  t.end()
})
