/** Qwen at Alibaba's Model Studio: empty pieces with null usage, and errors named after its own codes. */
import { call, finish, openAiError, reasoning, text, toChunks, toCompletion } from '../vendor.ts'
import type { Vendor } from '../vendor.ts'

const head = { id: 'chatcmpl-d2d6aab7', created: 1_770_764_906, model: 'qwen3-max', system_fingerprint: null }
const usage = {
  prompt_tokens: 295,
  completion_tokens: 22,
  total_tokens: 317,
  completion_tokens_details: { reasoning_tokens: 12 },
  prompt_tokens_details: { cached_tokens: 256 },
}
const chunks = (deltas: readonly object[]) => toChunks(head, deltas).map((chunk) => ({ ...chunk, usage: null }))
const end = (reason: string) => [
  {
    ...head,
    object: 'chat.completion.chunk',
    choices: [{ finish_reason: reason, delta: { content: '' }, index: 0, logprobs: null }],
    usage: null,
  },
  { ...head, object: 'chat.completion.chunk', choices: [], usage },
]
const opened = (args: string) => ({
  function: { arguments: args, name: 'weather' },
  id: 'call_962bfd2ab8f54b89a1161356',
  index: 0,
  type: 'function',
})
const charged = { inputTokens: 295, outputTokens: 22, cachedInputTokens: 256 }

export const qwen: Vendor = {
  name: 'Qwen',
  sources: [
    'vercel/ai, packages/alibaba/src/__fixtures__',
    'https://www.alibabacloud.com/help/en/model-studio/error-code',
    'QwenLM/qwen-code 98, Samueli924/chaoxing 539, anomalyco/opencode 45834',
  ],
  answers: [
    {
      name: 'text after reasoning',
      stream: [
        ...chunks([
          { content: null, role: 'assistant', reasoning_content: '' },
          { content: null, reasoning_content: 'Count' },
          { content: null, reasoning_content: ' the letters.' },
          { content: 'Three', reasoning_content: null },
          { content: ' of them.', reasoning_content: null },
        ]),
        ...end('stop'),
      ],
      whole: toCompletion(head, { content: 'Three of them.', reasoning_content: 'Count the letters.' }, 'stop', usage),
      events: [reasoning('Count the letters.'), text('Three of them.'), finish('stop')],
      usage: charged,
    },
    {
      name: 'a call whose later pieces have an empty id',
      stream: [
        ...chunks([
          { content: null, role: 'assistant', tool_calls: [opened('')] },
          { content: null, tool_calls: [{ function: { arguments: '{"location": ' }, id: '', index: 0, type: 'function' }] },
          { content: null, tool_calls: [{ function: { arguments: '"Oslo"}' }, id: '', index: 0, type: 'function' }] },
        ]),
        ...end('tool_calls'),
      ],
      whole: toCompletion(head, { content: '', tool_calls: [opened('{"location": "Oslo"}')] }, 'tool_calls', usage),
      events: [call(0, 'call_962bfd2ab8f54b89a1161356', 'weather', '{"location": "Oslo"}'), finish('tool_calls')],
      usage: charged,
    },
  ],
  failures: [
    {
      name: 'a wrong key',
      status: 401,
      body: openAiError('Incorrect API key provided.', 'invalid_request_error', 'invalid_api_key'),
      code: 'upstream_not_configured',
    },
    {
      name: 'an overdue payment',
      status: 400,
      body: openAiError('Access denied, please make sure your account is in good standing.', 'Arrearage', 'Arrearage'),
      code: 'upstream_not_configured',
    },
    {
      name: 'a refused prompt',
      status: 400,
      body: openAiError('Input data may contain inappropriate content.', 'data_inspection_failed', 'data_inspection_failed'),
      code: 'content_filter',
    },
    {
      name: 'a refused answer within the stream',
      stream: [
        ...chunks([{ content: 'Three', role: 'assistant' }]),
        openAiError('Output data may contain inappropriate content.', 'data_inspection_failed', 'data_inspection_failed'),
      ],
      code: 'content_filter',
    },
    {
      name: 'a prompt that is too long',
      status: 400,
      body: openAiError(
        '<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 204800]',
        'invalid_request_error',
        'invalid_parameter_error',
      ),
      code: 'context_length_exceeded',
    },
    {
      name: 'too many requests',
      status: 429,
      body: openAiError('You have exceeded your current request limit.', 'limit_requests', 'limit_requests'),
      code: 'upstream_rate_limited',
    },
    {
      name: 'an unknown model',
      status: 404,
      body: openAiError(
        'The model `qwen-x` does not exist or you do not have access to it.',
        'invalid_request_error',
        'model_not_found',
      ),
      code: 'upstream_model_unavailable',
    },
  ],
}
