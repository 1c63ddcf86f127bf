/** SGLang: the null of each other field in a piece, the number of the token that stopped it, and errors without `error`. */
import { call, finish, reasoning, text } from '../vendor.ts'
import type { Vendor } from '../vendor.ts'

const head = { id: '5c2a77f1', created: 1_750_000_000, model: 'deepseek-ai/DeepSeek-V3' }
const usage = {
  prompt_tokens: 44,
  total_tokens: 62,
  completion_tokens: 18,
  prompt_tokens_details: { cached_tokens: 32 },
  reasoning_tokens: 6,
}
const charged = { inputTokens: 44, outputTokens: 18, cachedInputTokens: 32 }
const none = { role: null, content: null, reasoning_content: null, tool_calls: null }
const chunk = (delta: object, reason: string | null = null, matched: unknown = null) => ({
  ...head,
  object: 'chat.completion.chunk',
  choices: [{ index: 0, delta: { ...none, ...delta }, logprobs: null, finish_reason: reason, matched_stop: matched }],
  usage: null,
})
const first = chunk({ role: 'assistant', content: '' })
const last = { ...head, object: 'chat.completion.chunk', choices: [], usage }
const whole = (message: object, reason: string) => ({
  ...head,
  object: 'chat.completion',
  choices: [
    {
      index: 0,
      message: { ...none, role: 'assistant', ...message },
      logprobs: null,
      finish_reason: reason,
      matched_stop: 151_645,
    },
  ],
  usage,
  metadata: { weight_version: 'default' },
})
const opened = { id: 'call_5e', index: 0, type: 'function', function: { name: 'weather', arguments: '' } }
const failed = (code: number, type: string, message: string) => ({ object: 'error', message, type, param: null, code })

export const sglang: Vendor = {
  name: 'SGLang',
  sources: [
    'sgl-project/sglang, python/sglang/srt/entrypoints/openai/protocol.py, serving_chat.py and serving_base.py',
    'sgl-project/sglang 12100, PrimeIntellect-ai/verifiers 475',
  ],
  answers: [
    {
      name: 'text after reasoning',
      stream: [
        first,
        chunk({ reasoning_content: 'Add' }),
        chunk({ reasoning_content: ' them.' }),
        chunk({ content: '4' }),
        chunk({ content: '2' }),
        chunk({}, 'stop', 151_645),
        last,
      ],
      whole: whole({ content: '42', reasoning_content: 'Add them.' }, 'stop'),
      events: [reasoning('Add them.'), text('42'), finish('stop')],
      usage: charged,
    },
    {
      name: 'a call, whose later pieces have the null of id and name',
      stream: [
        first,
        chunk({ tool_calls: [opened] }),
        chunk({ tool_calls: [{ ...opened, id: null, function: { name: null, arguments: '{"city": "Os' } }] }),
        chunk({ tool_calls: [{ ...opened, id: null, function: { name: null, arguments: 'lo"}' } }] }),
        chunk({}, 'tool_calls'),
        last,
      ],
      whole: whole({ tool_calls: [{ ...opened, function: { name: 'weather', arguments: '{"city": "Oslo"}' } }] }, 'tool_calls'),
      events: [call(0, 'call_5e', 'weather', '{"city": "Oslo"}'), finish('tool_calls')],
      usage: charged,
    },
  ],
  failures: [
    { name: 'a wrong key', status: 401, body: { error: 'Unauthorized' }, code: 'upstream_not_configured' },
    {
      name: 'a prompt that is too long',
      status: 400,
      body: failed(400, 'BadRequestError', "The input (5000 tokens) is longer than the model's context length (4096 tokens)."),
      code: 'context_length_exceeded',
    },
    {
      name: 'a role that it does not have',
      status: 400,
      body: failed(
        400,
        'BadRequestError',
        "1 validation error: {'type': 'literal_error', 'loc': ('body', 'messages', 0, 'role')}",
      ),
      code: 'invalid_request',
    },
    {
      name: 'a full queue',
      status: 503,
      body: failed(503, '503', 'The request queue is full.'),
      code: 'upstream_error',
    },
    {
      name: 'a failure of the server',
      status: 500,
      body: failed(500, 'InternalServerError', 'Internal server error: CUDA out of memory'),
      code: 'upstream_error',
    },
    {
      name: 'a failure within the stream',
      stream: [first, { error: failed(500, 'InternalServerError', 'The request was aborted.') }],
      code: 'upstream_error',
    },
    { name: 'an abort', stream: [first, chunk({ content: 'It' }), chunk({}, 'abort')], code: 'upstream_error' },
  ],
}
