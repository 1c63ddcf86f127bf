/** MiniMax: an empty role, the whole message once more at the end of a stream, and failures within a 200. */
import { call, finish, reasoning, text, toChunks, toCompletion } from '../vendor.ts'
import type { Vendor } from '../vendor.ts'

const flags = {
  input_sensitive: false,
  output_sensitive: false,
  input_sensitive_type: 0,
  output_sensitive_type: 0,
  output_sensitive_int: 0,
}
const head = { id: '04ecb5d9b1921ae0', created: 1_771_279_826, model: 'MiniMax-M2.5', ...flags }
const usage = {
  total_tokens: 249,
  total_characters: 0,
  prompt_tokens: 26,
  completion_tokens: 223,
  completion_tokens_details: { reasoning_tokens: 214 },
}
const base = (status: number, message: string) => ({ base_resp: { status_code: status, status_msg: message } })
const chunks = (deltas: readonly object[]) =>
  toChunks(head, deltas).map((chunk) => ({ ...chunk, usage: { total_tokens: 0, total_characters: 0 } }))
const end = (reason: string) => ({
  ...head,
  object: 'chat.completion.chunk',
  choices: [{ index: 0, delta: { role: 'assistant', content: '' }, finish_reason: reason }],
})
const whole = (message: object, reason: string) => ({
  ...toCompletion(head, { name: 'MiniMax AI', audio_content: '', ...message }, reason, usage),
  ...base(0, ''),
})
const weather = { id: 'call_function_2831', type: 'function', function: { name: 'weather', arguments: '{"city": "Oslo"}' } }
const greeting = { content: 'Hello! How are you?', reasoning_content: 'Greet back.' }
const charged = { inputTokens: 26, outputTokens: 223 }
const failed = (status: number, message: string) => ({ id: '04ecb5d9b1921ae0', choices: null, ...base(status, message) })

export const minimax: Vendor = {
  name: 'MiniMax',
  sources: [
    'https://platform.minimax.io/docs/api-reference/text-post and https://platform.minimax.io/docs/api-reference/errorcode',
    'MiniMax-AI/MiniMax-M2.5 2, GCWing/OpenBitFun 792, ENTERPILOT/GoModel 640 and 1068',
    'MiniMax-AI/MiniMax-01 37, nearai/ironclaw 1742, egoist/chatwise-releases 1368',
  ],
  answers: [
    {
      name: 'text after reasoning, with the whole message at the end',
      stream: [
        ...chunks([
          { role: '', reasoning_content: '' },
          { role: '', reasoning_content: 'Greet ' },
          { role: '', reasoning_content: 'back.' },
          { content: 'Hello! ', role: 'assistant', name: 'MiniMax AI' },
          { content: 'How are you?', role: 'assistant', name: 'MiniMax AI' },
        ]),
        end('stop'),
        whole(greeting, 'stop'),
      ],
      whole: whole(greeting, 'stop'),
      events: [reasoning('Greet back.'), text('Hello! How are you?'), finish('stop')],
      usage: charged,
    },
    {
      name: 'a call, with the whole message at the end',
      stream: [
        ...chunks([{ role: 'assistant', content: '', tool_calls: [{ index: 0, ...weather }] }]),
        end('tool_calls'),
        whole({ content: '', tool_calls: [weather] }, 'tool_calls'),
      ],
      whole: whole({ content: '', tool_calls: [weather] }, 'tool_calls'),
      events: [call(0, 'call_function_2831', 'weather', '{"city": "Oslo"}'), finish('tool_calls')],
      usage: charged,
    },
  ],
  failures: [
    { name: 'a wrong key', whole: failed(2049, 'invalid api key'), code: 'upstream_not_configured' },
    {
      name: 'a missing key',
      status: 401,
      body: {
        type: 'error',
        error: { type: 'authorized_error', message: 'login fail: Please carry the API secret key (1004)' },
      },
      code: 'upstream_not_configured',
    },
    { name: 'no balance', whole: failed(1008, 'insufficient balance'), code: 'upstream_not_configured' },
    { name: 'too many requests', whole: failed(1002, 'rate limit'), code: 'upstream_rate_limited' },
    { name: 'too many tokens in a minute', whole: failed(1039, 'token limit'), code: 'upstream_rate_limited' },
    { name: 'a refused prompt', whole: failed(1026, 'input new_sensitive'), code: 'content_filter' },
    { name: 'invalid parameters', whole: failed(2013, 'invalid params, temperature'), code: 'invalid_request' },
    { name: 'an error of the server', whole: failed(1000, 'unknown error'), code: 'upstream_error' },
    {
      name: 'a refused answer within the stream',
      stream: [...chunks([{ role: 'assistant', content: 'Hello' }]), failed(1027, 'output new_sensitive')],
      code: 'content_filter',
    },
  ],
}
