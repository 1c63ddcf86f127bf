/** xAI: reasoning beside the completion, no finish reason in events but the last, and errors in two strings. */
import { call, finish, reasoning, text, toCompletion } from '../vendor.ts'
import type { Vendor } from '../vendor.ts'

const head = { id: '7327b9f5', created: 1_770_774_058, model: 'grok-3-mini', system_fingerprint: 'fp_2a885414fb' }
const event = (choice: object) => ({ ...head, object: 'chat.completion.chunk', choices: [{ index: 0, ...choice }] })
const report = (completion: number, thought: number) => ({
  prompt_tokens: 120,
  completion_tokens: completion,
  total_tokens: 120 + completion + thought,
  prompt_tokens_details: { text_tokens: 120, audio_tokens: 0, image_tokens: 0, cached_tokens: 110 },
  completion_tokens_details: {
    reasoning_tokens: thought,
    audio_tokens: 0,
    accepted_prediction_tokens: 0,
    rejected_prediction_tokens: 0,
  },
  num_sources_used: 0,
  cost_in_usd_ticks: 1_466_250,
})
const last = (usage: object) => ({ ...head, object: 'chat.completion.chunk', choices: [], usage })
const weather = { id: 'call_55117580', function: { name: 'weather', arguments: '{"location":"Oslo"}' }, type: 'function' }
const refusal = (code: string, error: string) => ({ code, error })

export const xai: Vendor = {
  name: 'xAI',
  sources: [
    'vercel/ai, packages/xai/src/__fixtures__',
    'https://docs.cloud.google.com/vertex-ai/generative-ai/docs/partner-models/grok/capabilities/reasoning',
    'continuedev/continue 10161 and 12670, griptape-ai/griptape-nodes-engine 1079, iniwap/AIWriteX 26',
    'vercel/ai, packages/xai/src/xai-error.ts',
  ],
  answers: [
    {
      name: 'text after reasoning',
      stream: [
        event({ delta: { reasoning_content: 'First', role: 'assistant' } }),
        event({ delta: { reasoning_content: ', greet.' } }),
        event({ delta: { content: 'Hello' } }),
        event({ delta: { content: ' there.' } }),
        event({ delta: {}, finish_reason: 'stop' }),
        last(report(3, 290)),
      ],
      whole: toCompletion(
        head,
        { content: 'Hello there.', reasoning_content: 'First, greet.', refusal: null },
        'stop',
        report(3, 290),
      ),
      events: [reasoning('First, greet.'), text('Hello there.'), finish('stop')],
      usage: { inputTokens: 120, outputTokens: 293, cachedInputTokens: 110 },
    },
    {
      name: 'a call after reasoning',
      stream: [
        event({ delta: { reasoning_content: 'Look it up.', role: 'assistant' } }),
        event({ delta: { tool_calls: [{ ...weather, index: 0 }] } }),
        event({ delta: {}, finish_reason: 'tool_calls' }),
        last(report(26, 196)),
      ],
      whole: toCompletion(
        head,
        { content: '', reasoning_content: 'Look it up.', tool_calls: [weather], refusal: null },
        'tool_calls',
        report(26, 196),
      ),
      events: [reasoning('Look it up.'), call(0, 'call_55117580', 'weather', '{"location":"Oslo"}'), finish('tool_calls')],
      usage: { inputTokens: 120, outputTokens: 222, cachedInputTokens: 110 },
    },
  ],
  failures: [
    {
      name: 'a wrong key',
      status: 400,
      body: refusal('Client specified an invalid argument', 'Incorrect API key provided: gs***tF. You can obtain an API key.'),
      code: 'upstream_not_configured',
    },
    {
      name: 'no credits',
      status: 403,
      body: refusal(
        'The caller does not have permission to execute the specified operation',
        "Your newly created team doesn't have any credits or licenses yet. You can purchase those on https://console.x.ai.",
      ),
      code: 'upstream_not_configured',
    },
    {
      name: 'a model that is gone',
      status: 404,
      body: refusal('Some requested entity was not found', 'The model grok-beta was deprecated and is no longer accessible.'),
      code: 'upstream_model_unavailable',
    },
    {
      name: 'a wrong address',
      status: 404,
      body: refusal('Some requested entity was not found', 'No handler found on route. Please double check your URL.'),
      code: 'upstream_not_configured',
    },
    {
      name: 'a prompt that is too long',
      status: 400,
      body: refusal(
        'Client specified an invalid argument',
        "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
      ),
      code: 'context_length_exceeded',
    },
    { name: 'too many requests', status: 429, body: { error: 'Too many requests' }, code: 'upstream_rate_limited' },
  ],
}
