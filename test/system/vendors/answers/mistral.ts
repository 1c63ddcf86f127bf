/** Mistral: content in parts, calls without type and index, and errors beside the body. */
import { call, finish, reasoning, text, toCompletion } from '../vendor.ts'
import type { Vendor } from '../vendor.ts'

const head = { id: 'a4e29c5b82f9', created: 1_769_088_912, model: 'magistral-medium-2507' }
const event = (delta: object, reason: string | null = null, usage?: object) => ({
  ...head,
  object: 'chat.completion.chunk',
  choices: [{ index: 0, delta, finish_reason: reason }],
  ...(usage === undefined ? {} : { usage }),
})
const thinking = (value: string) => ({ type: 'thinking', thinking: [{ type: 'text', text: value }] })
const usage = { prompt_tokens: 124, total_tokens: 170, completion_tokens: 46 }
const cachedUsage = { ...usage, prompt_tokens_details: { cached_tokens: 100 } }
const weather = { id: 'gSIMJiOkT', function: { name: 'weather', arguments: '{"location": "Oslo"}' } }
const clock = { id: 'hTJNKjPlU', function: { name: 'clock', arguments: { zone: 'CET' } } }
const refusal = (message: string, type: string, code: string | null, status: number) => ({
  object: 'error',
  message,
  type,
  param: null,
  code,
  raw_status_code: status,
})

export const mistral: Vendor = {
  name: 'Mistral',
  sources: [
    'vercel/ai, packages/mistral/src/__fixtures__',
    'the types ChatCompletionChoiceFinishReason and Arguments of mistralai/client-python',
    'raycast/extensions 31107, agent0ai/agent-zero 539, BerriAI/litellm 16272',
  ],
  answers: [
    {
      name: 'text after thinking',
      stream: [
        event({ role: 'assistant', content: [thinking('The user asks')] }),
        event({ content: [thinking(' for 2+2.')] }),
        event({ content: [{ type: 'text', text: '2 + 2 = 4' }] }),
        event({ content: '' }, 'stop', usage),
      ],
      whole: toCompletion(
        head,
        { content: [thinking('The user asks for 2+2.'), { type: 'text', text: '2 + 2 = 4' }] },
        'stop',
        usage,
      ),
      events: [reasoning('The user asks for 2+2.'), text('2 + 2 = 4'), finish('stop')],
      usage: { inputTokens: 124, outputTokens: 46 },
    },
    {
      name: 'two calls',
      stream: [
        event({ role: 'assistant', content: '' }),
        event({ content: null, tool_calls: [weather, clock] }, 'tool_calls', cachedUsage),
      ],
      whole: toCompletion(head, { tool_calls: [weather, clock] }, 'tool_calls', cachedUsage),
      events: [
        call(0, 'gSIMJiOkT', 'weather', '{"location": "Oslo"}'),
        call(1, 'hTJNKjPlU', 'clock', '{"zone":"CET"}'),
        finish('tool_calls'),
      ],
      usage: { inputTokens: 124, outputTokens: 46, cachedInputTokens: 100 },
    },
    {
      name: 'an answer cut off at the context',
      stream: [event({ role: 'assistant', content: '2 + ' }), event({ content: '' }, 'model_length', usage)],
      whole: toCompletion(head, { content: '2 + ' }, 'model_length', usage),
      events: [text('2 + '), finish('length')],
      usage: { inputTokens: 124, outputTokens: 46 },
    },
  ],
  failures: [
    { name: 'a wrong key', status: 401, body: { detail: 'Unauthorized' }, code: 'upstream_not_configured' },
    {
      name: 'too many requests',
      status: 429,
      body: refusal('Rate limit exceeded', 'rate_limited', '1300', 429),
      code: 'upstream_rate_limited',
    },
    {
      name: 'an unknown model',
      status: 400,
      body: refusal('Invalid model: codestral-mamba-latest', 'invalid_model', '1500', 400),
      code: 'upstream_model_unavailable',
    },
    {
      name: 'a prompt that is too long',
      status: 400,
      body: refusal(
        'Prompt contains 40046 tokens and 0 draft tokens, too large for model with 32768 maximum context length',
        'invalid_request_error',
        '3051',
        400,
      ),
      code: 'context_length_exceeded',
    },
    {
      name: 'invalid parameters',
      status: 422,
      body: {
        detail: [{ type: 'less_than_equal', loc: ['body', 'temperature'], msg: 'Input should be less than or equal to 1.5' }],
      },
      code: 'invalid_request',
    },
    {
      name: 'a failure within the stream',
      stream: [event({ role: 'assistant', content: '2' }), event({ content: '' }, 'error', usage)],
      code: 'upstream_error',
    },
  ],
}
