/** What several threads have sent is committed together, and a transaction keeps the others waiting. */
import { once } from 'node:events'
import { setImmediate } from 'node:timers/promises'
import { MessageChannel } from 'node:worker_threads'
import type { MessagePort } from 'node:worker_threads'
import t from 'tap'
import { JoinDelay } from '../../../../../src/store/sqlite/writer/join-delay.ts'
import { WriterPorts } from '../../../../../src/store/sqlite/writer/writer-ports.ts'
import type { OwnedBatch, WriterPortsHandler } from '../../../../../src/store/sqlite/writer/writer-ports.ts'
import type { WriterReply, WriterRequest } from '../../../../../src/store/sqlite/connection/writer-protocol.ts'
import { SimulatedClock } from '../../../../support/simulated-clock.ts'
import type { TestScope } from '../../../../support/test-scope.ts'

const emptyReply: WriterReply = [[], 0, false, 0, 0, 0]

/** A writer whose commits are recorded as the numbers of operations of each of their batches. */
function createPorts(t: TestScope, { threads = 0 } = {}) {
  const clock = new SimulatedClock()
  const commits: (readonly [owner: string | undefined, operations: number])[][] = []
  const others: string[] = []
  const handler: WriterPortsHandler = {
    handle(request) {
      others.push(request[0])
      return emptyReply
    },
    handleBatches(batches: readonly OwnedBatch[]) {
      commits.push(batches.map(({ request, owner }) => [owner, request[2].length]))
      return batches.map(({ request }) => [request[2].map(() => ['rows', [], 1, 1]), 0, false, 0, 0, 0])
    },
    afterReply: () => undefined,
  }
  const ports = new WriterPorts(handler, new JoinDelay(clock))
  const own = new MessageChannel()
  ports.listen(own.port1)
  const clients: MessagePort[] = []
  t.teardown(() => {
    for (const port of [own.port2, ...clients]) port.close()
  })
  return {
    commits,
    others,
    own: own.port2,
    clock,
    clients,
    /** Attaches the threads, one after the other as the pool does. */
    async attach(): Promise<void> {
      for (let thread = 1; thread <= threads; thread += 1) {
        const { port1, port2 } = new MessageChannel()
        clients.push(port1)
        await ask(own.port2, ['attach', `thread-${thread}`, port2, 1, 1], [port2])
      }
    },
  }
}

async function ask(port: MessagePort, request: WriterRequest, transfer: readonly MessagePort[] = []): Promise<WriterReply> {
  const reply = once(port, 'message')
  port.postMessage(request, [...transfer])
  const [message] = (await reply) as [WriterReply]
  return message
}

function createBatch(operations: number): WriterRequest {
  return ['batch', true, Array.from({ length: operations }, () => ['sql', 'select 1', []] as const)]
}

/** After two of the threads have sent many operations at once. */
async function createCrowdedPorts(t: TestScope, threads: 2 | 3) {
  const writer = createPorts(t, { threads })
  await writer.attach()
  const [first, second, third] = writer.clients as [MessagePort, MessagePort, MessagePort]
  await Promise.all([ask(first, createBatch(12)), ask(second, createBatch(12))])
  writer.commits.length = 0
  return { writer, first, second, third }
}

t.test('commits together what all threads have sent, and answers each with its own results', async (t) => {
  const writer = createPorts(t, { threads: 3 })
  await writer.attach()
  const replies = await Promise.all([
    ask(writer.own, createBatch(1)),
    ...writer.clients.map((port, index) => ask(port, createBatch(index + 2))),
  ])
  t.same(
    replies.map(([results]) => results.length),
    [1, 2, 3, 4],
  )
  t.equal(writer.commits.length, 1)
  t.same(
    new Map(writer.commits[0]),
    new Map([
      [undefined, 1],
      ['thread-1', 2],
      ['thread-2', 3],
      ['thread-3', 4],
    ]),
  )
})

t.test('bounds how much is committed together', async (t) => {
  const writer = createPorts(t, { threads: 3 })
  await writer.attach()
  await Promise.all(writer.clients.map((port) => ask(port, createBatch(400))))
  t.same(
    writer.commits.map((batches) => batches.length),
    [2, 1],
  )
})

t.test('serves a transaction alone, and then together what waited', async (t) => {
  const writer = createPorts(t, { threads: 3 })
  await writer.attach()
  const [first, second, third] = writer.clients as [MessagePort, MessagePort, MessagePort]
  await ask(first, ['begin'])
  const waiting = [ask(second, createBatch(1)), ask(third, createBatch(1))]
  await ask(first, ['query', ['sql', 'select 1', []]])
  t.same(writer.commits, [], 'others wait')
  await ask(first, ['commit'])
  await Promise.all(waiting)
  t.same(
    writer.commits.map((batches) => batches.length),
    [2],
  )
  t.same(writer.others.slice(-3), ['begin', 'query', 'commit'])
})

t.test('a thread that ends within its transaction lets the others go on', async (t) => {
  const writer = createPorts(t, { threads: 2 })
  await writer.attach()
  const [first, second] = writer.clients as [MessagePort, MessagePort]
  await ask(first, ['begin'])
  const waiting = ask(second, createBatch(1))
  first.close()
  await waiting
  t.equal(writer.others.at(-1), 'rollback')
})

t.test('what a thread sent before it ended is executed before its holds are released', async (t) => {
  const writer = createPorts(t, { threads: 1 })
  await writer.attach()
  writer.clients[0]?.postMessage(createBatch(2))
  await ask(writer.own, ['release', 'thread-1', 1])
  t.same(writer.commits, [[['thread-1', 2]]])
  t.equal(writer.others.at(-1), 'release')
})

t.test('after a crowded commit waits for the threads that took part', async (t) => {
  const { writer, first, second, third } = await createCrowdedPorts(t, 3)
  const early = ask(first, createBatch(1))
  await runLoop()
  t.same(writer.commits, [], 'one of two threads has sent')
  await Promise.all([early, ask(second, createBatch(2))])
  t.same(writer.commits.splice(0), [
    [
      ['thread-1', 1],
      ['thread-2', 2],
    ],
  ])
  await ask(third, createBatch(1))
  t.equal(writer.commits.length, 1, 'three operations are too few to wait after')
})

t.test('waits for a thread that sends nothing no longer than the delay', async (t) => {
  const { writer, first } = await createCrowdedPorts(t, 2)
  const early = ask(first, createBatch(12))
  await runLoop()
  t.same(writer.commits, [])
  writer.clock.advance(2)
  await early
  t.same(writer.commits, [[['thread-1', 12]]])
  writer.clock.advance(8)
  await ask(first, createBatch(12))
  t.equal(writer.commits.length, 2, 'a thread that has been idle is not waited for')
})

t.test('waits for no thread before a request that is no batch', async (t) => {
  const { writer, first } = await createCrowdedPorts(t, 2)
  const early = ask(first, createBatch(1))
  await ask(writer.own, ['release', 'thread-2', 1])
  await early
  t.same(writer.commits, [[['thread-1', 1]]])
})

t.test('executes what a thread sent before it ended, though another one is waited for', async (t) => {
  const { writer, first, second } = await createCrowdedPorts(t, 3)
  first.postMessage(createBatch(1))
  first.close()
  await runLoop()
  await ask(second, createBatch(2))
  t.same(writer.commits, [
    [
      ['thread-1', 1],
      ['thread-2', 2],
    ],
  ])
})

t.test('executes before the release what the ended thread sent while another one was waited for', async (t) => {
  const { writer, first } = await createCrowdedPorts(t, 3)
  first.postMessage(createBatch(1))
  await ask(writer.own, ['release', 'thread-1', 1])
  t.same(writer.commits, [[['thread-1', 1]]])
  t.equal(writer.others.at(-1), 'release')
})

/** Long enough for the messages that have been sent. */
async function runLoop(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await setImmediate()
}
