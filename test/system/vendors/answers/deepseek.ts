/** DeepSeek: its own names for cached tokens, the usage in the last choice's event, and an error type for every code. */
import { call, finish, openAiError, reasoning, text, toChunks, toCompletion } from '../vendor.ts'
import type { Vendor } from '../vendor.ts'

const head = {
  id: 'cac7192e-e619',
  created: 1_764_661_832,
  model: 'deepseek-reasoner',
  system_fingerprint: 'fp_eaab8d114b_prod0820_fp8_kvcache',
}
const usage = {
  prompt_tokens: 339,
  completion_tokens: 83,
  total_tokens: 422,
  prompt_tokens_details: { cached_tokens: 320 },
  completion_tokens_details: { reasoning_tokens: 39 },
  prompt_cache_hit_tokens: 320,
  prompt_cache_miss_tokens: 19,
}
const end = (reason: string) => ({
  ...head,
  object: 'chat.completion.chunk',
  choices: [{ index: 0, delta: { content: '', reasoning_content: null }, logprobs: null, finish_reason: reason }],
  usage,
})
const chunks = (deltas: readonly object[]) => toChunks(head, deltas).map((chunk) => ({ ...chunk, usage: null }))
const piece = (args: string) => ({ tool_calls: [{ index: 0, function: { arguments: args } }] })
const opened = (args: string) => ({
  index: 0,
  id: 'call_00_9V0vrf86',
  type: 'function',
  function: { name: 'weather', arguments: args },
})
const charged = { inputTokens: 339, outputTokens: 83, cachedInputTokens: 320 }
const invalid = (message: string) => openAiError(message, 'invalid_request_error', 'invalid_request_error')

export const deepseek: Vendor = {
  name: 'DeepSeek',
  sources: [
    'vercel/ai, packages/deepseek/src/chat/__fixtures__',
    'https://api-docs.deepseek.com/quick_start/error_codes',
    'evalstate/fast-agent 621, deepseek-ai/DeepSeek-V2 30',
  ],
  answers: [
    {
      name: 'text after reasoning',
      stream: [
        ...chunks([
          { role: 'assistant', content: null, reasoning_content: '' },
          { content: null, reasoning_content: 'We' },
          { content: null, reasoning_content: ' count.' },
          { content: 'Three', reasoning_content: null },
          { content: '.', reasoning_content: null },
        ]),
        end('stop'),
      ],
      whole: toCompletion(head, { content: 'Three.', reasoning_content: 'We count.' }, 'stop', usage),
      events: [reasoning('We count.'), text('Three.'), finish('stop')],
      usage: charged,
    },
    {
      name: 'a call after reasoning',
      stream: [
        ...chunks([
          { role: 'assistant', content: null, reasoning_content: '' },
          { content: null, reasoning_content: 'Look.' },
          { tool_calls: [opened('')] },
          piece('{"location": '),
          piece('"Oslo"}'),
        ]),
        end('tool_calls'),
      ],
      whole: toCompletion(
        head,
        { content: '', reasoning_content: 'Look.', tool_calls: [opened('{"location": "Oslo"}')] },
        'tool_calls',
        usage,
      ),
      events: [reasoning('Look.'), call(0, 'call_00_9V0vrf86', 'weather', '{"location": "Oslo"}'), finish('tool_calls')],
      usage: charged,
    },
  ],
  failures: [
    {
      name: 'a wrong key',
      status: 401,
      body: openAiError(
        'Authentication Fails, Your api key: ****1234 is invalid',
        'authentication_error',
        'invalid_request_error',
      ),
      code: 'upstream_not_configured',
    },
    {
      name: 'no balance',
      status: 402,
      body: openAiError('Insufficient Balance', 'unknown_error', 'invalid_request_error'),
      code: 'upstream_not_configured',
    },
    {
      name: 'a prompt that is too long',
      status: 400,
      body: invalid(
        "This model's maximum context length is 131072 tokens. However, you requested 131134 tokens (122942 in the messages).",
      ),
      code: 'context_length_exceeded',
    },
    { name: 'a refused prompt', status: 400, body: { detail: 'Content Exists Risk' }, code: 'content_filter' },
    { name: 'invalid parameters', status: 422, body: invalid('Invalid parameters: temperature'), code: 'invalid_request' },
    {
      name: 'too many requests',
      status: 429,
      body: openAiError('Rate limit reached', 'rate_limit'),
      code: 'upstream_rate_limited',
    },
    { name: 'an overloaded server', status: 503, body: 'Service is too busy', code: 'upstream_error' },
  ],
}
