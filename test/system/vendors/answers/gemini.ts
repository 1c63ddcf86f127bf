/** Gemini's compatible endpoint: calls without an index, `stop` beside calls, thoughts beside the completion, and errors in a list. */
import { call, finish, text, toCompletion } from '../vendor.ts'
import type { Vendor } from '../vendor.ts'

const head = { id: 'knTMaJC0EJfM5OMP7I3xkAk', created: 1_777_161_600, model: 'gemini-3.1-flash-lite-preview' }
const usage = {
  prompt_tokens: 20,
  completion_tokens: 151,
  total_tokens: 553,
  completion_tokens_details: { reasoning_tokens: 382 },
}
const event = (delta: object, reason?: string, report?: object) => ({
  ...head,
  object: 'chat.completion.chunk',
  choices: [{ index: 0, delta: { role: 'assistant', ...delta }, ...(reason === undefined ? {} : { finish_reason: reason }) }],
  ...(report === undefined ? {} : { usage: report }),
})
const search = (id: string, query: string) => ({
  function: { arguments: JSON.stringify({ query }), name: 'search_web' },
  id,
  type: 'function',
})
const signed = { extra_content: { google: { thought_signature: 'EjQKMgEMOdbHJChLX75Q' } } }
const charged = { inputTokens: 20, outputTokens: 533 }
const refusal = (code: number, message: string, status: string, details: readonly object[] = []) => [
  { error: { code, message, status, details } },
]

export const gemini: Vendor = {
  name: "Gemini's compatible endpoint",
  sources: [
    'https://ai.google.dev/gemini-api/docs/openai and https://ai.google.dev/gemini-api/docs/generate-content/api-errors',
    'noho/dayu-agent 45, mozilla-ai/any-llm 1291, router-for-me/CLIProxyAPI 5744, googleapis/python-genai 2868',
    'continuedev/continue 9570 and 11450, google-gemini/gemini-cli 5191, coder/coder 28470',
  ],
  answers: [
    {
      name: 'text, with thoughts that are not shown',
      stream: [event({ content: 'It is' }), event({ content: ' Oslo.' }), event({ content: '' }, 'stop', usage)],
      whole: toCompletion(head, { content: 'It is Oslo.' }, 'stop', usage),
      events: [text('It is Oslo.'), finish('stop')],
      usage: charged,
    },
    {
      name: 'two calls without an index, one of them signed',
      stream: [
        event({ tool_calls: [{ ...search('jm4owj31', 'a'), ...signed }] }),
        event({ tool_calls: [search('kq7pzr52', 'b')] }),
        event({ content: null }, 'stop', usage),
      ],
      whole: toCompletion(
        head,
        { tool_calls: [{ ...search('jm4owj31', 'a'), ...signed }, search('kq7pzr52', 'b')] },
        'stop',
        usage,
      ),
      events: [
        { kind: 'signed-reasoning', signed: { field: 'call_signatures', value: { id: 'jm4owj31', ...signed } } },
        call(0, 'jm4owj31', 'search_web', '{"query":"a"}'),
        call(1, 'kq7pzr52', 'search_web', '{"query":"b"}'),
        finish('tool_calls'),
      ],
      usage: charged,
    },
  ],
  failures: [
    {
      name: 'a wrong key',
      status: 400,
      body: refusal(400, 'API key not valid. Please pass a valid API key.', 'INVALID_ARGUMENT'),
      code: 'upstream_not_configured',
    },
    {
      name: 'too many requests in a minute',
      status: 429,
      body: refusal(429, 'You exceeded your current quota, please check your plan and billing details.', 'RESOURCE_EXHAUSTED', [
        {
          '@type': 'type.googleapis.com/google.rpc.QuotaFailure',
          violations: [{ quotaId: 'GenerateContentPaidTierInputTokensPerModelPerMinute' }],
        },
        { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '33s' },
      ]),
      code: 'upstream_rate_limited',
    },
    {
      name: 'no quota at all',
      status: 429,
      body: refusal(
        429,
        'You exceeded your current quota. Quota exceeded for metric, limit: 0, model: gemini-3-pro',
        'RESOURCE_EXHAUSTED',
      ),
      code: 'upstream_not_configured',
    },
    {
      name: 'an overloaded model',
      status: 503,
      body: refusal(503, 'The model is overloaded. Please try again later.', 'UNAVAILABLE'),
      code: 'upstream_error',
    },
    {
      name: 'a prompt that is too long',
      status: 400,
      body: refusal(
        400,
        'The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).',
        'INVALID_ARGUMENT',
      ),
      code: 'context_length_exceeded',
    },
    {
      name: 'a malformed call',
      stream: [event({ content: '' }, 'function_call_filter: MALFORMED_FUNCTION_CALL', usage)],
      code: 'upstream_error',
    },
  ],
}
