/** LM Studio: a role in every piece, counts of its own beside the usage, and errors as a text. */
import { call, finish, reasoning, text, toCompletion } from '../vendor.ts'
import type { Vendor } from '../vendor.ts'

const head = { id: 'chatcmpl-p1ac1ikx', created: 1_730_786_188, model: 'qwen3-8b', system_fingerprint: 'qwen3-8b' }
const usage = {
  prompt_tokens: 263,
  completion_tokens: 34,
  total_tokens: 297,
  completion_tokens_details: { reasoning_tokens: 12 },
}
const charged = { inputTokens: 263, outputTokens: 34 }
const chunk = (delta: object, reason: string | null = null) => ({
  ...head,
  object: 'chat.completion.chunk',
  choices: [{ index: 0, delta, logprobs: null, finish_reason: reason }],
})
const last = { ...head, object: 'chat.completion.chunk', choices: [], usage }
const whole = (message: object, reason: string) => ({
  ...toCompletion(head, { tool_calls: [], ...message }, reason, usage),
  stats: {},
})
const order = { id: '365174485', type: 'function', function: { name: 'get_delivery_date', arguments: '{"order_id":"1017"}' } }
const failed = (message: string, code: string | null = null) => ({
  error: { message, type: 'invalid_request_error', param: 'model', code },
})

export const lmStudio: Vendor = {
  name: 'LM Studio',
  sources: [
    'https://lmstudio.ai/docs/developer/openai-compat/tools and https://lmstudio.ai/docs/developer/api-changelog',
    'lmstudio-ai/lmstudio-bug-tracker 116, 237 and 546',
  ],
  answers: [
    {
      name: 'text after reasoning',
      stream: [
        chunk({ role: 'assistant', reasoning_content: 'Greet' }),
        chunk({ role: 'assistant', reasoning_content: ' back.' }),
        chunk({ role: 'assistant', content: 'Hel' }),
        chunk({ role: 'assistant', content: 'lo.' }),
        chunk({}, 'stop'),
        last,
      ],
      whole: whole({ content: 'Hello.', reasoning_content: 'Greet back.' }, 'stop'),
      events: [reasoning('Greet back.'), text('Hello.'), finish('stop')],
      usage: charged,
    },
    {
      name: 'a call',
      stream: [
        chunk({
          role: 'assistant',
          tool_calls: [{ index: 0, ...order, function: { name: 'get_delivery_date', arguments: '' } }],
        }),
        chunk({ role: 'assistant', tool_calls: [{ index: 0, type: 'function', function: { name: '', arguments: '{"order' } }] }),
        chunk({ role: 'assistant', tool_calls: [{ index: 0, type: 'function', function: { arguments: '_id":"1017"}' } }] }),
        chunk({}, 'tool_calls'),
        last,
      ],
      whole: whole({ content: '', tool_calls: [order] }, 'tool_calls'),
      events: [call(0, '365174485', 'get_delivery_date', '{"order_id":"1017"}'), finish('tool_calls')],
      usage: charged,
    },
  ],
  failures: [
    {
      name: 'no model is loaded',
      status: 404,
      body: failed(
        'No models loaded. Please load a model in the developer page or use the `lms load` command.',
        'model_not_found',
      ),
      code: 'upstream_model_unavailable',
    },
    {
      name: 'a model that did not load',
      status: 400,
      body: failed('Failed to load model "x". Error: Error loading model.', 'model_not_found'),
      code: 'upstream_model_unavailable',
    },
    {
      name: 'a prompt that is too long',
      status: 400,
      body: {
        error:
          'Trying to keep the first 15857 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough.',
      },
      code: 'context_length_exceeded',
    },
    {
      name: 'a model that crashed',
      status: 400,
      body: {
        error:
          '<LM Studio error> The model has crashed without additional information. (Exit code: 0). Error Data: n/a, Additional Data: n/a',
      },
      code: 'upstream_model_unavailable',
    },
    {
      name: 'a crash within the stream',
      stream: [
        chunk({ role: 'assistant', content: 'Hel' }),
        { error: { message: 'The model has crashed without additional information. (Exit code: null)' } },
      ],
      code: 'upstream_model_unavailable',
    },
  ],
}
