/**
 * Streams that last: what a held one costs in memory, and how evenly events come through many at once.
 *
 *   node bench/streams.ts [--held 8000] [--live 400] [--seconds 10]
 *
 * Held streams have begun and then wait; each takes a descriptor here and at the upstream and two in the gateway (`ulimit -n`). Live ones
 * bring 50 events a second each, direct and through the gateway in turns.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { Agent } from 'undici'
import type { Dispatcher } from 'undici'
import { cpuSeconds, residentKib, startGateway, startUpstream } from './processes.ts'

const { values } = parseArgs({
  options: {
    held: { type: 'string', default: '8000' },
    live: { type: 'string', default: '400' },
    seconds: { type: 'string', default: '10' },
  },
})
const held = Number(values.held)
const live = Number(values.live)
const seconds = Number(values.seconds)
const betweenMs = 20

interface Place {
  readonly origin: string
  readonly path: string
  readonly headers: Record<string, string>
  readonly model: string
}

const model = 'demo-flagship'
const upstream = await startUpstream(['--scripted'])
const gateway = await startGateway(upstream.url.replace(/\/v1$/, ''), { model })
const dispatcher = new Agent({ connections: 20_000, headersTimeout: 0, bodyTimeout: 0 })
const json = { 'content-type': 'application/json' }
const direct: Place = {
  origin: new URL(upstream.url).origin,
  path: '/v1/chat/completions',
  headers: json,
  model,
}
const through: Place = {
  origin: gateway.url,
  path: '/v1/chat/completions',
  headers: { ...json, authorization: `Bearer ${gateway.key}` },
  model: 'svc-2.1',
}

/** One stream: told of each piece that arrives. `end` leaves it. */
class Stream implements Dispatcher.DispatchHandler {
  readonly begun: Promise<void>
  readonly over: Promise<void>
  status = 0
  #begin!: () => void
  #fail!: (error: Error) => void
  #close!: () => void
  #controller: Dispatcher.DispatchController | undefined
  readonly #onEvent: () => void

  constructor({ origin, path, headers, model }: Place, script: object, onEvent: () => void) {
    this.#onEvent = onEvent
    this.begun = new Promise((resolve, reject) => {
      this.#begin = resolve
      this.#fail = reject
    })
    this.over = new Promise((resolve) => (this.#close = resolve))
    const body = JSON.stringify({
      model,
      stream: true,
      messages: [{ role: 'user', content: `demo:${JSON.stringify(script)}` }],
    })
    dispatcher.dispatch({ origin, path, method: 'POST', headers, body }, this)
  }

  leave(): void {
    this.#controller?.abort(new Error('seen enough'))
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number): void {
    this.status = status
    if (status !== 200) this.#fail(new Error(`answered ${status}`))
  }

  onResponseData(): void {
    this.#begin()
    this.#onEvent()
  }

  onResponseEnd(): void {
    this.#close()
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.#fail(error)
    this.#close()
  }
}

async function memoryOfHeld(): Promise<void> {
  // What the first few cost is code and pools that later ones share.
  const first = await open(200)
  const before = residentKib(gateway.pid)
  const rest = await open(held - 200)
  await pause(2_000)
  const after = residentKib(gateway.pid)
  const cpu = cpuSeconds(gateway.pid)
  await pause(5_000)
  process.stdout.write(
    `held: ${held} streams at once, ${((after - before) / (held - 200)).toFixed(1)} KiB each, ` +
      `${(((cpuSeconds(gateway.pid) - cpu) / 5) * 100).toFixed(1)} % of a core while they wait\n`,
  )
  for (const stream of [...first, ...rest]) stream.leave()
  await pause(2_000)
}

async function open(count: number): Promise<Stream[]> {
  const streams: Stream[] = []
  for (let opened = 0; opened < count; opened += 100) {
    const some = Array.from({ length: Math.min(100, count - opened) }, () => {
      return new Stream(through, { tokens: 50, hang: { afterEvents: 2 } }, () => undefined)
    })
    await Promise.all(some.map((stream) => stream.begun))
    streams.push(...some)
  }
  return streams
}

/** How far each event was from coming `betweenMs` after the last one of its stream, in milliseconds. */
async function evenness(place: Place): Promise<number[]> {
  const late: number[] = []
  const streams = Array.from({ length: live }, () => {
    let last = 0
    return new Stream(place, { tokens: (seconds * 1000) / betweenMs, ttftMs: 0, betweenMs }, () => {
      const now = performance.now()
      if (last !== 0) late.push(Math.max(0, now - last - betweenMs))
      last = now
    })
  })
  await Promise.all(streams.map((stream) => stream.begun))
  await Promise.all(streams.map((stream) => stream.over))
  return late.toSorted((a, b) => a - b)
}

try {
  await memoryOfHeld()
  for (const [name, place] of [
    ['direct', direct],
    ['gateway', through],
    ['direct', direct],
    ['gateway', through],
  ] as const) {
    const cpu = cpuSeconds(gateway.pid)
    const late = await evenness(place)
    const of = (share: number): string => (late[Math.floor(late.length * share)] ?? 0).toFixed(2)
    const used =
      name === 'gateway' ? `, ${(((cpuSeconds(gateway.pid) - cpu) / late.length) * 1e6).toFixed(0)} µs CPU an event` : ''
    process.stdout.write(
      `${name}: ${live} streams × ${1000 / betweenMs} events/s, ${late.length} gaps, over ${betweenMs} ms by p50 ${of(0.5)} p99 ${of(0.99)} ms${used}\n`,
    )
  }
} finally {
  await dispatcher.destroy()
  for (const program of [gateway, upstream]) await program.stop()
}
