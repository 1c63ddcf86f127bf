/** OpenRouter: the role in every piece, reasoning twice, the provider's finish reason, and errors beside choices. */
import { call, finish, reasoning, text, toChunks, toCompletion } from '../vendor.ts'
import type { Vendor } from '../vendor.ts'

const head = { id: 'gen-1739458867-kUKF', provider: 'OpenAI', model: 'openai/gpt-4o-mini', created: 1_739_458_867 }
const usage = {
  prompt_tokens: 194,
  completion_tokens: 22,
  total_tokens: 216,
  cost: 0.000_95,
  is_byok: false,
  prompt_tokens_details: { cached_tokens: 128, audio_tokens: 0 },
  completion_tokens_details: { reasoning_tokens: 10 },
  cost_details: { upstream_inference_cost: null },
}
const thought = (value: string) => ({
  role: 'assistant',
  content: '',
  reasoning: value,
  reasoning_details: [{ type: 'reasoning.text', text: value, format: 'unknown', index: 0 }],
})
const choice = (delta: object, reason: string | null, native: string | null) => ({
  ...head,
  object: 'chat.completion.chunk',
  choices: [{ index: 0, delta, finish_reason: reason, native_finish_reason: native, logprobs: null }],
})
const last = {
  ...head,
  object: 'chat.completion.chunk',
  choices: [
    { index: 0, delta: { role: 'assistant', content: '' }, finish_reason: null, native_finish_reason: null, logprobs: null },
  ],
  usage,
}
const opened = (args: string) => ({ id: 'call_jA1', index: 0, type: 'function', function: { name: 'add', arguments: args } })
const charged = { inputTokens: 194, outputTokens: 22, cachedInputTokens: 128 }
const refusal = (code: number, message: string, metadata?: object) => ({
  error: { message, code, ...(metadata === undefined ? {} : { metadata }) },
  user_id: 'user_2x',
})

export const openrouter: Vendor = {
  name: 'OpenRouter',
  sources: [
    'https://openrouter.ai/docs/api/reference/errors-and-debugging and https://openrouter.ai/docs/api/reference/streaming',
    'openai/openai-go 227, damianvtran/local-operator 223, diegosouzapw/OmniRoute 8210, continuedev/continue 10962',
  ],
  answers: [
    {
      name: 'text after reasoning, with the usage beside an empty piece',
      stream: [
        ...toChunks(head, [
          thought('Add'),
          thought(' them.'),
          { role: 'assistant', content: 'It is' },
          { role: 'assistant', content: ' 42.' },
        ]),
        choice({ role: 'assistant', content: '' }, 'stop', 'completed'),
        last,
      ],
      whole: toCompletion(head, { ...thought('Add them.'), content: 'It is 42.', refusal: null }, 'stop', usage),
      events: [reasoning('Add them.', 'reasoning'), text('It is 42.'), finish('stop')],
      usage: charged,
    },
    {
      name: 'a call',
      stream: [
        ...toChunks(head, [
          { role: 'assistant', content: null, tool_calls: [opened('')] },
          { role: 'assistant', content: null, tool_calls: [{ index: 0, type: 'function', function: { arguments: '{"a": 15' } }] },
          { role: 'assistant', content: null, tool_calls: [{ index: 0, type: 'function', function: { arguments: '}' } }] },
        ]),
        choice({ role: 'assistant', content: '' }, 'tool_calls', 'tool_use'),
        last,
      ],
      whole: toCompletion(head, { content: '', tool_calls: [opened('{"a": 15}')] }, 'tool_calls', usage),
      events: [call(0, 'call_jA1', 'add', '{"a": 15}'), finish('tool_calls')],
      usage: charged,
    },
  ],
  failures: [
    { name: 'a wrong key', status: 401, body: refusal(401, 'No auth credentials found'), code: 'upstream_not_configured' },
    {
      name: 'a prompt above the credits',
      status: 402,
      body: refusal(402, 'Prompt tokens limit exceeded: 69120 > 36608. To increase, upgrade to a paid account'),
      code: 'upstream_not_configured',
    },
    {
      name: 'a refused prompt',
      status: 403,
      body: refusal(403, 'Input was flagged', {
        reasons: ['violence'],
        flagged_input: 'a',
        provider_name: 'OpenAI',
        model_slug: 'm',
      }),
      code: 'content_filter',
    },
    {
      name: 'a limit of the provider',
      status: 429,
      body: refusal(429, 'Provider returned error', { raw: 'm is temporarily rate-limited upstream', provider_name: 'Chutes' }),
      code: 'upstream_rate_limited',
    },
    {
      name: 'no provider',
      status: 503,
      body: refusal(503, 'No provider meets your routing requirements'),
      code: 'upstream_error',
    },
    {
      name: 'a failure within the stream, beside a choice',
      stream: [
        ...toChunks(head, [{ role: 'assistant', content: 'It' }]),
        {
          ...choice({ content: '' }, 'error', null),
          error: { code: 'server_error', message: 'Provider disconnected unexpectedly' },
        },
      ],
      code: 'upstream_error',
    },
    {
      name: 'a limit within the stream, without choices',
      stream: [
        ...toChunks(head, [{ role: 'assistant', content: '' }]),
        { ...head, choices: [], error: { code: 429, message: 'Worker local total request limit reached (33/32)' } },
      ],
      code: 'upstream_rate_limited',
    },
    {
      name: 'a failure in a whole answer',
      whole: { ...head, choices: [{ index: 0, error: { code: 502, message: 'Upstream error' }, message: { content: '' } }] },
      code: 'upstream_error',
    },
  ],
}
