/**
 * Measures long streams: the memory of a held one, and how evenly events arrive through many at once.
 *
 *   node bench/streams.ts [--held 8000] [--live 400] [--seconds 10]
 *
 * Held streams have begun and then wait; each takes a descriptor here and at the upstream and two in the gateway (`ulimit -n`). Live ones
 * send 50 events per second each, alternately direct and through the gateway.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { Agent } from 'undici'
import type { Dispatcher } from 'undici'
import { readCpuSeconds, readResidentKib, startGateway, startUpstream } from './support/processes.ts'

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

interface Endpoint {
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
const direct: Endpoint = {
  origin: new URL(upstream.url).origin,
  path: '/v1/chat/completions',
  headers: json,
  model,
}
const viaGateway: Endpoint = {
  origin: gateway.url,
  path: '/v1/chat/completions',
  headers: { ...json, authorization: `Bearer ${gateway.key}` },
  model: 'svc-2.1',
}

/** One stream; reports each chunk that arrives. `end` closes it. */
class Stream implements Dispatcher.DispatchHandler {
  readonly opened: Promise<void>
  readonly closed: Promise<void>
  status = 0
  #resolveOpened!: () => void
  #rejectOpened!: (error: Error) => void
  #resolveClosed!: () => void
  #controller: Dispatcher.DispatchController | undefined
  readonly #onEvent: () => void

  constructor({ origin, path, headers, model }: Endpoint, script: object, onEvent: () => void) {
    this.#onEvent = onEvent
    this.opened = new Promise((resolve, reject) => {
      this.#resolveOpened = resolve
      this.#rejectOpened = reject
    })
    this.closed = new Promise((resolve) => (this.#resolveClosed = resolve))
    const body = JSON.stringify({
      model,
      stream: true,
      messages: [{ role: 'user', content: `demo:${JSON.stringify(script)}` }],
    })
    dispatcher.dispatch({ origin, path, method: 'POST', headers, body }, this)
  }

  abort(): void {
    this.#controller?.abort(new Error('seen enough'))
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number): void {
    this.status = status
    if (status !== 200) this.#rejectOpened(new Error(`answered ${status}`))
  }

  onResponseData(): void {
    this.#resolveOpened()
    this.#onEvent()
  }

  onResponseEnd(): void {
    this.#resolveClosed()
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.#rejectOpened(error)
    this.#resolveClosed()
  }
}

async function measureIdleMemory(): Promise<void> {
  // The first few also pay for code and pools that later ones share.
  const first = await openStreams(200)
  const before = readResidentKib(gateway.pid)
  const rest = await openStreams(held - 200)
  await pause(2_000)
  const after = readResidentKib(gateway.pid)
  const cpu = readCpuSeconds(gateway.pid)
  await pause(5_000)
  process.stdout.write(
    `held: ${held} streams at once, ${((after - before) / (held - 200)).toFixed(1)} KiB each, ` +
      `${(((readCpuSeconds(gateway.pid) - cpu) / 5) * 100).toFixed(1)} % of a core while they wait\n`,
  )
  for (const stream of [...first, ...rest]) stream.abort()
  await pause(2_000)
}

async function openStreams(count: number): Promise<Stream[]> {
  const streams: Stream[] = []
  for (let opened = 0; opened < count; opened += 100) {
    const some = Array.from({ length: Math.min(100, count - opened) }, () => {
      return new Stream(viaGateway, { tokens: 50, hang: { afterEvents: 2 } }, () => undefined)
    })
    await Promise.all(some.map((stream) => stream.opened))
    streams.push(...some)
  }
  return streams
}

/** How much each event's distance from the previous one of its stream differs from `betweenMs`, in milliseconds. */
async function measureJitter(place: Endpoint): Promise<number[]> {
  const late: number[] = []
  const streams = Array.from({ length: live }, () => {
    let last = 0
    return new Stream(place, { tokens: (seconds * 1000) / betweenMs, ttftMs: 0, betweenMs }, () => {
      const now = performance.now()
      if (last !== 0) late.push(Math.max(0, now - last - betweenMs))
      last = now
    })
  })
  await Promise.all(streams.map((stream) => stream.opened))
  await Promise.all(streams.map((stream) => stream.closed))
  return late.toSorted((a, b) => a - b)
}

try {
  await measureIdleMemory()
  for (const [name, place] of [
    ['direct', direct],
    ['gateway', viaGateway],
    ['direct', direct],
    ['gateway', viaGateway],
  ] as const) {
    const cpu = readCpuSeconds(gateway.pid)
    const late = await measureJitter(place)
    const percentile = (share: number): string => (late[Math.floor(late.length * share)] ?? 0).toFixed(2)
    const used =
      name === 'gateway' ? `, ${(((readCpuSeconds(gateway.pid) - cpu) / late.length) * 1e6).toFixed(0)} µs CPU an event` : ''
    process.stdout.write(
      `${name}: ${live} streams × ${1000 / betweenMs} events/s, ${late.length} gaps, over ${betweenMs} ms by p50 ${percentile(0.5)} p99 ${percentile(0.99)} ms${used}\n`,
    )
  }
} finally {
  await dispatcher.destroy()
  for (const program of [gateway, upstream]) await program.stop()
}
