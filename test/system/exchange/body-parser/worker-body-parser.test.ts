/** Large requests and their worker: each gets a result, even if the worker dies. */
import type { Worker } from 'node:worker_threads'
import type { Test } from 'tap'
import t from 'tap'
import { GatewayError } from '../../../../src/errors.ts'
import type { ChatRequest } from '../../../../src/exchange/request/chat-request.ts'
import { SizedBodyParser } from '../../../../src/exchange/body-parser/sized-body-parser.ts'
import { getAnalysis } from '../../../../src/exchange/request/request-analysis.ts'
import { WorkerBodyParser } from '../../../../src/exchange/body-parser/worker-body-parser.ts'
import type { CostlyBody, WorkerBodyParserOptions } from '../../../../src/exchange/body-parser/worker-body-parser.ts'
import { ClientDisconnected } from '../../../../src/exchange/exchange.ts'
import { waitUntil } from '../../../support/gateway/test-gateway.ts'
import { systemClock } from '../../../../src/system/clock.ts'

const stays = (): void => undefined
const sent = (content: string) => Buffer.from(JSON.stringify({ model: 'svc-2.1', messages: [{ role: 'user', content }] }))

/** A worker that does what the job's text names, until it dies of it. */
function programOf(does: string): URL {
  return new URL(
    `data:text/javascript,${encodeURIComponent(`
      import { parentPort } from 'node:worker_threads'
      parentPort.on('message', ({ chunks }) => {
        const said = Buffer.concat(chunks).toString()
        const { user, system } = process.threadCpuUsage()
        const refuse = (en) => parentPort.postMessage({ threadMicros: user + system, kind: 'refused', code: 'invalid_request', details: { params: { detail: { en, zh: en } } } })
        ${does}
      })`)}`,
  )
}

function bodies(t: Test, options: Partial<WorkerBodyParserOptions> = {}) {
  const faults: string[] = []
  const costly: CostlyBody[] = []
  const bodies = new WorkerBodyParser({
    passRequestFields: [],
    maxBytes: 10 * 2 ** 20,
    clock: systemClock,
    onWorkerError: ({ message }) => void faults.push(message),
    onCostlyBody: (body) => void costly.push(body),
    ...options,
  })
  t.teardown(() => bodies.close())
  return { bodies, faults, costly }
}

async function thrownBy(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise
  } catch (error) {
    return error
  }
  throw new Error('it was read')
}

t.test('parses a body in any pieces, and rejects it like a small one', async (t) => {
  const { bodies: large } = bodies(t)
  const body = sent('x'.repeat(300_000))
  const shared = Buffer.concat([Buffer.from('before'), body, Buffer.from('behind')]).subarray(6, 6 + body.length)
  const crumbs = Array.from({ length: Math.ceil(body.length / 100) }, (_, i) => body.subarray(i * 100, (i + 1) * 100))
  const read = await Promise.all(
    [[Buffer.from(body)], [shared.subarray(0, 1_000), shared.subarray(1_000)], crumbs].map((chunks) =>
      large.parse(chunks, 'a', stays),
    ),
  )
  for (const chat of read) t.equal(Buffer.from(JSON.stringify(chat.body)).compare(body), 0)
  t.ok(shared.length > 0, 'memory shared with others is copied')
  const refused = await thrownBy(large.parse([Buffer.from('{"model":""}')], 'a', stays))
  t.match(refused, { code: 'invalid_request', details: { param: 'model' } })
  t.ok(refused instanceof GatewayError)
})

t.test('reuses buffers, and never one that is still in use', async (t) => {
  const { bodies: large } = bodies(t)
  const ask = (letter: string, length = 200_000, onLeave: (listener: () => void) => void = stays) =>
    large.parse([sent(letter.repeat(length))], letter, onLeave)
  const contentOf = ({ messages }: ChatRequest) => (messages[0] as { content: string }).content
  // More requests than buffers, and one that is longer than a buffer.
  const letters = [...'abcdefghijkl']
  const all = await Promise.all([...letters.map((letter) => ask(letter)), ask('z', 5_000_000)])
  all.forEach((chat, i) => t.ok(contentOf(chat) === (letters[i] ?? 'z').repeat(letters[i] === undefined ? 5_000_000 : 200_000)))
  for (const chat of all) chat.dispose?.()
  const later = await ask('A')
  const kept = await ask('B')
  later.dispose?.()
  t.throws(() => later.body, /over/, 'the buffer, which may hold another text, is not read')
  for (let i = 0; i < 20; i++) {
    const next = await ask('C')
    t.ok(contentOf(next) === 'C'.repeat(200_000))
    next.dispose?.()
    // The running job continues, and its result is dropped.
    const left = ask('D', 200_000, (leave) => leave()).catch((error: unknown) => error)
    t.ok((await left) instanceof ClientDisconnected)
  }
  t.ok(contentOf(kept) === 'B'.repeat(200_000))
})

t.test('frees a text above the size of the buffers when its request ends', async (t) => {
  const { bodies: large } = bodies(t)
  const chat = await large.parse([sent('x'.repeat(5_000_000))], 'a', stays)
  const { text } = chat
  t.ok(text.length > 5_000_000)
  chat.dispose()
  t.equal(text.length, 0)
  t.throws(() => chat.text, /over/)
})

t.test('collects the garbage of a very long body', async (t) => {
  const { bodies: large } = bodies(t)
  const threads: Worker[] = []
  const onWorker = (thread: Worker): void => void threads.push(thread)
  process.on('worker', onWorker)
  t.teardown(() => process.off('worker', onWorker))
  const long = await large.parse([sent('x'.repeat(30 * 2 ** 20))], 'a', stays)
  long.dispose()
  await large.parse([sent('x'.repeat(200_000))], 'a', stays)
  const isCollected = async (): Promise<boolean> => {
    const { used_heap_size: heapBytes = 0 } = (await threads[0]?.getHeapStatistics()) ?? {}
    return heapBytes > 0 && heapBytes < 24 * 2 ** 20
  }
  // The thread is alive and idle: without a collection it keeps 60 MB.
  await waitUntil(isCollected, 'the heap of the thread to be small')
})

t.test('serves members in turn', async (t) => {
  const { bodies: large } = bodies(t, { workerUrl: programOf('refuse(said)') })
  const order: string[] = []
  const ask = (member: string, name: string) =>
    thrownBy(large.parse([Buffer.from(name)], member, stays)).then((error) => order.push((error as Error).message.slice(-2)))
  await Promise.all([ask('a', 'a1'), ask('a', 'a2'), ask('a', 'a3'), ask('b', 'b1'), ask('c', 'c1')])
  // The first job starts before the others arrive.
  t.same(order, ['a1', 'b1', 'c1', 'a2', 'a3'])
})

t.test('fails only the current job when the worker dies', async (t) => {
  for (const [does, fault] of [
    ["throw new Error('a bug')", /a bug/],
    ['process.exit(3)', /has ended/],
  ] as const) {
    const { bodies: large, faults } = bodies(t, { workerUrl: programOf(`if (said === 'bad') { ${does} } else refuse(said)`) })
    const [bad, good, again] = await Promise.all(
      ['bad', 'good', 'good again'].map((name) => thrownBy(large.parse([Buffer.from(name)], 'a', stays))),
    )
    t.match(bad, { code: 'internal_error' })
    t.match(good, { code: 'invalid_request', message: /good/ })
    t.match(again, { code: 'invalid_request', message: /good again/ })
    t.equal(faults.length, 1)
    t.match(faults[0], fault)
  }
})

t.test('rejects a request that needs more than the worker’s heap as too large', async (t) => {
  const workerUrl = programOf(
    "if (said === 'bad') for (const all = []; ;) all.push(Array.from({ length: 100_000 })); else refuse(said)",
  )
  const { bodies: large } = bodies(t, { workerUrl, maxHeapMb: 32 })
  const both = await Promise.all(['bad', 'good'].map((name) => thrownBy(large.parse([Buffer.from(name)], 'a', stays))))
  t.match(both, [{ code: 'payload_too_large', message: /memory/ }, { code: 'invalid_request' }])
})

t.test('replaces a worker that does nothing', async (t) => {
  const { bodies: large, faults } = bodies(t, {
    workerUrl: programOf("if (said !== 'bad') refuse(said)"),
    checkIntervalMs: 5,
    maxIdleChecks: 100,
  })
  const ask = (name: string) => thrownBy(large.parse([Buffer.from(name)], 'a', stays))
  t.match(await ask('bad'), { code: 'internal_error', cause: /did not respond/ })
  t.equal(faults.length, 1)
  // On a busy machine starting a worker may take that long.
  await waitUntil(async () => ((await ask('good')) as GatewayError).code === 'invalid_request', 'one to be answered')
})

t.test('ends a body that takes more CPU time than its size explains, and serves others before its account’s next', async (t) => {
  const workerUrl = programOf("if (said === 'bad') for (;;); else refuse(said)")
  const { bodies: large, faults, costly } = bodies(t, { workerUrl, baseBudgetMs: 100, checkIntervalMs: 20 })
  const order: string[] = []
  const ask = async (member: string, name: string) => {
    const error = await thrownBy(large.parse([Buffer.from(name)], member, stays))
    order.push(`${member} ${name}`)
    return error
  }
  const [bad, ...rest] = await Promise.all([
    ask('a', 'bad'),
    ask('a', 'next'),
    ask('b', 'good'),
    ask('c', 'good'),
    ask('b', 'next'),
  ])
  t.match(bad, { code: 'payload_too_large', message: /more time to process than its size/ })
  for (const error of rest) t.match(error, { code: 'invalid_request' })
  t.equal(order.at(-1), 'a next')
  t.same(faults, [], 'the body is at fault, and not the thread')
  t.match(costly, [{ account: 'a', bytes: 3 }])
})

t.test('a body that takes long without CPU time of its own is not refused', async (t) => {
  // A machine that stands still gives no CPU time; here the worker waits instead.
  const wait = 'Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 400)'
  const { bodies: large } = bodies(t, {
    workerUrl: programOf(`${wait}; refuse(said)`),
    baseBudgetMs: 0,
    checkIntervalMs: 20,
    maxIdleChecks: 100_000,
  })
  t.match(await thrownBy(large.parse([Buffer.from('slow')], 'a', stays)), { code: 'invalid_request' })
})

t.test('a body of a few hundred kilobytes does not wait for one of megabytes', async (t) => {
  const workerUrl = programOf("if (!said.startsWith('waits')) refuse(said.slice(0, 5))")
  const { bodies: medium } = bodies(t, { workerUrl })
  const { bodies: large } = bodies(t, { workerUrl })
  const sized = new SizedBodyParser({ medium, large })
  const waiting = thrownBy(sized.parse([Buffer.from(`waits${'x'.repeat(2 ** 20)}`)], 'a', stays))
  t.match(await thrownBy(sized.parse([Buffer.from('small')], 'b', stays)), { code: 'invalid_request', message: /small/ })
  await sized.close()
  t.match(await waiting, { code: 'temporarily_unavailable' })
})

t.test('rejects at once when the client disconnects, and skips the queued job', async (t) => {
  const { bodies: large } = bodies(t, { workerUrl: programOf('setTimeout(() => refuse(said), 50)') })
  const leave: (() => void)[] = []
  const ask = (name: string) => thrownBy(large.parse([Buffer.from(name)], 'a', (listener) => void leave.push(listener)))
  const all = ['first', 'second', 'third'].map(ask)
  leave[0]?.()
  leave[1]?.()
  t.ok((await all[0]) instanceof ClientDisconnected)
  t.ok((await all[1]) instanceof ClientDisconnected)
  t.match(await all[2], { code: 'invalid_request', message: /third/ })
})

t.test(
  'at the end of the drain all are refused with its words; closed, it takes nothing more and holds nothing open',
  async (t) => {
    const { bodies: large } = bodies(t, { workerUrl: programOf('') })
    const waiting = () => ['first', 'second'].map((name) => thrownBy(large.parse([Buffer.from(name)], 'a', stays)))
    const reason = new GatewayError('temporarily_unavailable', { message: { en: 'restarting', zh: '' } })
    const drained = waiting()
    large.abortAll(reason)
    t.same(await Promise.all(drained), [reason, reason])
    const closed = waiting()
    await large.close()
    t.match(await Promise.all(closed), [{ code: 'temporarily_unavailable' }, { code: 'temporarily_unavailable' }])
    t.match(await thrownBy(large.parse([Buffer.from('late')], 'a', stays)), { code: 'temporarily_unavailable' })
  },
)

t.test('extends a request as if it had been sent with more messages', async (t) => {
  const { bodies: large } = bodies(t)
  const messages = [{ role: 'user', content: 'x'.repeat(300_000) }]
  const added = [
    { role: 'assistant', content: null, tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }] },
    { role: 'tool', tool_call_id: 'c', content: 'Found.' },
  ]
  const toBytes = (body: object) => [Buffer.from(JSON.stringify({ model: 'svc-2.1', ...body }))]
  const original = await large.parse(toBytes({ messages, tool_choice: 'required', temperature: 0.5 }), 'a', stays)
  for (const toolChoice of [undefined, 'none']) {
    const extended = await large.extend(original, { messages: added, toolChoice }, 'a', stays)
    const whole = { messages: [...messages, ...added], temperature: 0.5, ...(toolChoice && { tool_choice: toolChoice }) }
    const direct = await large.parse(toBytes(whole), 'a', stays)
    const toText = (chat: ChatRequest) => JSON.stringify(getAnalysis(chat)?.fields['messages'])
    t.equal(toText(extended), toText(direct))
    t.same({ ...getAnalysis(extended)?.count }, { ...getAnalysis(direct)?.count })
    t.equal(getAnalysis(extended)?.fields['tool_choice'], toolChoice)
    t.same(extended.body, direct.body)
    extended.dispose()
    direct.dispose()
  }
  t.equal(original.messages.length, 1, 'the request itself is as it was')
})
