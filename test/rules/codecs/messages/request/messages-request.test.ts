/** Chat completion requests become requests that the Messages API accepts. */
import t from 'tap'
import { RawJson } from '../../../../../src/exchange/request/raw-json.ts'
import { toMessagesRequest } from '../../../../../src/codecs/messages/request/messages-request.ts'
import { findRejectedFields } from '../../../../../src/codecs/messages/request/rejected-fields.ts'

const user = { role: 'user', content: 'Hi' }
const translate = (fields: object) => toMessagesRequest({ model: 'm', max_tokens: 8_000, messages: [user], ...fields })
const hi = { role: 'user', content: [{ type: 'text', text: 'Hi' }] }
const call = { id: 'call.1', type: 'function', function: { name: 'f', arguments: '{"a":1}' } }
const tools = [{ type: 'function', function: { name: 'f', parameters: { type: 'object' } } }]

t.test('translates conversations', async (t) => {
  for (const [name, messages, expected] of [
    ['a text', [user], [hi]],
    [
      'a system prompt in the middle',
      [user, { role: 'assistant', content: 'Yes.' }, { role: 'developer', content: 'Stop.' }, user],
      [
        hi,
        { role: 'assistant', content: [{ type: 'text', text: 'Yes.' }] },
        { role: 'user', content: [{ text: '<system>\nStop.\n</system>' }, { text: 'Hi' }] },
      ],
    ],
    ['two messages of one role', [user, user], [{ role: 'user', content: [{ text: 'Hi' }, { text: 'Hi' }] }]],
    [
      'a history that begins with an answer',
      [{ role: 'assistant', content: 'Yes. ' }],
      [{ role: 'user' }, { role: 'assistant', content: [{ text: 'Yes.' }] }],
    ],
    [
      'calls without results',
      [user, { role: 'assistant', content: null, tool_calls: [call] }, user],
      [
        hi,
        { content: [{ type: 'tool_use', id: 'call_1', name: 'f', input: { a: 1 } }] },
        { content: [{ type: 'tool_result', tool_use_id: 'call_1', content: '(no output)' }, { text: 'Hi' }] },
      ],
    ],
    [
      'a result of an unknown call',
      [user, { role: 'tool', tool_call_id: 'x', content: 'R' }],
      [{ role: 'user', content: [{ text: 'Hi' }, { text: 'Result of the tool call x:' }, { text: 'R' }] }],
    ],
    [
      'arguments that are no JSON',
      [user, { role: 'assistant', tool_calls: [{ ...call, function: { name: 'f', arguments: '{' } }] }],
      [hi, { content: [{ input: { invalid_arguments: '{' } }] }, { role: 'user' }],
    ],
    [
      'an image',
      [
        {
          role: 'user',
          content: [
            { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
            { type: 'image_url', image_url: { url: 'https://x/y.png' } },
          ],
        },
      ],
      [
        {
          content: [
            { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } },
            { type: 'image', source: { type: 'url', url: 'https://x/y.png' } },
          ],
        },
      ],
    ],
    [
      'a file',
      [{ role: 'user', content: [{ type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,AAAA' } }] }],
      [
        {
          content: [
            { type: 'document', title: 'a.pdf', source: { type: 'base64', media_type: 'application/pdf', data: 'AAAA' } },
          ],
        },
      ],
    ],
    [
      'texts of white space',
      [
        {
          role: 'user',
          content: [
            { type: 'text', text: ' ' },
            { type: 'text', text: 'Hi' },
          ],
        },
      ],
      [hi],
    ],
    [
      'signed thinking',
      [
        user,
        {
          role: 'assistant',
          content: 'A',
          anthropic_thinking: [{ index: 0, type: 'thinking', thinking: 't', signature: 's' }, { type: 'tool_use' }],
        },
        user,
      ],
      [
        hi,
        {
          content: [
            { type: 'thinking', thinking: 't', signature: 's' },
            { type: 'text', text: 'A' },
          ],
        },
        hi,
      ],
    ],
  ] as const)
    t.match(translate({ messages })['messages'], expected, name)
  t.match(translate({ messages: [{ role: 'system', content: 'Be brief.' }, user] }), {
    system: [{ type: 'text', text: 'Be brief.' }],
    messages: [hi],
  })
})

t.test('translates fields', async (t) => {
  for (const [fields, expected] of [
    [{ max_completion_tokens: 5 }, { max_tokens: 5 }],
    [
      { temperature: 1.7, top_p: 0.5 },
      { temperature: 1, top_p: undefined },
    ],
    [
      { top_p: 0.5, top_k: 4 },
      { top_p: 0.5, top_k: 4 },
    ],
    [{ stop: 'END' }, { stop_sequences: ['END'] }],
    [{ stop: ['\n', 'END'] }, { stop_sequences: ['END'] }],
    [{ stop: ['\n'] }, { stop_sequences: undefined }],
    [{ user: 'u', safety_identifier: 's' }, { metadata: { user_id: 's' } }],
    [
      { stream: true, stream_options: { include_usage: true } },
      { stream: true, stream_options: undefined },
    ],
    [
      { response_format: { type: 'json_schema', json_schema: { name: 'x', schema: { type: 'object' } } } },
      { output_config: { format: { type: 'json_schema', schema: { type: 'object' } } } },
    ],
    [
      { reasoning_effort: 'medium', temperature: 0.2 },
      { thinking: { type: 'adaptive' }, output_config: { effort: 'medium' }, temperature: undefined },
    ],
    [{ reasoning_effort: 'none' }, { thinking: undefined, output_config: undefined }],
    [
      { anthropic_effort: 'max', reasoning_effort: 'high' },
      { thinking: undefined, output_config: { effort: 'max' } },
    ],
    [
      { anthropic_thinking_settings: { type: 'adaptive', display: 'summarized', extra: 1 } },
      { thinking: { type: 'adaptive', display: 'summarized', extra: undefined } },
    ],
    [{ thinking: { type: 'enabled', budget_tokens: 20_000 } }, { thinking: { type: 'enabled', budget_tokens: 7_999 } }],
    [{ thinking: { type: 'enabled', budget_tokens: 2_000 }, max_tokens: 900 }, { thinking: undefined }],
    [
      { thinking: { type: 'disabled' }, temperature: 0.3 },
      { thinking: { type: 'disabled' }, temperature: 0.3 },
    ],
    [
      {
        thinking: { type: 'enabled', budget_tokens: 2_000 },
        messages: [user, { role: 'assistant', tool_calls: [call] }, { role: 'tool', tool_call_id: 'call.1', content: 'R' }],
      },
      { thinking: undefined },
    ],
    [
      { tools, tool_choice: 'required', reasoning_effort: 'low' },
      { tool_choice: { type: 'any' }, thinking: undefined },
    ],
    [{ tools, tool_choice: { type: 'function', function: { name: 'f' } } }, { tool_choice: { type: 'tool', name: 'f' } }],
    [{ tools, parallel_tool_calls: false }, { tool_choice: { type: 'auto', disable_parallel_tool_use: true } }],
    [
      { tools, tool_choice: 'none', parallel_tool_calls: false },
      { tool_choice: { type: 'none', disable_parallel_tool_use: undefined } },
    ],
    [{ tool_choice: 'required' }, { tools: undefined, tool_choice: undefined }],
    [{ tools: [{ type: 'function', function: { name: 'g' } }] }, { tools: [{ name: 'g', input_schema: { type: 'object' } }] }],
  ] as const)
    t.match(translate(fields), expected, JSON.stringify(fields))
})

t.test('reads parts of a large request that are serialized', async (t) => {
  t.match(translate({ messages: new RawJson([Buffer.from(JSON.stringify([user]))]) })['messages'], [hi])
})

t.test('refuses what the API has no place for, with its path', async (t) => {
  for (const [fields, param] of [
    [{ messages: [user, { role: 'user', content: [{ type: 'input_audio' }] }] }, 'messages[1].content[0]'],
    [{ messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'ftp://x' } }] }] }, 'messages[0].content[0]'],
    // A pattern with a repeated group exceeds its stack here.
    [
      { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: `data:a/b${';'.repeat(8_000_000)}` } }] }] },
      'messages[0].content[0]',
    ],
    [{ tools: [{ type: 'custom', custom: { name: 'x' } }] }, 'tools[0]'],
  ] as const)
    t.throws(() => translate(fields), { code: 'invalid_request', details: { param } })
})

t.test('marks the ends of cached texts, for five minutes', async (t) => {
  const hour = { type: 'ephemeral', ttl: '1h' }
  const marked = { type: 'text', cache_control: { type: 'ephemeral', ttl: undefined } }
  const body = translate({
    messages: [
      {
        role: 'system',
        content: 'One.\n\nTwo.',
        anthropic_cache: [
          { end: 4, cache_control: hour },
          { end: 99, cache_control: hour },
        ],
      },
      { role: 'user', content: [{ type: 'text', text: 'Hi', cache_control: hour }] },
      { role: 'assistant', content: null, tool_calls: [call], anthropic_cache: [{ end: 0, cache_control: hour }] },
      { role: 'tool', tool_call_id: 'call.1', content: 'R', anthropic_cache: [{ end: 1, cache_control: hour }] },
    ],
    tools: [{ ...tools[0], cache_control: hour }],
  })
  t.match(body, {
    system: [
      { ...marked, text: 'One.' },
      { ...marked, text: '\n\nTwo.' },
    ],
    messages: [
      { content: [{ ...marked, text: 'Hi' }] },
      { content: [{ type: 'tool_use', cache_control: { type: 'ephemeral' } }] },
      {
        content: [
          { type: 'tool_result', cache_control: { type: 'ephemeral' }, content: [{ text: 'R', cache_control: undefined }] },
        ],
      },
    ],
    tools: [{ name: 'f', cache_control: { type: 'ephemeral' } }],
  })
})

t.test('finds the settings that a rejection is about', async (t) => {
  for (const [text, fields] of [
    ['This model does not support the effort parameter.', ['anthropic_effort', 'reasoning_effort']],
    ['adaptive thinking is not supported on this model', ['anthropic_thinking_settings', 'thinking', 'reasoning_effort']],
    ['`temperature` is deprecated for this model.', ['temperature']],
    ['`temperature` and `top_p` cannot both be specified for this model. Please use only one.', ['top_p']],
    ['messages.3.content.0.thinking: this is not supported', null],
    ['prompt is too long: 3 tokens > 2 maximum', null],
    ['`temperature` may only be set to 1 when thinking is enabled.', null],
  ] as const)
    t.same(findRejectedFields(text), fields, text)
})
