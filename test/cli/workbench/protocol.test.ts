/** The socket as a client without manners meets it: framing, greeting, limits and errors. */
import t from 'tap'
import { errorNumbers, limits } from '../../../src/cli/workbench/protocol.ts'
import type { TestBench } from './support/bench.ts'
import { startBench, until } from './support/bench.ts'
import { helloOf, RawClient } from './support/raw-client.ts'

// Says nothing from now on, while the others are tested: it takes five seconds.
const silent = new RawClient(t, (await startBench(t)).settings.socketPath)

t.test('a request is understood wherever its bytes are cut', async (t) => {
  const bench = await startBench(t)
  const request = Buffer.from(
    `${JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'workspace.create', params: { title: 'é😀' } })}\n`,
  )
  const raw = new RawClient(t, bench.settings.socketPath)
  await raw.greet(bench)
  for (let at = 1; at < request.length; at += 1) {
    raw.write(request.subarray(0, at))
    await new Promise((resolve) => setImmediate(resolve))
    raw.write(request.subarray(at))
    await until('it is answered', () => raw.lines.length === at + 1)
  }
  t.equal(raw.lines.filter((line) => line.id === 7 && line.error === undefined).length, request.length - 1)
  t.match(raw.lines.at(-1), { result: { workspace: { title: 'é😀' } } })
})

t.test('two requests in one chunk get two answers', async (t) => {
  const bench = await startBench(t)
  const raw = new RawClient(t, bench.settings.socketPath)
  await raw.greet(bench)
  const ping = (id: number): string => `${JSON.stringify({ jsonrpc: '2.0', id, method: 'system.ping' })}\n`
  raw.write(ping(1) + ping(2))
  await until('both are answered', () => raw.lines.length === 3)
  t.strictSame(
    raw.lines
      .map((line) => line.id)
      .slice(1)
      .sort(),
    [1, 2],
  )
})

t.test('what is no request is refused with its own error, and the connection goes on', async (t) => {
  const bench = await startBench(t)
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
    await until(`${words} is answered`, () => raw.lines.length > before)
    t.equal(raw.lastError(), code, words)
    t.equal(raw.lines.at(-1)?.error?.code, errorNumbers[code as keyof typeof errorNumbers], `${words}: the number of ${code}`)
  }
  t.match(await raw.ask(99, 'system.ping'), { result: { pong: true } })
})

t.test('a line that is too long is answered and ends its connection, and no other', async (t) => {
  const bench = await startBench(t)
  const raw = new RawClient(t, bench.settings.socketPath)
  await raw.greet(bench)
  raw.write(`{"jsonrpc":"2.0","id":1,"method":"system.ping","params":{"x":"${'a'.repeat(limits.requestBytes)}"}}\n`)
  await raw.untilClosed()
  t.equal(raw.lastError(), 'invalid_request')
  t.match(await bench.client.call('system.ping', {}), { pong: true })
})

t.test('before the hello nothing is served but a ping', async (t) => {
  const bench = await startBench(t)
  const raw = new RawClient(t, bench.settings.socketPath)
  t.match(await raw.ask(1, 'system.ping'), { result: { pong: true } })
  t.match(await raw.ask(2, 'workspace.list'), { error: { code: -32001, data: { code: 'hello_required' } } })
  await raw.untilClosed()
})

t.test('a wrong token, an older protocol and silence are told why, then the connection ends', async (t) => {
  const bench = await startBench(t)
  for (const token of ['', 'x'.repeat(43), `${bench.token}x`]) {
    const raw = new RawClient(t, bench.settings.socketPath)
    t.match(await raw.ask(1, 'system.hello', helloOf(bench, { token })), {
      error: { code: -32001, data: { code: 'unauthorized' } },
    })
    await raw.untilClosed()
  }
  const old = new RawClient(t, bench.settings.socketPath)
  t.match(await old.ask(1, 'system.hello', helloOf(bench, { protocol: { min: 2, max: 3 } })), {
    error: {
      code: -32002,
      data: { code: 'unsupported_protocol', details: { host: { min: 1, max: 1 }, client: { min: 2, max: 3 } } },
    },
  })
  await old.untilClosed()
  const wide = new RawClient(t, bench.settings.socketPath)
  t.match(await wide.ask(1, 'system.hello', helloOf(bench, { protocol: { min: 0, max: 9 } })), { result: { protocol: 1 } })
})

t.test('the sixty-fifth connection is refused, and a place that is given up is free again', async (t) => {
  const bench = await startBench(t)
  const clients = Array.from({ length: limits.connections - 1 }, () => new RawClient(t, bench.settings.socketPath))
  for (const client of clients) await client.greet(bench)
  const late = new RawClient(t, bench.settings.socketPath)
  await late.untilClosed()
  t.equal(late.lastError(), 'busy')
  clients[0]?.socket.destroy()
  await until('a place is free', async () => {
    const again = new RawClient(t, bench.settings.socketPath)
    again.send({ jsonrpc: '2.0', id: 'hello', method: 'system.hello', params: helloOf(bench) })
    await until('it is answered or sent away', () => again.closed || again.lines.length > 0)
    return again.lines.some((line) => line.id === 'hello' && line.error === undefined)
  })
})

t.test('a request without an id is done and not answered', async (t) => {
  const bench = await startBench(t)
  const raw = new RawClient(t, bench.settings.socketPath)
  await raw.greet(bench)
  raw.send({ jsonrpc: '2.0', method: 'workspace.create', params: { title: 'quietly' } })
  await until('it was done', async () =>
    (await bench.client.call('workspace.list', {})).workspaces.some(({ title }) => title === 'quietly'),
  )
  await raw.ask(1, 'system.ping')
  t.equal(raw.lines.length, 2)
})

t.test('events come in order, and those of a break are given again as far as they are kept', async (t) => {
  const bench = await startBench(t)
  const first = new RawClient(t, bench.settings.socketPath)
  await first.greet(bench)
  const { result } = await first.ask(1, 'events.subscribe', { names: ['workspace.created'] })
  const { seq, gap } = result as { seq: number; gap: boolean }
  t.notOk(gap)
  await bench.client.call('workspace.create', { title: 'one' })
  await bench.client.call('workspace.create', { title: 'two' })
  await until('both events came', () => first.lines.filter((line) => line.method === 'event').length === 2)
  const seen = first.lines.flatMap((line) => (line.params ? [line.params.event] : []))
  t.strictSame(
    seen.map((event) => event.name),
    ['workspace.created', 'workspace.created'],
  )
  t.ok((seen[0]?.seq ?? 0) < (seen[1]?.seq ?? 0))

  const second = new RawClient(t, bench.settings.socketPath)
  await second.greet(bench)
  t.match(await second.ask(1, 'events.subscribe', { names: ['workspace.created'], after: seq }), { result: { gap: false } })
  await until('the missed events came', () => second.lines.filter((line) => line.method === 'event').length === 2)
  t.strictSame(
    second.lines.flatMap((line) => (line.params ? [line.params.event.seq] : [])),
    seen.map((event) => event.seq),
  )

  const third = new RawClient(t, bench.settings.socketPath)
  await third.greet(bench)
  t.match(await third.ask(1, 'events.subscribe', { after: 1_000_000 }), { result: { gap: true } }, 'of another host')
})

const manyAtOnce = limits.inFlight - 1

/** Events, many at once, because those are written down together. */
async function tellMany(bench: TestBench, title: string): Promise<void> {
  const tell = (): Promise<unknown> => bench.client.call('notification.create', { title, body: '' })
  await Promise.all(Array.from({ length: manyAtOnce }, tell))
}

t.test('events older than the ring are gone, and the reader is told', async (t) => {
  const bench = await startBench(t)
  const raw = new RawClient(t, bench.settings.socketPath)
  await raw.greet(bench)
  const { seq } = (await raw.ask(1, 'events.subscribe', {})).result as { seq: number }
  for (let told = 0; told < limits.eventRing; told += manyAtOnce) await tellMany(bench, 't')
  await tellMany(bench, 't')
  const late = new RawClient(t, bench.settings.socketPath)
  await late.greet(bench)
  t.match(await late.ask(1, 'events.subscribe', { after: seq }), { result: { gap: true } })
})

t.test('a reader that does not read is sent away, and the host goes on', async (t) => {
  const bench = await startBench(t)
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
  await until('it is sent away', () => ended)
  t.equal(slow.lastError(), 'slow_consumer')
  t.match(await bench.client.call('system.ping', {}), { pong: true })
})

t.test('clients that break off, lie or flood do not end the host', async (t) => {
  const bench = await startBench(t)
  for (let i = 0; i < 20; i += 1) {
    const raw = new RawClient(t, bench.settings.socketPath)
    if (i % 2 === 0) await raw.greet(bench)
    raw.write(Buffer.from(Array.from({ length: 200 }, (_, n) => (n * 37 + i) % 256)))
    raw.socket.destroy()
  }
  const flood = new RawClient(t, bench.settings.socketPath)
  await flood.greet(bench)
  for (let id = 1; id <= 500; id += 1) flood.send({ jsonrpc: '2.0', id, method: 'workspace.list' })
  await until('all are answered', () => flood.lines.length >= 501)
  t.match(await bench.client.call('system.ping', {}), { pong: true })
})

t.test('a client that says nothing is sent away after five seconds', async (t) => {
  await until('it is sent away', () => silent.closed, limits.helloMs + 30_000)
  t.equal(silent.lastError(), 'hello_required')
})
