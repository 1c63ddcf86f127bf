/** z.ai: numbered errors, and finish reasons of its own. */
import { call, finish, reasoning, text, toChunks, toCompletion } from '../vendor.ts'
import type { Vendor } from '../vendor.ts'

const head = { id: '20251128143022a1b2c3', created: 1_764_312_622, model: 'glm-4.6', request_id: '20251128143022a1b2c3' }
const usage = {
  prompt_tokens: 180,
  completion_tokens: 40,
  total_tokens: 220,
  prompt_tokens_details: { cached_tokens: 64 },
}
const end = (reason: string, delta: object = { role: 'assistant', content: '' }) => ({
  ...head,
  object: 'chat.completion.chunk',
  choices: [{ index: 0, finish_reason: reason, delta }],
  usage,
})
const weather = {
  id: 'call_-8182947',
  index: 0,
  type: 'function',
  function: { name: 'weather', arguments: '{"city":"Oslo"}' },
}
const charged = { inputTokens: 180, outputTokens: 40, cachedInputTokens: 64 }
const refusal = (code: string, message: string) => ({ error: { code, message } })

export const zai: Vendor = {
  name: 'z.ai',
  sources: [
    'https://docs.z.ai/api-reference/api-code and https://docs.bigmodel.cn/cn/api/api-code',
    'https://docs.z.ai/api-reference/llm/chat-completion',
    'kaitranntt/ccs 402 and 536, sipeed/picoclaw 795, langchain4j/langchain4j 1079, continuedev/continue 10296, earendil-works/pi 1509',
  ],
  answers: [
    {
      name: 'text after reasoning, with the role in every piece',
      stream: [
        ...toChunks(head, [
          { role: 'assistant', reasoning_content: 'The capital' },
          { role: 'assistant', reasoning_content: ' of Norway.' },
          { role: 'assistant', content: 'It is' },
          { role: 'assistant', content: ' Oslo.' },
        ]),
        end('stop'),
      ],
      whole: toCompletion(head, { content: 'It is Oslo.', reasoning_content: 'The capital of Norway.' }, 'stop', usage),
      events: [reasoning('The capital of Norway.'), text('It is Oslo.'), finish('stop')],
      usage: charged,
    },
    {
      name: 'a call',
      stream: [...toChunks(head, [{ role: 'assistant', tool_calls: [weather] }]), end('tool_calls')],
      whole: toCompletion(head, { content: '', tool_calls: [weather] }, 'tool_calls', usage),
      events: [call(0, 'call_-8182947', 'weather', '{"city":"Oslo"}'), finish('tool_calls')],
      usage: charged,
    },
    {
      name: 'an answer that its filter ends',
      stream: [...toChunks(head, [{ role: 'assistant', content: 'It is' }]), end('sensitive')],
      whole: toCompletion(head, { content: 'It is' }, 'sensitive', usage),
      events: [text('It is'), finish('content_filter')],
      usage: charged,
    },
    {
      name: 'an answer cut off at the context',
      stream: [...toChunks(head, [{ role: 'assistant', content: 'It is' }]), end('model_context_window_exceeded')],
      whole: toCompletion(head, { content: 'It is' }, 'model_context_window_exceeded', usage),
      events: [text('It is'), finish('length')],
      usage: charged,
    },
  ],
  failures: [
    {
      name: 'a wrong key',
      status: 401,
      body: refusal('1002', 'Authentication Token is invalid, please confirm the correct transmission.'),
      code: 'upstream_not_configured',
    },
    {
      name: 'no balance',
      status: 429,
      body: refusal('1113', 'Insufficient balance or no resource package. Please recharge.'),
      code: 'upstream_not_configured',
    },
    {
      name: 'no balance, in Chinese',
      status: 429,
      body: refusal('1113', '余额不足或无可用资源包,请充值。'),
      code: 'upstream_not_configured',
    },
    {
      name: 'an unknown model',
      status: 400,
      body: refusal('1211', 'Unknown Model, please check the model code.'),
      code: 'upstream_model_unavailable',
    },
    { name: 'a prompt that is too long', status: 400, body: refusal('1261', 'Prompt too long'), code: 'context_length_exceeded' },
    {
      name: 'a prompt that is too long, in Chinese',
      status: 400,
      body: refusal('1261', 'Prompt 超长'),
      code: 'context_length_exceeded',
    },
    {
      name: 'a refused prompt',
      status: 400,
      body: {
        contentFilter: [{ level: 1, role: 'user' }],
        ...refusal('1301', 'System detected potentially unsafe or sensitive content in input or generation.'),
      },
      code: 'content_filter',
    },
    {
      name: 'a refused prompt, in Chinese',
      status: 400,
      body: refusal(
        '1301',
        '系统检测到输入或生成内容可能包含不安全或敏感内容，请您避免输入易产生敏感内容的提示语，感谢您的配合。',
      ),
      code: 'content_filter',
    },
    {
      name: 'too many requests',
      status: 429,
      body: refusal('1302', 'High concurrency usage of this API, please reduce concurrency.'),
      code: 'upstream_rate_limited',
    },
    {
      name: 'an error of its network',
      status: 500,
      body: refusal('1234', '网络错误，错误id：202602261029392bc0093d0e944297，请联系客服。'),
      code: 'upstream_error',
    },
    {
      name: 'an error of its network within the stream',
      stream: [...toChunks(head, [{ role: 'assistant', content: 'It is' }]), end('network_error')],
      code: 'upstream_error',
    },
  ],
}
