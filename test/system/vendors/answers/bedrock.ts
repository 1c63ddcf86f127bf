/** Bedrock Access Gateway: an index of -1 for a call without a text before it, finish reasons of Bedrock, and errors as `detail`. */
import { call, finish, reasoning, text, toCompletion } from '../vendor.ts'
import type { Vendor } from '../vendor.ts'

const head = { id: 'chatcmpl-5f0a3c', created: 1_735_000_000, model: 'anthropic.claude-sonnet-4', system_fingerprint: 'fp' }
const usage = {
  prompt_tokens: 90,
  completion_tokens: 25,
  total_tokens: 115,
  prompt_tokens_details: { cached_tokens: 40, audio_tokens: 0 },
  completion_tokens_details: null,
}
const charged = { inputTokens: 90, outputTokens: 25, cachedInputTokens: 40 }
const none = { role: null, content: null, tool_calls: null, reasoning_content: null }
const chunk = (delta: object, reason: string | null = null) => ({
  ...head,
  object: 'chat.completion.chunk',
  choices: [{ index: 0, finish_reason: reason, logprobs: null, delta: { ...none, ...delta } }],
  usage: null,
})
const last = { ...head, object: 'chat.completion.chunk', choices: [], usage }
const piece = (index: number, args: string, opened: object = { id: null, name: null }) => {
  const { id, name } = opened as { readonly id: string | null; readonly name: string | null }
  return { tool_calls: [{ index, id, type: 'function', function: { name, arguments: args } }] }
}
const weather = {
  index: null,
  id: 'tooluse_aZ',
  type: 'function',
  function: { name: 'weather', arguments: '{"city": "Oslo"}' },
}

export const bedrock: Vendor = {
  name: 'Bedrock Access Gateway',
  sources: [
    'aws-samples/bedrock-access-gateway, src/api/models/bedrock.py and src/api/schema.py',
    'aws-samples/bedrock-access-gateway 11; https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html',
  ],
  answers: [
    {
      name: 'text after reasoning',
      stream: [
        chunk({ role: 'assistant', content: '' }),
        chunk({ reasoning_content: 'Count ' }),
        chunk({ reasoning_content: 'them.' }),
        chunk({ content: 'It is' }),
        chunk({ content: ' 3.' }),
        chunk({}, 'stop'),
        last,
      ],
      whole: toCompletion(
        head,
        { ...none, role: 'assistant', content: 'It is 3.', reasoning_content: 'Count them.' },
        'stop',
        usage,
      ),
      events: [reasoning('Count them.'), text('It is 3.'), finish('stop')],
      usage: charged,
    },
    {
      name: 'a call without a text before it',
      stream: [
        chunk({ role: 'assistant', content: '' }),
        chunk(piece(-1, '', { id: 'tooluse_aZ', name: 'weather' })),
        chunk(piece(-1, '{"city":')),
        chunk(piece(-1, ' "Oslo"}')),
        chunk({}, 'tool_calls'),
        last,
      ],
      whole: toCompletion(head, { ...none, role: 'assistant', tool_calls: [weather] }, 'tool_calls', usage),
      events: [call(0, 'tooluse_aZ', 'weather', '{"city": "Oslo"}'), finish('tool_calls')],
      usage: charged,
    },
    {
      name: 'two calls after a text, with reasons of Bedrock',
      stream: [
        chunk({ role: 'assistant', content: '' }),
        chunk({ content: 'Two.' }),
        chunk(piece(0, '', { id: 'tooluse_a', name: 'a' })),
        chunk(piece(0, '{}')),
        chunk(piece(1, '', { id: 'tooluse_b', name: 'b' })),
        chunk(piece(1, '{}')),
        chunk({}, 'tool_use'),
        last,
      ],
      whole: toCompletion(
        head,
        {
          ...none,
          role: 'assistant',
          content: 'Two.',
          tool_calls: ['a', 'b'].map((name) => ({ ...weather, id: `tooluse_${name}`, function: { name, arguments: '{}' } })),
        },
        'tool_use',
        usage,
      ),
      events: [text('Two.'), call(0, 'tooluse_a', 'a', '{}'), call(1, 'tooluse_b', 'b', '{}'), finish('tool_calls')],
      usage: charged,
    },
  ],
  failures: [
    { name: 'a wrong key', status: 401, body: { detail: 'Invalid API Key' }, code: 'upstream_not_configured' },
    {
      name: 'too many requests',
      status: 429,
      body: {
        detail:
          'An error occurred (ThrottlingException) when calling the ConverseStream operation: Too many requests, please wait before trying again.',
      },
      code: 'upstream_rate_limited',
    },
    {
      name: 'an unknown model',
      status: 400,
      body: { detail: 'Unsupported model anthropic.claude-9, please use models API to get a list of supported models' },
      code: 'upstream_model_unavailable',
    },
    {
      name: 'a prompt that is too long',
      status: 400,
      body: {
        detail:
          'An error occurred (ValidationException) when calling the Converse operation: Input is too long for requested model.',
      },
      code: 'context_length_exceeded',
    },
    {
      name: 'no access to the model',
      status: 500,
      body: {
        detail:
          "An error occurred (AccessDeniedException) when calling the Converse operation: You don't have access to the model with the specified model ID.",
      },
      code: 'upstream_error',
    },
    {
      name: 'an error within the stream',
      stream: [
        chunk({ role: 'assistant', content: '' }),
        { error: { message: 'An error occurred (ModelStreamErrorException) during the stream.' } },
      ],
      code: 'upstream_error',
    },
  ],
}
