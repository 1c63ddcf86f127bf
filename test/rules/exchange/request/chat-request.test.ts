/** Rejections name the invalid field; everything else passes to the upstream. */
import t from 'tap'
import * as fc from 'fast-check'
import { GatewayError } from '../../../../src/errors.ts'
import { getBodyHash, parseChatRequest } from '../../../../src/exchange/request/chat-request.ts'

const ok = { model: 'svc', messages: [{ role: 'user', content: 'hi' }] }
const parse = (body: unknown) => parseChatRequest(Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)))
const deep = (levels: number) => '['.repeat(levels) + ']'.repeat(levels)

t.test('rejects an invalid field with invalid_request and its name', async (t) => {
  for (const [body, param, words] of [
    ['', null, /empty/],
    ['   ', null, /not JSON/],
    ['{"model":', null, /not JSON/],
    ['nonsense', null, /not JSON/],
    ['[]', null, /JSON object/],
    ['null', null, /JSON object/],
    ['"text"', null, /JSON object/],
    ['42', null, /JSON object/],
    [{}, 'model', /'model'/],
    [{ ...ok, model: 7 }, 'model', /'model'/],
    [{ ...ok, model: '' }, 'model', /'model'/],
    [{ ...ok, model: null }, 'model', /'model'/],
    [{ model: 'svc' }, 'messages', /'messages'/],
    [{ ...ok, messages: {} }, 'messages', /array/],
    [{ ...ok, messages: [] }, 'messages', /at least one/],
    [{ ...ok, messages: ['hi'] }, 'messages[0]', /object/],
    [{ ...ok, messages: [null] }, 'messages[0]', /object/],
    [{ ...ok, messages: [{ content: 'x' }] }, 'messages[0].role', /role/],
    [{ ...ok, messages: [{ role: 1, content: 'x' }] }, 'messages[0].role', /role/],
    [{ ...ok, messages: [ok.messages[0], { role: 'user', content: 5 }] }, 'messages[1].content', /content/],
    [{ ...ok, messages: [{ role: 'user', content: {} }] }, 'messages[0].content', /content/],
    [{ ...ok, messages: [{ role: 'user', content: ['x'] }] }, 'messages[0].content[0]', /type/],
    [{ ...ok, messages: [{ role: 'user', content: [{ text: 'x' }] }] }, 'messages[0].content[0]', /type/],
    [{ ...ok, messages: [ok.messages[0], { role: 'user', content: 'a\ud83d' }] }, 'messages[1].content', /surrogate/],
    [{ ...ok, messages: [{ role: 'user', content: [{ type: 'text', text: '\ude00' }] }] }, 'messages[0].content[0].text', /half/],
    ['{"model":"svc","messages":[{"role":"user","content":"\\uD83D!"}]}', 'messages[0].content', /half/],
    [{ ...ok, tools: [{ function: { ['a\udfff']: 1 } }] }, 'tools[0].function', /half/],
    [{ ...ok, stream: 'yes' }, 'stream', /'stream'/],
    [{ ...ok, stream: 1 }, 'stream', /'stream'/],
    [{ ...ok, max_tokens: 0 }, 'max_tokens', /'max_tokens'/],
    [{ ...ok, max_tokens: -1 }, 'max_tokens', /'max_tokens'/],
    [{ ...ok, max_tokens: 1.5 }, 'max_tokens', /'max_tokens'/],
    [{ ...ok, max_tokens: '5' }, 'max_tokens', /'max_tokens'/],
    [{ ...ok, max_completion_tokens: 1e300 }, 'max_completion_tokens', /'max_completion_tokens'/],
    [{ ...ok, max_completion_tokens: 5, max_tokens: 0 }, 'max_tokens', /'max_tokens'/],
    [{ ...ok, n: 0 }, 'n', /'n'/],
    [{ ...ok, n: 9 }, 'n', /'n'/],
    [{ ...ok, n: 1.5 }, 'n', /'n'/],
    [`{"model":"svc","messages":[{"role":"user","content":${deep(10_000)}}]}`, null, /nested/],
    [deep(200_000), null, /nested/],
    ['{"a":'.repeat(10_000), null, /nested/],
  ] as const) {
    const thrown = caught(() => parse(body))
    t.ok(thrown instanceof GatewayError && thrown.code === 'invalid_request', JSON.stringify(body).slice(0, 60))
    t.equal(thrown.details.param ?? null, param)
    t.match(thrown.message, words)
  }
})

t.test('accepts whole characters, escaped and plain', async (t) => {
  const escaped = '{"model":"svc","messages":[{"role":"user","content":"\\ud83d\\ude00 \\ud55c"}]}'
  t.same(parse(escaped).messages, [{ role: 'user', content: '😀 한' }])
})

t.test('does not quote a broken body', async (t) => {
  const thrown = caught(() => parse('{"password": hunter2'))
  t.notMatch(thrown.message, /hunter2|password/)
})

t.test('passes every compatible format unchanged', async (t) => {
  const body = {
    model: 'svc-2.1',
    messages: [
      { role: 'developer', content: 'Be brief.' },
      { role: 'system', content: [{ type: 'text', text: 'x', prompt_cache_breakpoint: true }] },
      {
        role: 'user',
        content: [
          { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
          { type: 'input_audio', input_audio: { data: '', format: 'wav' } },
          { type: 'file', file: { file_id: 'f' } },
        ],
      },
      { role: 'assistant', content: null, tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }] },
      { role: 'assistant' },
      { role: 'tool', tool_call_id: 'c', content: 'ok' },
      { role: 'function', name: 'f', content: 'ok' },
      { role: 'critic', content: 'roles are open' },
    ],
    stream: true,
    stream_options: { include_usage: true, include_obfuscation: false },
    max_tokens: 5,
    max_completion_tokens: 7,
    n: 2,
    reasoning_effort: 'xhigh',
    a_field_nobody_knows: { deep: [1, { x: null }] },
  }
  const chat = parse(body)
  t.same(chat.body, body)
  t.match(chat, { model: 'svc-2.1', stream: true, includeUsage: true, maxTokens: 7, choices: 2 })
  t.match(parse({ ...ok, stream: null, n: null, max_tokens: null, stream_options: null }), {
    stream: false,
    choices: 1,
    maxTokens: null,
  })
})

t.test('does not count brackets inside strings', async (t) => {
  t.doesNotThrow(() => parse({ ...ok, messages: [{ role: 'user', content: '[{"\\'.repeat(10_000) }] }))
})

t.test('ends a string at its first unescaped quote, at any length', async (t) => {
  const nested = { deep: JSON.parse(deep(127)) as unknown }
  for (let length = 0; length < 140; length++) {
    for (const escapes of ['', '"', '\\', '\\"', '\\\\', '"'.repeat(70), '\\'.repeat(70)]) {
      const content = `${'x'.repeat(length)}${escapes}[[[{{{${'y'.repeat(length)}${escapes}`
      const body = { ...ok, messages: [{ role: 'user', content }] }
      const sent = JSON.stringify(body)
      if (JSON.stringify(parse(sent).body) !== sent) t.fail(`${length} and ${escapes}`)
      // The brackets behind it count.
      const thrown = caught(() => parse({ ...body, nested }))
      if (!/nested/.test(thrown.message)) t.fail(`${length} and ${escapes}: ${thrown.message}`)
    }
  }
  for (const cut of ['{"a":"', `{"a":"${'x'.repeat(63)}\\`, `{"a":"${'x'.repeat(64)}\\"`, `{"a":"${'x'.repeat(200)}`])
    t.match(caught(() => parse(cut)).message, /not JSON/)
})

t.test('treats __proto__ as an ordinary field', async (t) => {
  const chat = parse(
    '{"model":"svc","messages":[{"role":"user","content":"x","__proto__":{"polluted":true}}],"__proto__":{"polluted":true}}',
  )
  t.equal(({} as Record<string, unknown>)['polluted'], undefined)
  t.equal((chat.body as Record<string, unknown>)['polluted'], undefined)
  t.match(JSON.stringify({ ...chat.body }), /__proto__/)
})

t.test('returns a request or throws a GatewayError for any bytes', async (t) => {
  const noise = fc.oneof(
    fc.uint8Array({ maxLength: 200 }),
    fc.json().map((text) => Buffer.from(text)),
  )
  fc.assert(
    fc.property(noise, (bytes) => {
      try {
        parseChatRequest(Buffer.from(bytes))
      } catch (error) {
        if (!(error instanceof GatewayError)) throw error
      }
    }),
    { numRuns: 500 },
  )
  t.pass()
})

t.test('gives two bodies the same hash only if they are the same request', async (t) => {
  t.equal(getBodyHash(parse(ok)), getBodyHash(parse(JSON.stringify(ok, null, 2))), 'white space does not matter')
  t.not(getBodyHash(parse(ok)), getBodyHash(parse({ ...ok, temperature: 0 })))
})

function caught(run: () => unknown): GatewayError {
  try {
    run()
  } catch (error) {
    return error as GatewayError
  }
  throw new Error('it was accepted')
}
