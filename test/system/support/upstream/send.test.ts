/** Every fault that a script can request, as the client receives it. */
import { once } from 'node:events'
import { connect } from 'node:net'
import t from 'tap'
import type { FakeUpstream } from '../../../support/upstream/server.ts'
import { startFakeUpstream } from '../../../support/upstream/server.ts'
import type { Script } from '../../../support/upstream/script.ts'
import { SimulatedClock } from '../../../support/simulated-clock.ts'

const demo = await startFakeUpstream({ scripted: true, faults: true })
t.teardown(() => demo.close())

/** The part of a streamed event that these tests read. */
interface Event {
  readonly choices: readonly { readonly delta: { readonly content?: string }; readonly finish_reason: string | null }[]
  readonly usage?: unknown
  readonly error?: unknown
}

function request(script: Script, more: object = {}): string {
  const messages = [{ role: 'user', content: `demo:${JSON.stringify(script)}` }]
  return JSON.stringify({ model: 'demo-light', stream: true, stream_options: { include_usage: true }, messages, ...more })
}

function ask(script: Script, more: object = {}, init: RequestInit = {}): Promise<Response> {
  return fetch(`${demo.url}/chat/completions`, { method: 'POST', body: request(script, more), redirect: 'manual', ...init })
}

async function events(script: Script, more: object = {}): Promise<Event[]> {
  return parse(await (await ask(script, more)).text())
}

function parse(text: string): Event[] {
  const lines = text.split(/\r?\n/).filter((line) => line.startsWith('data: ') && line !== 'data: [DONE]')
  return lines.map((line) => JSON.parse(line.slice(6)))
}

interface Raw {
  readonly bytes: Buffer
  readonly pieces: number
  /** How the connection ended. */
  readonly end: 'fin' | 'reset'
}

/** A raw client, so that nothing hides how the connection ended. */
async function raw(body: string, headers = ''): Promise<Raw> {
  const socket = connect(demo.port, '127.0.0.1')
  const pieces: Buffer[] = []
  socket.on('data', (piece: Buffer) => pieces.push(piece))
  socket.write(
    `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nconnection: close\r\n${headers}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  )
  socket.on('error', () => {})
  const failed = await new Promise<boolean>((resolve) => socket.once('close', resolve))
  const end = failed ? 'reset' : 'fin'
  return { bytes: Buffer.concat(pieces), pieces: pieces.length, end }
}

t.test('sends any status with any body and headers', async (t) => {
  for (const status of [400, 401, 402, 403, 404, 408, 413, 429, 500, 502, 503, 504, 529]) {
    const reply = await ask({ status, headers: { 'retry-after': '7' }, body: { error: { code: status } } })
    t.equal(reply.status, status)
    t.equal(reply.headers.get('retry-after'), '7')
    t.same(await reply.json(), { error: { code: status } })
  }
  const text = await ask({ status: 500, body: 'oops', headers: { 'content-type': 'text/weird' } })
  t.equal(await text.text(), 'oops')
  t.equal(text.headers.get('content-type'), 'text/weird')
  t.match(await (await ask({ status: 418 })).json(), { error: { type: 'demo_error' } })
})

t.test('sends a 200 that is none: a web page, nothing, a redirect', async (t) => {
  const page = await ask({ html: true })
  t.equal(page.status, 200)
  t.equal(page.headers.get('content-type'), 'text/html')
  t.match(await page.text(), /^<!DOCTYPE html>/)
  const empty = await ask({ empty: true })
  t.equal(empty.status, 200)
  t.equal(await empty.text(), '')
  const redirect = await ask({ redirect: 'http://127.0.0.1:1/' })
  t.equal(redirect.status, 307)
  t.equal(redirect.headers.get('location'), 'http://127.0.0.1:1/')
})

t.test('sends an error object at every position of a 200', async (t) => {
  const value = { message: 'x', code: 429 }
  t.same(await events({ error: { at: 'first', value } }), [{ error: value }])
  const third = await events({ tokens: 5, error: { at: 2, value } })
  t.equal(third.length, 3)
  t.same(third[2], { error: value })
  const last = await events({ tokens: 2, error: { at: 'last', value } })
  t.equal(last.length, 4)
  t.same(last[3], { error: value })
  t.notOk(last.some((event) => event.choices?.[0]?.finish_reason))
  const choice = (await events({ tokens: 2, error: { at: 'choice', value } })).at(-1)
  t.match(choice, { error: value, choices: [{ finish_reason: 'error' }] })
  const whole = await ask({ error: { at: 'whole', value } })
  t.equal(whole.headers.get('content-type'), 'application/json')
  t.same(await whole.json(), { error: value })
  const plain = await (await ask({ error: { at: 'choice', value } }, { stream: false })).json()
  t.match(plain, { choices: [{ finish_reason: 'error', error: value }] })
  t.same(await (await ask({ error: { at: 'whole', value } }, { stream: false })).json(), { error: value })
  t.ok((await (await ask({ error: { at: 'first', value } })).text()).endsWith('[DONE]\n\n'))
  t.notMatch(await (await ask({ error: { at: 'first', value }, done: false })).text(), '[DONE]')
})

t.test('ends without a finish reason, or with a wrong one', async (t) => {
  const open = await (await ask({ tokens: 2, finish: null })).text()
  t.notMatch(open, /"finish_reason":"/)
  t.notMatch(open, '[DONE]')
  t.match(await (await ask({ tokens: 2, finish: null, done: true })).text(), '[DONE]')
  t.match(await events({ tokens: 1, finish: 'insufficient_system_resource' }), {
    2: { choices: [{ finish_reason: 'insufficient_system_resource' }] },
  })
  t.match(await (await ask({ finish: 'error' }, { stream: false })).json(), { choices: [{ finish_reason: 'error' }] })
  const noDone = await (await ask({ tokens: 1, done: false })).text()
  t.match(noDone, '"finish_reason":"stop"')
  t.notMatch(noDone, '[DONE]')
})

t.test('sends wrong usage of any kind at any position', async (t) => {
  for (const usage of [
    { completion_tokens: -5 },
    { completion_tokens: 1.5 },
    { completion_tokens: '7' },
    { completion_tokens: 1e308 },
    'x',
    [],
    {},
  ]) {
    t.same((await events({ tokens: 1, usage })).at(-1)?.usage, usage)
    t.same(((await (await ask({ usage }, { stream: false })).json()) as Event).usage, usage)
  }
  t.notMatch(await (await ask({ tokens: 1, usage: null })).text(), '"usage":')
  t.notMatch(await (await ask({ usage: null }, { stream: false })).text(), '"usage":')
  const where = async (usageOn: NonNullable<Script['usageOn']>) =>
    (await events({ tokens: 2, usageOn }))
      .map((event) => (event.usage === undefined ? '-' : event.choices.length === 0 ? 'own' : 'with'))
      .join(' ')
  t.equal(await where('own'), '- - - - own')
  t.equal(await where('twice'), '- - - - own own')
  t.equal(await where('finish'), '- - - with')
  t.equal(await where('first'), 'with - - -')
  t.equal(await where('every'), 'with with with with')
  const unasked = await events({ tokens: 1, usageOn: 'finish' }, { stream_options: undefined })
  t.ok(unasked.at(-1)?.usage, 'also to a client that did not request usage, if the script names a position')
})

t.test('resets after any number of bytes, counted from the status line', async (t) => {
  for (const afterBytes of [0, 1, 40, 200, 333, 500, 777]) {
    const { bytes, end } = await raw(request({ tokens: 20, reset: { afterBytes } }))
    t.equal(bytes.length, afterBytes)
    t.equal(end, 'reset')
  }
})

t.test('resets or closes after any number of events', async (t) => {
  for (const afterEvents of [0, 1, 3]) {
    for (const [kind, how] of [
      ['reset', 'reset'],
      ['cut', 'fin'],
    ] as const) {
      const { bytes, end } = await raw(request({ tokens: 20, [kind]: { afterEvents } }))
      t.equal(parse(bytes.toString()).length, afterEvents)
      t.equal(end, how)
      t.notMatch(bytes.toString(), '\r\n0\r\n', 'the body has no end')
    }
  }
  const whole = await raw(request({ reset: { afterEvents: 1 } }, { stream: false }))
  t.equal(whole.end, 'reset')
  const cut = await raw(request({ cut: { afterBytes: 300 } }, { stream: false }))
  t.equal(cut.bytes.length, 300)
  t.equal(cut.end, 'fin')
})

t.test('hangs until the client disconnects, which it notices at once', async (t) => {
  for (const hang of ['before_headers', 'after_headers', { afterEvents: 2 }] as const) {
    const leave = new AbortController()
    const next = demo.next()
    const reply = ask({ tokens: 9, hang }, {}, { signal: leave.signal })
    const call = await next
    let read = ''
    if (hang !== 'before_headers') {
      const { body } = await reply
      if (typeof hang === 'object') {
        const reader = body!.pipeThrough(new TextDecoderStream()).getReader()
        while (parse(read).length < 2) read += (await reader.read()).value
      }
    }
    t.equal(call.abortedAt, null)
    leave.abort()
    await reply.catch(() => 'gone')
    await call.ended
    t.ok(call.abortedAt !== null && call.abortedAt >= call.startedAt)
    t.equal(call.finished, false)
    t.equal(call.events, hang === 'before_headers' || hang === 'after_headers' ? 0 : 2)
  }
})

t.test('sends the same bytes in any parts', async (t) => {
  const text = 'Grüße, 你好, 😀!'
  const usual = parse(await (await ask({ text })).text()).map((event) => event.choices[0]?.delta.content ?? '')
  for (const script of [{ split: 1 }, { split: 3 }, { split: 7 }, { drip: { bytes: 400, everyMs: 1 } }]) {
    const parts = await raw(request({ text, ...script }))
    const content = parse(parts.bytes.toString().replaceAll(/\r\n[0-9a-f]+\r\n/g, '')).map(
      (event) => event.choices[0]?.delta.content ?? '',
    )
    t.equal(content.join(''), usual.join(''))
    t.ok(parts.pieces > 5, `${parts.pieces} pieces`)
    t.equal(
      parse(await (await ask({ text, ...script })).text())
        .map((event) => event.choices[0]?.delta.content ?? '')
        .join(''),
      text,
    )
  }
})

t.test('sends valid CR LF, comments, gzip and huge answers', async (t) => {
  const crlf = await (await ask({ tokens: 2, crlf: true })).text()
  t.match(crlf, /\r\n\r\n/)
  t.notMatch(crlf, /[^\r]\n/)
  t.ok((await (await ask({ tokens: 1, comments: 2 })).text()).startsWith(': keep-alive\n\n: keep-alive\n\ndata: '))
  const zipped = await ask({ tokens: 3, gzip: true })
  t.equal(zipped.headers.get('content-encoding'), 'gzip')
  t.equal(parse(await zipped.text()).length, 6)
  t.ok(await (await ask({ gzip: true }, { stream: false })).json())
  const huge = await (await ask({ hugeBytes: 3_000_000 }, { stream: false })).text()
  t.ok(huge.length > 3_000_000)
  t.ok((await events({ tokens: 1, hugeBytes: 300_000 }))[1]?.choices[0]?.delta.content?.length === 300_000)
})

t.test('pauses where the script says', async (t) => {
  const started = performance.now()
  const reply = await ask({ tokens: 2, headMs: 30, ttftMs: 30, betweenMs: 10 })
  t.ok(performance.now() - started >= 28)
  await reply.text()
  t.ok(performance.now() - started >= 30 + 30 + 3 * 10 - 5)
})

t.test('sends an early answer while the request is still being sent', async (t) => {
  const socket = connect(demo.port, '127.0.0.1')
  t.teardown(() => socket.destroy())
  socket.write(
    'POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nx-demo-script: {"early":true,"status":413}\r\ncontent-length: 100000\r\n\r\n{"model"',
  )
  const [data] = (await once(socket, 'data')) as [Buffer]
  t.match(data.toString(), /^HTTP\/1.1 413/)
})

t.test('accepts a script from a header, a test or a message, and rejects an invalid one', async (t) => {
  const plain = JSON.stringify({ model: 'demo-light', messages: [{ role: 'user', content: 'Hi' }] })
  const post = (headers: Record<string, string> = {}) =>
    fetch(`${demo.url}/chat/completions`, { method: 'POST', body: plain, headers })
  t.equal((await post({ 'x-demo-script': '{"status":503}' })).status, 503)
  demo.script((call) => (call.rawBody.includes('"Hi"') ? { status: 504 } : undefined))
  t.equal((await post()).status, 504)
  demo.script(() => ({ status: 505 }), { at: 'head' })
  t.equal((await post()).status, 505)
  demo.script()
  t.equal((await post()).status, 200)
  const typo = await ask({ staus: 500 } as Script)
  t.equal(typo.status, 400)
  t.match(await typo.json(), { error: { code: 'invalid_script', message: /staus/ } })
  t.equal((await post({ 'x-demo-script': '{' })).status, 400)
})

t.test('records its calls for tests', async (t) => {
  const own: FakeUpstream = await startFakeUpstream({
    maxCalls: 2,
    clock: new SimulatedClock({ now: 5_000, isLive: true }),
    scripted: true,
  })
  t.teardown(() => own.close())
  const body = request({ tokens: 4 })
  for (const id of ['a', 'b', 'c']) {
    const headers = { 'x-client-request-id': id, 'X-Odd': 'yes' }
    await (await fetch(`${own.url}/chat/completions`, { method: 'POST', body, headers })).text()
  }
  t.same(
    own.calls.map(({ id }) => id),
    ['b', 'c'],
    'the oldest is forgotten',
  )
  t.match(own.calls[1], {
    model: 'demo-light',
    stream: true,
    tokens: 4,
    events: 8,
    finished: true,
    abortedAt: null,
    rawBody: body,
    startedAt: 5_000,
  })
  t.equal(own.calls[1]?.headers['x-odd'], 'yes')
  t.match(own.stats(), { requests: 3, open: 0, tokens: 12, finished: 3, aborted: 0 })
})

t.test('stops counting when the client disconnects', async (t) => {
  const leave = new AbortController()
  const next = demo.next()
  const reply = await ask({ tokens: 100_000, betweenMs: 1 }, {}, { signal: leave.signal })
  const call = await next
  const reader = reply.body!.getReader()
  await reader.read()
  leave.abort()
  await call.ended
  const { tokens } = call
  t.ok(tokens < 1_000)
  await (await ask({ tokens: 10, betweenMs: 2 })).text()
  t.equal(call.tokens, tokens, 'produces nothing for a client that has disconnected')
  t.equal(demo.stats().open, 0)
  t.ok(demo.stats().aborted > 0)
})

t.test('stops writing to a client that does not read', async (t) => {
  const next = demo.next()
  const socket = connect(demo.port, '127.0.0.1')
  t.teardown(() => socket.destroy())
  socket.pause()
  const body = request({ tokens: 1_000_000 })
  socket.write(`POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`)
  const call = await next
  let before = -1
  while (call.tokens !== before) {
    before = call.tokens
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  t.ok(call.tokens < 100_000, `stopped at ${call.tokens}`)
  socket.destroy()
  await call.ended
  t.ok(call.abortedAt !== null)
})

t.test('ends hanging connections when it closes', async (t) => {
  const own = await startFakeUpstream({ scripted: true })
  const next = own.next()
  const reply = fetch(`${own.url}/chat/completions`, { method: 'POST', body: request({ hang: 'before_headers' }) })
  await next
  await own.close()
  await t.rejects(reply)
  t.equal(own.stats().open, 0)
})
