/** The socket with misbehaving clients: framing, hello, limits and errors. */
import t from 'tap'
import { errorNumbers, limits } from '../../../../../src/cli/workbench/protocol/protocol.ts'
import type { TestWorkbench } from '../support/test-workbench.ts'
import { startTestWorkbench } from '../support/test-workbench.ts'
import { waitUntil } from '../../../../support/wait-until.ts'
import { createHello, RawClient } from '../support/raw-client.ts'

// Silent from now on, while the other tests run, because its timeout is five seconds.
const silent = new RawClient(t, (await startTestWorkbench(t)).settings.socketPath)

t.test('parses a request wherever its bytes are split', async (t) => {
  const bench = await startTestWorkbench(t)
  const request = Buffer.from(
    `${JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'workspace.create', params: { title: 'é😀' } })}\n`,
  )
  const raw = new RawClient(t, bench.settings.socketPath)
  await raw.greet(bench)
  for (let at = 1; at < request.length; at += 1) {
    raw.write(request.subarray(0, at))
    await new Promise((resolve) => setImmediate(resolve))
    raw.write(request.subarray(at))
    await waitUntil(() => raw.lines.length === at + 1, 'it is answered')
  }
  t.equal(raw.lines.filter((line) => line.id === 7 && line.error === undefined).length, request.length - 1)
  t.match(raw.lines.at(-1), { result: { workspace: { title: 'é😀' } } })
})

t.test('two requests in one chunk get two answers', async (t) => {
  const bench = await startTestWorkbench(t)
  const raw = new RawClient(t, bench.settings.socketPath)
  await raw.greet(bench)
  const ping = (id: number): string => `${JSON.stringify({ jsonrpc: '2.0', id, method: 'system.ping' })}\n`
  raw.write(ping(1) + ping(2))
  await waitUntil(() => raw.lines.length === 3, 'both are answered')
  t.strictSame(
    raw.lines
      .map((line) => line.id)
      .slice(1)
      .sort(),
    [1, 2],
  )
})

t.test('refuses an invalid request with its own error and continues the connection', async (t) => {
  const bench = await startTestWorkbench(t)
  const raw = new RawClient(t, bench.settings.socketPath)
  await raw.greet(bench)
  const cases: readonly (readonly [words: string, bytes: string | Buffer, code: string])[] = [
    ['no JSON', '{oops\n', 'parse_error'],
    ['bytes that are not UTF-8', Buffer.from([0x22, 0xff, 0xfe, 0x22, 0x0a]), 'parse_error'],
    ['a batch', '[{"jsonrpc":"2.0","id":1,"method":"system.ping"}]\n', 'invalid_request'],
    ['a number', '5\n', 'invalid_request'],
    ['another JSON-RPC', '{"jsonrpc":"1.0","id":1,"method":"system.ping"}\n', 'invalid_request'],
    ['a method that is no string', '{"jsonrpc":"2.0","id":1,"method":1}\n', 'invalid_request'],
    ['an object as id', '{"jsonrpc":"2.0","id":{},"method":"system.ping"}\n', 'invalid_request'],
    ['an unknown method', '{"jsonrpc":"2.0","id":1,"method":"system.reboot"}\n', 'method_not_found'],
    ['a name every object has', '{"jsonrpc":"2.0","id":1,"method":"constructor"}\n', 'method_not_found'],
    ['an unknown parameter', '{"jsonrpc":"2.0","id":1,"method":"workspace.create","params":{"titel":"x"}}\n', 'invalid_params'],
    ['a parameter of the wrong kind', '{"jsonrpc":"2.0","id":1,"method":"pane.read","params":{"lines":-1}}\n', 'invalid_params'],
    ['parameters by position', '{"jsonrpc":"2.0","id":1,"method":"system.ping","params":[1]}\n', 'invalid_params'],
    ['a thing that is not there', '{"jsonrpc":"2.0","id":1,"method":"pane.read","params":{"paneId":"pn_0"}}\n', 'not_found'],
  ]
  for (const [words, bytes, code] of cases) {
    const before = raw.lines.length
    raw.write(bytes)
    await waitUntil(() => raw.lines.length > before, `${words} is answered`)
    t.equal(raw.lastError(), code, words)
    t.equal(raw.lines.at(-1)?.error?.code, errorNumbers[code as keyof typeof errorNumbers], `${words}: the number of ${code}`)
  }
  t.match(await raw.ask(99, 'system.ping'), { result: { pong: true } })
})

t.test('answers a line that is too long and ends only its connection', async (t) => {
  const bench = await startTestWorkbench(t)
  const raw = new RawClient(t, bench.settings.socketPath)
  await raw.greet(bench)
  raw.write(`{"jsonrpc":"2.0","id":1,"method":"system.ping","params":{"x":"${'a'.repeat(limits.requestBytes)}"}}\n`)
  await raw.waitUntilClosed()
  t.equal(raw.lastError(), 'invalid_request')
  t.match(await bench.client.call('system.ping', {}), { pong: true })
})

t.test('serves only ping before the hello', async (t) => {
  const bench = await startTestWorkbench(t)
  const raw = new RawClient(t, bench.settings.socketPath)
  t.match(await raw.ask(1, 'system.ping'), { result: { pong: true } })
  t.match(await raw.ask(2, 'workspace.list'), { error: { code: -32001, data: { code: 'hello_required' } } })
  await raw.waitUntilClosed()
})

t.test('a wrong token, an older protocol and silence receive a reason before the connection ends', async (t) => {
  const bench = await startTestWorkbench(t)
  for (const token of ['', 'x'.repeat(43), `${bench.token}x`]) {
    const raw = new RawClient(t, bench.settings.socketPath)
    t.match(await raw.ask(1, 'system.hello', createHello(bench, { token })), {
      error: { code: -32001, data: { code: 'unauthorized' } },
    })
    await raw.waitUntilClosed()
  }
  const old = new RawClient(t, bench.settings.socketPath)
  t.match(await old.ask(1, 'system.hello', createHello(bench, { protocol: { min: 2, max: 3 } })), {
    error: {
      code: -32002,
      data: { code: 'unsupported_protocol', details: { host: { min: 1, max: 1 }, client: { min: 2, max: 3 } } },
    },
  })
  await old.waitUntilClosed()
  const wide = new RawClient(t, bench.settings.socketPath)
  t.match(await wide.ask(1, 'system.hello', createHello(bench, { protocol: { min: 0, max: 9 } })), { result: { protocol: 1 } })
})

t.test('refuses the sixty-fifth connection, and accepts one after another has closed', async (t) => {
  const bench = await startTestWorkbench(t)
  const clients = Array.from({ length: limits.connections - 1 }, () => new RawClient(t, bench.settings.socketPath))
  for (const client of clients) await client.greet(bench)
  const late = new RawClient(t, bench.settings.socketPath)
  await late.waitUntilClosed()
  t.equal(late.lastError(), 'busy')
  clients[0]?.socket.destroy()
  await waitUntil(async () => {
    const again = new RawClient(t, bench.settings.socketPath)
    again.send({ jsonrpc: '2.0', id: 'hello', method: 'system.hello', params: createHello(bench) })
    await waitUntil(() => again.closed || again.lines.length > 0, 'it is answered or sent away')
    return again.lines.some((line) => line.id === 'hello' && line.error === undefined)
  }, 'a place is free')
})

t.test('runs a request without an id and does not answer it', async (t) => {
  const bench = await startTestWorkbench(t)
  const raw = new RawClient(t, bench.settings.socketPath)
  await raw.greet(bench)
  raw.send({ jsonrpc: '2.0', method: 'workspace.create', params: { title: 'quietly' } })
  await waitUntil(
    async () => (await bench.client.call('workspace.list', {})).workspaces.some(({ title }) => title === 'quietly'),
    'it was done',
  )
  await raw.ask(1, 'system.ping')
  t.equal(raw.lines.length, 2)
})

t.test('sends events in order, and repeats those of an interruption as far as they are stored', async (t) => {
  const bench = await startTestWorkbench(t)
  const first = new RawClient(t, bench.settings.socketPath)
  await first.greet(bench)
  const { result } = await first.ask(1, 'events.subscribe', { names: ['workspace.created'] })
  const { seq, gap } = result as { seq: number; gap: boolean }
  t.notOk(gap)
  await bench.client.call('workspace.create', { title: 'one' })
  await bench.client.call('workspace.create', { title: 'two' })
  await waitUntil(() => first.lines.filter((line) => line.method === 'event').length === 2, 'both events came')
  const seen = first.lines.flatMap((line) => (line.params ? [line.params.event] : []))
  t.strictSame(
    seen.map((event) => event.name),
    ['workspace.created', 'workspace.created'],
  )
  t.ok((seen[0]?.seq ?? 0) < (seen[1]?.seq ?? 0))

  const second = new RawClient(t, bench.settings.socketPath)
  await second.greet(bench)
  t.match(await second.ask(1, 'events.subscribe', { names: ['workspace.created'], after: seq }), { result: { gap: false } })
  await waitUntil(() => second.lines.filter((line) => line.method === 'event').length === 2, 'the missed events came')
  t.strictSame(
    second.lines.flatMap((line) => (line.params ? [line.params.event.seq] : [])),
    seen.map((event) => event.seq),
  )

  const third = new RawClient(t, bench.settings.socketPath)
  await third.greet(bench)
  t.match(await third.ask(1, 'events.subscribe', { after: 1_000_000 }), { result: { gap: true } }, 'of another host')
})

const manyAtOnce = limits.inFlight - 1

/** Causes many events at once, which are written together. */
async function tellMany(bench: TestWorkbench, title: string): Promise<void> {
  const tell = (): Promise<unknown> => bench.client.call('notification.create', { title, body: '' })
  await Promise.all(Array.from({ length: manyAtOnce }, tell))
}

t.test('drops events older than the ring and reports that to the reader', async (t) => {
  const bench = await startTestWorkbench(t)
  const raw = new RawClient(t, bench.settings.socketPath)
  await raw.greet(bench)
  const { seq } = (await raw.ask(1, 'events.subscribe', {})).result as { seq: number }
  for (let told = 0; told < limits.eventRing; told += manyAtOnce) await tellMany(bench, 't')
  await tellMany(bench, 't')
  const late = new RawClient(t, bench.settings.socketPath)
  await late.greet(bench)
  t.match(await late.ask(1, 'events.subscribe', { after: seq }), { result: { gap: true } })
})

t.test('disconnects a reader that does not read, and continues', async (t) => {
  const bench = await startTestWorkbench(t)
  const slow = new RawClient(t, bench.settings.socketPath)
  await slow.greet(bench)
  await slow.ask(1, 'events.subscribe', { names: ['notification.created'] })
  slow.socket.pause()
  const title = 'x'.repeat(1_000)
  let ended = false
  slow.socket.on('close', () => {
    ended = true
  })
  const noticed = (): boolean => bench.log.some((entry) => entry['code'] === 'slow_consumer')
  for (let told = 0; told < 10_000 && !noticed(); told += manyAtOnce) await tellMany(bench, title)
  t.ok(noticed())
  slow.socket.resume()
  await waitUntil(() => ended, 'it is sent away')
  t.equal(slow.lastError(), 'slow_consumer')
  t.match(await bench.client.call('system.ping', {}), { pong: true })
})

t.test('clients that abort, send invalid data or flood do not end the host', async (t) => {
  const bench = await startTestWorkbench(t)
  for (let i = 0; i < 20; i += 1) {
    const raw = new RawClient(t, bench.settings.socketPath)
    if (i % 2 === 0) await raw.greet(bench)
    raw.write(Buffer.from(Array.from({ length: 200 }, (_, n) => (n * 37 + i) % 256)))
    raw.socket.destroy()
  }
  const flood = new RawClient(t, bench.settings.socketPath)
  await flood.greet(bench)
  for (let id = 1; id <= 500; id += 1) flood.send({ jsonrpc: '2.0', id, method: 'workspace.list' })
  await waitUntil(() => flood.lines.length >= 501, 'all are answered')
  t.match(await bench.client.call('system.ping', {}), { pong: true })
})

t.test('disconnects a silent client after five seconds', async (t) => {
  await waitUntil(() => silent.closed, 'it is sent away')
  t.equal(silent.lastError(), 'hello_required')
})
