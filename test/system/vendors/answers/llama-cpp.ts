/** llama.cpp: the null of the content in the first piece, timings beside the usage, and errors by type. */
import { call, finish, reasoning, text } from '../vendor.ts'
import type { Vendor } from '../vendor.ts'

const head = { created: 1_781_492_230, id: 'chatcmpl-qC6laQ', model: 'gemma.gguf', system_fingerprint: 'b9554-d403f00ec' }
const usage = { completion_tokens: 12, prompt_tokens: 17, total_tokens: 29, prompt_tokens_details: { cached_tokens: 7 } }
const charged = { inputTokens: 17, outputTokens: 12, cachedInputTokens: 7 }
const timings = { cache_n: 7, prompt_n: 10, prompt_ms: 251.51, predicted_n: 12, predicted_ms: 407.596, draft_n: 30 }
const chunk = (delta: object, reason: string | null = null) => ({
  choices: [{ finish_reason: reason, index: 0, delta }],
  ...head,
  object: 'chat.completion.chunk',
})
const first = chunk({ role: 'assistant', content: null })
const last = { choices: [], ...head, object: 'chat.completion.chunk', usage, timings }
const whole = (message: object, reason: string) => ({
  choices: [{ finish_reason: reason, index: 0, message: { role: 'assistant', ...message } }],
  ...head,
  object: 'chat.completion',
  usage,
  timings,
})
const weather = { type: 'function', function: { name: 'weather', arguments: '{"city":"Oslo"}' }, id: 'nTq3' }
const failed = (code: number, type: string, message: string, more: object = {}) => ({ error: { code, message, type, ...more } })

export const llamaCpp: Vendor = {
  name: 'llama.cpp (`llama-server`)',
  sources: [
    'ggml-org/llama.cpp, tools/server/tests/unit/test_chat_completion.py and tools/server/README.md',
    'openai-php/client 780, ggml-org/llama.cpp 13634 and 20198',
  ],
  answers: [
    {
      name: 'text after reasoning, with timings in each piece',
      stream: [
        first,
        { ...chunk({ reasoning_content: 'See how' }), timings },
        { ...chunk({ reasoning_content: ' it handles a' }), timings },
        { ...chunk({ content: 'Well' }), timings },
        { ...chunk({ content: '.' }), timings },
        chunk({}, 'stop'),
        last,
      ],
      whole: whole({ reasoning_content: 'See how it handles a', content: 'Well.' }, 'stop'),
      events: [reasoning('See how it handles a'), text('Well.'), finish('stop')],
      usage: charged,
    },
    {
      name: 'a call',
      stream: [
        first,
        chunk({ tool_calls: [{ index: 0, id: 'nTq3', type: 'function', function: { name: 'weather', arguments: '{' } }] }),
        chunk({ tool_calls: [{ index: 0, function: { arguments: '"city":"Oslo"}' } }] }),
        chunk({}, 'tool_calls'),
        last,
      ],
      whole: whole({ content: null, tool_calls: [weather] }, 'tool_calls'),
      events: [call(0, 'nTq3', 'weather', '{"city":"Oslo"}'), finish('tool_calls')],
      usage: charged,
    },
  ],
  failures: [
    {
      name: 'a wrong key',
      status: 401,
      body: failed(401, 'authentication_error', 'Invalid API Key'),
      code: 'upstream_not_configured',
    },
    {
      name: 'a model that is loading',
      status: 503,
      body: failed(503, 'unavailable_error', 'Loading model'),
      code: 'upstream_error',
    },
    {
      name: 'a prompt that is too long',
      status: 400,
      body: failed(
        400,
        'exceed_context_size_error',
        'request (9412 tokens) exceeds the available context size (8192 tokens), try increasing it',
        { n_prompt_tokens: 9_412, n_ctx: 8_192 },
      ),
      code: 'context_length_exceeded',
    },
    {
      name: 'a schema that it cannot use',
      status: 400,
      body: failed(400, 'invalid_request_error', 'JSON schema conversion failed:\nUnrecognized schema: {"type":"hiccup"}'),
      code: 'invalid_request',
    },
    {
      name: 'a failure of the server',
      status: 500,
      body: failed(500, 'server_error', 'Compute error.'),
      code: 'upstream_error',
    },
    {
      name: 'a failure within the stream',
      stream: [first, failed(500, 'server_error', 'Context size has been exceeded.')],
      code: 'context_length_exceeded',
    },
  ],
}
