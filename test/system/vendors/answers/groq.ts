/** Groq: reasoning in `reasoning`, the usage twice in the last event, and failures of tool calls as errors. */
import { call, finish, openAiError, reasoning, text, toChunks, toCompletion } from '../vendor.ts'
import type { Vendor } from '../vendor.ts'

const head = {
  id: 'chatcmpl-3556c041',
  created: 1_770_770_846,
  model: 'qwen/qwen3-32b',
  system_fingerprint: 'fp_78ac7f3229',
}
const usage = {
  queue_time: 0.17,
  prompt_tokens: 210,
  prompt_time: 0.01,
  completion_tokens: 15,
  completion_time: 0.04,
  total_tokens: 225,
  total_time: 0.05,
}
const start = (content: string | null) => ({
  ...toChunks(head, [{ role: 'assistant', content }])[0],
  x_groq: { id: 'req_01kh52', seed: 872_656_815 },
})
const end = (reason: string) => ({
  ...head,
  object: 'chat.completion.chunk',
  choices: [{ index: 0, delta: {}, logprobs: null, finish_reason: reason }],
  x_groq: { id: 'req_01kh52', usage },
  usage,
})
const whole = (message: object, reason: string) => ({
  ...toCompletion(head, message, reason, usage),
  usage_breakdown: null,
  x_groq: { id: 'req_01kh52', seed: 1_186_842_417 },
  service_tier: 'on_demand',
})
const weather = { id: 'tk85n1k4m', type: 'function', function: { name: 'weather', arguments: '{}' } }
const charged = { inputTokens: 210, outputTokens: 15 }
const limited = (message: string) => openAiError(message, 'tokens', 'rate_limit_exceeded')
const invalid = (message: string, code: string) => openAiError(message, 'invalid_request_error', code)

export const groq: Vendor = {
  name: 'Groq',
  sources: [
    'vercel/ai, packages/groq/src/__fixtures__',
    'HunorLaczko/ha-groq-cloud-api 20 and 27, anomalyco/opencode 1018, crewAIInc/crewAI 783, openinterpreter/openinterpreter 408',
  ],
  answers: [
    {
      name: 'text after reasoning',
      stream: [
        start(''),
        ...toChunks(head, [{ reasoning: 'Okay' }, { reasoning: ', count.' }, { content: 'It is 3' }, { content: '.' }]),
        end('stop'),
      ],
      whole: whole({ content: 'It is 3.', reasoning: 'Okay, count.' }, 'stop'),
      events: [reasoning('Okay, count.', 'reasoning'), text('It is 3.'), finish('stop')],
      usage: charged,
    },
    {
      name: 'a call',
      stream: [start(null), ...toChunks(head, [{ tool_calls: [{ ...weather, index: 0 }] }]), end('tool_calls')],
      whole: whole({ tool_calls: [weather] }, 'tool_calls'),
      events: [call(0, 'tk85n1k4m', 'weather', '{}'), finish('tool_calls')],
      usage: charged,
    },
  ],
  failures: [
    { name: 'a wrong key', status: 401, body: invalid('Invalid API Key', 'invalid_api_key'), code: 'upstream_not_configured' },
    {
      name: 'a restricted organization',
      status: 400,
      body: invalid('Organization has been restricted. Please reach out to support.', 'organization_restricted'),
      code: 'upstream_not_configured',
    },
    {
      name: 'too many tokens in a minute',
      status: 429,
      body: limited('Rate limit reached for model `llama` on tokens per minute (TPM): Limit 6000. Please try again in 6.78s.'),
      code: 'upstream_rate_limited',
    },
    {
      name: 'a request above the limit of a minute',
      status: 413,
      body: limited('Request too large for model `llama` on tokens per minute (TPM): Limit 6000, Requested 12328.'),
      code: 'context_length_exceeded',
    },
    {
      name: 'a malformed call',
      status: 400,
      body: invalid(
        "Failed to call a function. Please adjust your prompt. See 'failed_generation' for more details.",
        'tool_use_failed',
      ),
      code: 'invalid_request',
    },
    {
      name: 'a malformed call in the stream',
      stream: [start(''), { ...invalid('tool call validation failed', 'tool_use_failed'), status_code: 400 }],
      code: 'invalid_request',
    },
  ],
}
