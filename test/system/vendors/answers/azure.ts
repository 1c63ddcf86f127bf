/** Azure OpenAI: the verdicts of its filter around the answer, pieces without a delta, and errors with an inner error. */
import { call, finish, text, toChunks, toCompletion } from '../vendor.ts'
import type { Vendor } from '../vendor.ts'

const head = { id: 'chatcmpl-AnhIt2', created: 1_736_407_895, model: 'gpt-4o-mini-2024-07-18', system_fingerprint: 'fp_5154' }
const safe = { hate: { filtered: false, severity: 'safe' }, violence: { filtered: false, severity: 'safe' } }
const details = { audio_tokens: 0, cached_tokens: 64 }
const outputDetails = { accepted_prediction_tokens: 0, audio_tokens: 0, reasoning_tokens: 20, rejected_prediction_tokens: 0 }
const usage = {
  prompt_tokens: 120,
  completion_tokens: 30,
  total_tokens: 150,
  prompt_tokens_details: details,
  completion_tokens_details: outputDetails,
}
const charged = { inputTokens: 120, outputTokens: 30, cachedInputTokens: 64 }
const empty = { id: '', object: '', created: 0, model: '' }
const prompt = { ...empty, choices: [], prompt_filter_results: [{ prompt_index: 0, content_filter_results: safe }] }
const offsets = { check_offset: 4_522, start_offset: 4_522, end_offset: 4_686 }
/** What the asynchronous filter adds; it has no delta. */
const verdict = {
  ...empty,
  choices: [{ index: 0, finish_reason: null, content_filter_results: safe, content_filter_offsets: offsets }],
}
const end = (reason: string) => [
  {
    ...head,
    object: 'chat.completion.chunk',
    choices: [{ index: 0, delta: {}, finish_reason: reason, content_filter_results: {}, logprobs: null }],
  },
  { ...head, object: 'chat.completion.chunk', choices: [], usage },
]
const filtered = (message: object, reason: string) => ({
  ...toCompletion(head, { refusal: null, annotations: [], ...message }, reason, usage),
  prompt_filter_results: prompt.prompt_filter_results,
})
const weather = { id: 'call_Ab1', type: 'function', function: { name: 'weather', arguments: '{"city":"Oslo"}' } }
const refusal = (code: string, message: string) => ({ error: { code, message } })

export const azure: Vendor = {
  name: 'Azure OpenAI',
  sources: [
    'https://learn.microsoft.com/azure/ai-foundry/openai/concepts/content-filter and https://learn.microsoft.com/azure/ai-foundry/openai/concepts/content-streaming',
    'openai/openai-python 1677, langchain-ai/langchain 18977, aallam/openai-kotlin 340, langchain4j/langchain4j 2385, microsoft/azurechat 351',
  ],
  answers: [
    {
      name: 'text with the verdicts of the filter',
      stream: [
        prompt,
        ...toChunks(head, [{ role: 'assistant', content: '', refusal: null }, { content: 'In 3' }, { content: ' months.' }]),
        verdict,
        ...end('stop'),
        verdict,
      ],
      whole: filtered({ content: 'In 3 months.' }, 'stop'),
      events: [text('In 3 months.'), finish('stop')],
      usage: charged,
    },
    {
      name: 'a call',
      stream: [
        prompt,
        ...toChunks(head, [
          {
            role: 'assistant',
            content: null,
            tool_calls: [{ index: 0, ...weather, function: { name: 'weather', arguments: '' } }],
          },
          { tool_calls: [{ index: 0, function: { arguments: '{"city":' } }] },
          { tool_calls: [{ index: 0, function: { arguments: '"Oslo"}' } }] },
        ]),
        ...end('tool_calls'),
      ],
      whole: filtered({ content: null, tool_calls: [weather] }, 'tool_calls'),
      events: [call(0, 'call_Ab1', 'weather', '{"city":"Oslo"}'), finish('tool_calls')],
      usage: charged,
    },
  ],
  failures: [
    {
      name: 'a wrong key',
      status: 401,
      body: refusal('401', 'Access denied due to invalid subscription key or wrong API endpoint.'),
      code: 'upstream_not_configured',
    },
    {
      name: 'no deployment',
      status: 404,
      body: refusal('DeploymentNotFound', 'The API deployment for this resource does not exist.'),
      code: 'upstream_model_unavailable',
    },
    {
      name: 'too many requests',
      status: 429,
      body: refusal(
        '429',
        'Requests to the ChatCompletions_Create Operation have exceeded call rate limit. Please retry after 6 seconds.',
      ),
      retryAfter: '6',
      code: 'upstream_rate_limited',
    },
    {
      name: 'a prompt that the filter blocks',
      status: 400,
      body: {
        error: {
          message: "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
          type: null,
          param: 'prompt',
          code: 'content_filter',
          status: 400,
          innererror: { code: 'ResponsibleAIPolicyViolation', content_filter_result: safe },
        },
      },
      code: 'content_filter',
    },
    {
      name: 'a prompt that is too long',
      status: 400,
      body: {
        error: {
          message: "This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens.",
          type: 'invalid_request_error',
          param: 'messages',
          code: 'context_length_exceeded',
        },
      },
      code: 'context_length_exceeded',
    },
    {
      name: 'an overload within the stream',
      stream: [prompt, refusal('NoCapacity', 'The system is currently experiencing high demand.')],
      code: 'upstream_error',
    },
  ],
}
