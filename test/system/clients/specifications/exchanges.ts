/** Requests of each API, and the model's answers to them: every kind of answer and event that the gateway sends. */
import { callSearch, isSearch, searchAnswer } from '../../tools/hosted-search/scripted-search.ts'
import type { ReceivedRequest, ScriptedAnswer } from '../support/scripted-model.ts'

type Body = Readonly<Record<string, unknown>>

export const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC'

const parameters = { type: 'object', properties: { location: { type: 'string' } }, required: ['location'] }
const description = 'The weather of a place.'

const weather: Readonly<Record<ApiName, Body>> = {
  responses: { type: 'function', name: 'get_weather', description, parameters },
  messages: { name: 'get_weather', description, input_schema: parameters },
}

export type ApiName = 'responses' | 'messages'

/** What one API calls its parts. */
export interface JudgedApi {
  readonly path: string
  readonly provider: 'openai' | 'anthropic'
  readonly schema: string
  readonly eventSchema: string
  readonly errorSchema: string
  /** A request without a question. */
  readonly base: Body
  /** The status for a model that does not exist. */
  readonly unknownModelStatus: number
  /** The field with the conversation, for a question with an image or without one. */
  ask(question: string, image?: boolean): Body
  readonly requests: Readonly<Record<string, Body>>
}

export const apis: Readonly<Record<ApiName, JudgedApi>> = {
  responses: {
    path: '/v1/responses',
    provider: 'openai',
    schema: 'Response',
    eventSchema: 'ResponseStreamEvent',
    errorSchema: 'ErrorResponse',
    base: { model: 'svc-2.1' },
    unknownModelStatus: 400,
    ask: (question, image = false) => ({
      input: image
        ? [
            {
              role: 'user',
              content: [
                { type: 'input_text', text: question },
                { type: 'input_image', image_url: `data:image/png;base64,${png}` },
              ],
            },
          ]
        : question,
    }),
    requests: {
      weather: { tools: [weather.responses] },
      patch: { tools: [{ type: 'custom', name: 'apply_patch', description: 'Edits.', format: { type: 'text' } }] },
      spawn: {
        tools: [{ type: 'namespace', name: 'agents', description: 'Agents.', tools: [{ ...weather.responses, name: 'spawn' }] }],
      },
      search: { tools: [{ type: 'web_search' }], include: ['web_search_call.action.sources'] },
      json: {
        text: { format: { type: 'json_schema', name: 'answer', strict: true, schema: { type: 'object' } }, verbosity: 'low' },
      },
      everything: {
        instructions: 'Be short.',
        temperature: 0.5,
        top_p: 0.9,
        max_output_tokens: 100,
        max_tool_calls: 3,
        metadata: { a: 'b' },
        tools: [weather.responses],
        tool_choice: 'auto',
        parallel_tool_calls: false,
        reasoning: { effort: 'low', summary: 'auto' },
        include: ['reasoning.encrypted_content'],
        prompt_cache_key: 'k',
        safety_identifier: 's',
        store: true,
        truncation: 'auto',
      },
    },
  },
  messages: {
    path: '/v1/messages',
    provider: 'anthropic',
    schema: 'Message',
    eventSchema: 'MessageStreamEvent',
    errorSchema: 'ErrorResponse',
    base: { model: 'svc-2.1', max_tokens: 500 },
    unknownModelStatus: 404,
    ask: (question, image = false) => ({
      messages: [
        {
          role: 'user',
          content: image
            ? [
                { type: 'text', text: question },
                { type: 'image', source: { type: 'base64', media_type: 'image/png', data: png } },
              ]
            : question,
        },
      ],
    }),
    requests: {
      weather: { tools: [weather.messages] },
      search: { tools: [{ type: 'web_search_20250305', name: 'web_search', max_uses: 3 }] },
      json: { output_config: { format: { type: 'json_schema', schema: { type: 'object' } } } },
      stop: { stop_sequences: ['END'] },
      everything: {
        system: [{ type: 'text', text: 'Be short.', cache_control: { type: 'ephemeral' } }],
        metadata: { user_id: 'u' },
        temperature: 0.5,
        top_p: 0.9,
        thinking: { type: 'enabled', budget_tokens: 1024 },
        tools: [weather.messages],
        tool_choice: { type: 'auto', disable_parallel_tool_use: true },
        output_config: { effort: 'low' },
      },
    },
  },
}

/** Questions that each API is asked, besides those for which it has a request of its own. */
export const commonQuestions = ['hello', 'much', 'filtered', 'weather and nothing else', 'image'] as const

/** The answer to a question, by its first word. */
export function answerQuestion(request: ReceivedRequest): ScriptedAnswer {
  if (isSearch(request)) return searchAnswer
  const { messages, tools = [] } = request
  const question = JSON.stringify(messages.findLast(({ role }) => role === 'user')?.content)
  const name = tools[0]?.function.name ?? ''
  const has = (word: string): boolean => question.includes(word)
  if (messages.at(-1)?.role === 'tool') return { reasoning: 'Found.', text: 'It is 3.99 [1].' }
  if (has('search')) return { text: 'I search.', calls: [callSearch('sqlite version')] }
  if (has('much')) return { text: 'Much and', finish: 'length' }
  if (has('filtered')) return { text: 'Half', finish: 'content_filter' }
  if (has('cut')) return { text: 'An answer that does not end at all.', cutAfter: 3 }
  if (has('json')) return { text: '{"a":1}' }
  if (has('stop')) return { text: 'Until here' }
  if (has('patch')) return { text: 'I edit.', calls: [{ id: 'call_p', name, arguments: '{"input":"*** Begin"}' }] }
  if (name !== '' && (has('weather') || has('spawn') || has('everything')))
    return {
      reasoning: 'A tool.',
      text: 'One moment.',
      calls: [
        { id: 'call_a', name, arguments: '{"location":"Paris"}' },
        { id: 'call_b', name, arguments: '{"location":"Rome"}' },
      ],
    }
  return { reasoning: 'Hm.', text: 'Hello.' }
}
