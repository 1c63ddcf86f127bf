/** vLLM: reasoning in `reasoning`, fields of tokens, a stop reason beside the finish reason, and numbered errors. */
import { call, finish, reasoning, text } from '../vendor.ts'
import type { Vendor } from '../vendor.ts'

const head = { id: 'chatcmpl-8d1c', created: 1_760_000_000, model: 'Qwen/Qwen3-8B' }
const usage = { prompt_tokens: 31, total_tokens: 51, completion_tokens: 20, prompt_tokens_details: { cached_tokens: 16 } }
const charged = { inputTokens: 31, outputTokens: 20, cachedInputTokens: 16 }
const chunk = (delta: object, reason: string | null = null) => ({
  ...head,
  object: 'chat.completion.chunk',
  choices: [{ index: 0, delta, logprobs: null, finish_reason: reason, stop_reason: null, token_ids: null }],
})
const first = { ...chunk({ role: 'assistant', content: '' }), prompt_token_ids: null }
const last = { ...head, object: 'chat.completion.chunk', choices: [], usage }
const whole = (message: object, reason: string) => ({
  ...head,
  object: 'chat.completion',
  choices: [
    {
      index: 0,
      message: {
        role: 'assistant',
        content: null,
        refusal: null,
        annotations: null,
        audio: null,
        function_call: null,
        reasoning: null,
        ...message,
      },
      logprobs: null,
      finish_reason: reason,
      stop_reason: null,
      token_ids: null,
    },
  ],
  service_tier: null,
  system_fingerprint: null,
  usage,
  prompt_logprobs: null,
  prompt_token_ids: null,
  kv_transfer_params: null,
})
const weather = { id: 'chatcmpl-tool-1f', type: 'function', function: { name: 'weather', arguments: '{"city": "Oslo"}' } }
const failed = (code: number, type: string, message: string) => ({ error: { message, type, param: null, code } })

export const vllm: Vendor = {
  name: 'vLLM',
  sources: [
    'vllm-project/vllm, vllm/entrypoints/openai/chat_completion/protocol.py and serving.py',
    'https://docs.vllm.ai/en/latest/features/reasoning_outputs/; vllm-project/vllm 18412 and 57082',
  ],
  answers: [
    {
      name: 'text after reasoning',
      stream: [
        first,
        chunk({ reasoning: '9.8 is' }),
        chunk({ reasoning: ' greater.' }),
        chunk({ content: '9.' }),
        chunk({ content: '8' }),
        chunk({}, 'stop'),
        last,
      ],
      whole: whole({ content: '9.8', reasoning: '9.8 is greater.' }, 'stop'),
      events: [reasoning('9.8 is greater.', 'reasoning'), text('9.8'), finish('stop')],
      usage: charged,
    },
    {
      name: 'reasoning under its older name',
      stream: [first, chunk({ reasoning_content: 'Hm.' }), chunk({ content: 'Yes.' }), chunk({ content: '' }, 'length'), last],
      whole: whole({ content: 'Yes.', reasoning_content: 'Hm.' }, 'length'),
      events: [reasoning('Hm.'), text('Yes.'), finish('length')],
      usage: charged,
    },
    {
      name: 'a call',
      stream: [
        first,
        chunk({ tool_calls: [{ index: 0, id: weather.id, type: 'function', function: { name: 'weather' } }] }),
        chunk({ tool_calls: [{ index: 0, function: { arguments: '{"city": ' } }] }),
        chunk({ tool_calls: [{ index: 0, function: { arguments: '"Oslo"}' } }] }),
        chunk({ content: '' }, 'tool_calls'),
        last,
      ],
      whole: whole({ tool_calls: [weather] }, 'tool_calls'),
      events: [call(0, weather.id, 'weather', '{"city": "Oslo"}'), finish('tool_calls')],
      usage: charged,
    },
  ],
  failures: [
    { name: 'a wrong key', status: 401, body: { error: 'Unauthorized' }, code: 'upstream_not_configured' },
    {
      name: 'an unknown model',
      status: 404,
      body: failed(404, 'NotFoundError', 'The model `x` does not exist.'),
      code: 'upstream_model_unavailable',
    },
    {
      name: 'a prompt that is too long',
      status: 400,
      body: failed(
        400,
        'BadRequestError',
        "This model's maximum context length is 4096 tokens. However, your request has 5000 input tokens. Please reduce the length of the input messages.",
      ),
      code: 'context_length_exceeded',
    },
    {
      name: 'a value out of its range',
      status: 400,
      body: failed(400, 'BadRequestError', 'temperature must be non-negative, got -1.0.'),
      code: 'invalid_request',
    },
    {
      name: 'a dead engine',
      status: 500,
      body: failed(500, 'InternalServerError', 'EngineCore encountered an issue. See stack trace (above) for the root cause.'),
      code: 'upstream_error',
    },
    {
      name: 'a failure within the stream',
      stream: [first, chunk({ content: 'It' }), failed(500, 'InternalServerError', 'Internal server error')],
      code: 'upstream_error',
    },
    { name: 'an abort', stream: [first, chunk({ content: 'It' }), chunk({}, 'abort')], code: 'upstream_error' },
  ],
}
