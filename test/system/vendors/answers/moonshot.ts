/** Moonshot: the usage in a choice, and cached tokens beside the prompt's. */
import { call, finish, reasoning, text, toChunks, toCompletion } from '../vendor.ts'
import type { Vendor } from '../vendor.ts'

const head = { id: 'chatcmpl-6a8de8b0', created: 1_787_685_040, model: 'kimi-k2.5', system_fingerprint: 'fpv0_1c3effa9' }
const usage = {
  prompt_tokens: 20,
  completion_tokens: 30,
  total_tokens: 50,
  cached_tokens: 10,
  completion_tokens_details: { reasoning_tokens: 22 },
}
const end = (delta: object, reason: string) => ({
  ...head,
  object: 'chat.completion.chunk',
  choices: [{ index: 0, delta, finish_reason: reason, usage }],
})
const opened = (args: string) => ({ id: 'call_abc123', type: 'function', function: { name: 'get_weather', arguments: args } })
const charged = { inputTokens: 20, outputTokens: 30, cachedInputTokens: 10 }
const refusal = (message: string, type: string) => ({ error: { message, type } })

export const moonshot: Vendor = {
  name: 'Moonshot',
  sources: [
    'vercel/ai, packages/moonshotai/src/__fixtures__',
    'https://platform.kimi.com/docs/api/errors',
    'MoonshotAI/Kimi-K2 5, MoonshotAI/kimi-cli 901 and 2209',
  ],
  answers: [
    {
      name: 'text after reasoning',
      stream: [
        ...toChunks(head, [
          { role: 'assistant', content: '' },
          { reasoning_content: '' },
          { reasoning_content: 'Count' },
          { reasoning_content: ' them.' },
          { content: 'There are' },
          { content: ' three.' },
        ]),
        end({}, 'stop'),
      ],
      whole: toCompletion(head, { content: 'There are three.', reasoning_content: 'Count them.' }, 'stop', usage),
      events: [reasoning('Count them.'), text('There are three.'), finish('stop')],
      usage: charged,
    },
    {
      name: 'a call',
      stream: [
        ...toChunks(head, [{ role: 'assistant', tool_calls: [{ index: 0, ...opened('') }] }]),
        end({ tool_calls: [{ index: 0, function: { arguments: '{"city":"Oslo"}' } }] }, 'tool_calls'),
      ],
      whole: toCompletion(head, { content: null, tool_calls: [opened('{"city":"Oslo"}')] }, 'tool_calls', usage),
      events: [call(0, 'call_abc123', 'get_weather', '{"city":"Oslo"}'), finish('tool_calls')],
      usage: charged,
    },
  ],
  failures: [
    {
      name: 'a wrong key',
      status: 401,
      body: refusal('Incorrect API key provided', 'incorrect_api_key_error'),
      code: 'upstream_not_configured',
    },
    {
      name: 'no balance',
      status: 403,
      body: refusal(
        'Your account is not active, organization exceeded current quota, please check your plan and billing details',
        'exceeded_current_quota_error',
      ),
      code: 'upstream_not_configured',
    },
    {
      name: 'a refused prompt',
      status: 400,
      body: refusal('The request was rejected because it was considered high risk', 'content_filter'),
      code: 'content_filter',
    },
    {
      name: 'a prompt that is too long',
      status: 400,
      body: refusal('Invalid request: Your request exceeded model token limit: 262144', 'invalid_request_error'),
      code: 'context_length_exceeded',
    },
    {
      name: 'a prompt that is too long, in other words',
      status: 400,
      body: refusal('Input token length too long', 'invalid_request_error'),
      code: 'context_length_exceeded',
    },
    {
      name: 'too many requests',
      status: 429,
      body: refusal(
        'Your account request reached organization max RPM: 20, please try again after 1 seconds',
        'rate_limit_reached_error',
      ),
      code: 'upstream_rate_limited',
    },
    {
      name: 'an overloaded engine',
      status: 429,
      body: refusal('The engine is currently overloaded, please try again later', 'engine_overloaded_error'),
      code: 'upstream_rate_limited',
    },
    {
      name: 'a failure within the stream',
      stream: [
        ...toChunks(head, [{ role: 'assistant', content: 'Part' }]),
        { error: { message: 'Stream failed', type: 'server_error', code: 'stream_failure' } },
      ],
      code: 'upstream_error',
    },
  ],
}
