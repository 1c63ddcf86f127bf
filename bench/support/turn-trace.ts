/**
 * Tracepoints of a turn on the serving and the writer thread, loaded with `--import` into a gateway of this checkout by `bench/turn-timeline.ts`.
 * It wraps methods from outside, so that the ordinary path has none of it. Each thread writes its records to `TURN_TRACE.<thread>` when it
 * ends. Times are microseconds of the machine's monotonic clock.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { subscribe } from 'node:diagnostics_channel'
import { writeFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { performance, PerformanceObserver } from 'node:perf_hooks'
import { threadId, Worker } from 'node:worker_threads'
import type { MessagePort } from 'node:worker_threads'
import Sqlite from 'better-sqlite3'
import { WalCheckpoint } from '../../src/store/sqlite/writer/wal-checkpoint.ts'
import { WalSync } from '../../src/store/sqlite/writer/wal-sync.ts'
import { WriterPorts } from '../../src/store/sqlite/writer/writer-ports.ts'
import { Writer } from '../../src/store/sqlite/writer/writer.ts'
import type { WriterOp } from '../../src/store/sqlite/connection/writer-protocol.ts'

/** Of one turn: the times of its tracepoints, and the numbers of the batches that carry its hold and its settlement. */
export type TurnTrace = Record<string, number>

export interface ThreadTrace {
  readonly thread: number
  readonly turns: Readonly<Record<string, TurnTrace>>
  /** By the batch's number. */
  readonly batches: readonly TurnTrace[]
  /** Stretches in which the thread collected garbage or copied the log. */
  readonly pauses: readonly (readonly [kind: string, at: number, us: number])[]
}

/** Header that names a traced turn. */
export const turnHeader = 'x-bench-turn'

const now = (): number => Number(process.hrtime.bigint() / 1_000n)

const path = process.env['TURN_TRACE']
if (path !== undefined) trace(path)

function trace(path: string): void {
  const turns: Record<string, TurnTrace> = {}
  const batches: TurnTrace[] = []
  const pauses: [kind: string, at: number, us: number][] = []
  const offset = now() - performance.now() * 1_000
  new PerformanceObserver((list) => {
    for (const { startTime, duration } of list.getEntries()) pauses.push(['gc', startTime * 1_000 + offset, duration * 1_000])
  }).observe({ entryTypes: ['gc'] })
  traceServing(turns)
  traceWriter(batches, pauses)
  process.on('exit', () =>
    writeFileSync(`${path}.${threadId}`, JSON.stringify({ thread: threadId, turns, batches, pauses } satisfies ThreadTrace)),
  )
}

function traceServing(turns: Record<string, TurnTrace>): void {
  const current = new AsyncLocalStorage<TurnTrace>()
  const byOperation = new WeakMap<object, readonly [turn: TurnTrace, name: string]>()
  const byRequest = new WeakMap<object, TurnTrace>()
  const mark = (turn: TurnTrace | undefined, name: string): void => {
    if (turn !== undefined) turn[name] ??= now()
  }
  subscribe('http.server.request.start', (message) => {
    const { request } = message as { readonly request: IncomingMessage }
    const id = request.headers[turnHeader]
    if (typeof id !== 'string') return
    const turn = (turns[id] = { in: now() })
    byRequest.set(request, turn)
    current.enterWith(turn)
  })
  subscribe('http.server.response.finish', (message) => {
    mark(byRequest.get((message as { readonly request: IncomingMessage }).request), 'out')
  })
  const byUpstreamRequest = new WeakMap<object, TurnTrace>()
  const upstreamPoints = {
    'undici:request:create': 'upstreamAsked',
    'undici:client:sendHeaders': 'upstreamSent',
    'undici:request:headers': 'upstreamHeaders',
    'undici:request:trailers': 'upstreamEnd',
  }
  for (const [channel, name] of Object.entries(upstreamPoints))
    subscribe(channel, (message) => {
      const { request } = message as { readonly request: object }
      const created = name === 'upstreamAsked' ? current.getStore() : undefined
      if (created !== undefined) byUpstreamRequest.set(request, created)
      mark(byUpstreamRequest.get(request), name)
    })
  const submit = Writer.prototype.submit
  Writer.prototype.submit = function (op: WriterOp, durable: boolean) {
    const turn = current.getStore()
    const name = op[0] === 'reserve' ? 'hold' : op[0] === 'settle' ? 'settle' : undefined
    const result = submit.call(this, op, durable)
    if (turn === undefined || name === undefined) return result
    mark(turn, `${name}Asked`)
    byOperation.set(op, [turn, name])
    return result.then((answer) => {
      mark(turn, `${name}Done`)
      return answer
    })
  }
  const post = Worker.prototype.postMessage
  let batch = 0
  Worker.prototype.postMessage = function (message: unknown, transfer) {
    if (Array.isArray(message) && message[0] === 'batch') {
      for (const op of message[2] as readonly object[]) {
        const [turn, name] = byOperation.get(op) ?? []
        if (turn === undefined) continue
        mark(turn, `${name}Posted`)
        turn[`${name}Batch`] = batch
      }
      batch += 1
    }
    post.call(this, message, transfer as never)
  }
}

function traceWriter(batches: TurnTrace[], pauses: [kind: string, at: number, us: number][]): void {
  let batch: TurnTrace = {}
  const listen = WriterPorts.prototype.listen
  WriterPorts.prototype.listen = function (port: MessagePort) {
    const [on, post] = [port.on.bind(port), port.postMessage.bind(port)] as [
      (name: string, listener: (message: unknown) => void) => MessagePort,
      (message: unknown) => void,
    ]
    Object.assign(port, {
      on: (name: string, listener: (message: unknown) => void) =>
        on(name, (message) => {
          if (name === 'message' && (message as readonly unknown[])[0] === 'batch') batches.push((batch = { received: now() }))
          listener(message)
        }),
      postMessage(message: readonly unknown[]) {
        if (message[0] === 'flushed') for (const each of batches.slice(-64)) each['flushed'] ??= now()
        else batch['replied'] ??= now()
        post(message)
      },
    })
    listen.call(this, port)
  }
  const prepare = Sqlite.prototype.prepare
  Sqlite.prototype.prepare = function (this: Sqlite.Database, source: string) {
    const statement = prepare.call(this, source)
    const name = source === 'begin immediate' ? 'begun' : source === 'commit' ? 'committed' : undefined
    if (name === undefined) return statement
    const run = statement.run.bind(statement) as () => unknown
    return Object.assign(statement, {
      run() {
        if (name === 'committed') batch['executed'] ??= now()
        const result = run()
        batch[name] ??= now()
        return result
      },
    })
  } as typeof prepare
  const sync = WalSync.prototype.syncInlineOrRequest
  WalSync.prototype.syncInlineOrRequest = function () {
    const result = sync.call(this)
    if (result[0] === 0) batch['flushed'] = now()
    return result
  }
  const checkpoint = WalCheckpoint.prototype.runIfDue
  WalCheckpoint.prototype.runIfDue = function (flush) {
    const began = now()
    checkpoint.call(this, flush)
    pauses.push(['checkpoint', began, now() - began])
  }
}
