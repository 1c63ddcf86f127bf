/**
 * Measures the effect of a client with long prompts on the short turns of all others:
 * `node bench/neighbors/noisy-neighbor.ts [--rate 150] [--seconds 4] [--rounds 6] [--at-once 1] [--bytes 2000000]`.
 *
 * Short turns are sent by the clock, whether or not earlier ones have been answered, alternately with and without the noisy client. That
 * client sends without a pause from its own process, and the upstream discards bodies as they arrive, so that only the gateway is slow.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { Agent, request } from 'undici'
import { startProgram, startGateway } from '../support/processes.ts'

const { values } = parseArgs({
  options: {
    rate: { type: 'string', default: '150' },
    seconds: { type: 'string', default: '4' },
    rounds: { type: 'string', default: '6' },
    'at-once': { type: 'string', default: '1' },
    bytes: { type: 'string', default: '2000000' },
    // The roles of this file in its other processes.
    as: { type: 'string', default: 'load' },
    gateway: { type: 'string', default: '' },
    key: { type: 'string', default: '' },
  },
})
const [rate, seconds, rounds, atOnce, bytes] = [values.rate, values.seconds, values.rounds, values['at-once'], values.bytes].map(
  Number,
) as [number, number, number, number, number]

interface Target {
  readonly url: string
  readonly key: string
}

const self = fileURLToPath(import.meta.url)
/** Unmeasured programs run without V8's helper threads, which would disturb the measured one. */
const singleThreadedGcFlag = '--single-threaded-gc'
const sentence = 'The quick brown fox jumps over the lazy dog, and then it rains in the "valley" for many days.\n'

async function sendTurn({ url, key }: Target, body: string | Buffer, dispatcher: Agent): Promise<void> {
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${key}` }
  const answer = await request(`${url}/v1/chat/completions`, { method: 'POST', dispatcher, headers, body })
  const text = await answer.body.text()
  if (answer.statusCode !== 200) throw new Error(`answered ${answer.statusCode}: ${text.slice(0, 300)}`)
}

function createBody(content: string): Buffer {
  return Buffer.from(JSON.stringify({ model: 'svc-2.1', messages: [{ role: 'user', content }] }))
}

/** Discards each body, then answers with the same few events. */
function serveUpstream(): void {
  const chunk = (delta: object, finish: string | null): string =>
    `data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`
  const events = `${chunk({ role: 'assistant', content: 'Well, here it is.' }, null)}${chunk({}, 'stop')}data: [DONE]\n\n`
  const server = createServer((req, res) => {
    req.resume()
    req.on('end', () => res.writeHead(200, { 'content-type': 'text/event-stream' }).end(events))
  })
  server.listen(0, '127.0.0.1', () => process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}\n`))
  process.once('SIGTERM', () => process.exit(0))
}

/** Sends requests while its input allows it: a line with 1 starts, one with 0 stops; each is answered with the number of requests since. */
async function runNeighbor(target: Target): Promise<void> {
  const dispatcher = new Agent({ connections: atOnce, pipelining: 1 })
  const body = createBody(sentence.repeat(Math.ceil(bytes / sentence.length)))
  process.once('SIGTERM', () => process.exit(0))
  process.stdout.write('http://neighbour\n')
  let [isActive, requestCount] = [false, 0]
  process.on('SIGUSR2', () => {
    if (isActive) process.stderr.write(`  the neighbour asked ${requestCount} times\n`)
    isActive = !isActive
    requestCount = 0
  })
  const one = async (): Promise<never> => {
    for (;;) {
      if (!isActive) await pause(5)
      else {
        await sendTurn(target, body, dispatcher)
        requestCount++
      }
    }
  }
  await Promise.all(Array.from({ length: atOnce }, one))
}

async function measure(): Promise<void> {
  const upstream = await startProgram([singleThreadedGcFlag, self, '--as', 'upstream'], {}, /(http:\/\/[\d.:]+)/)
  const gateway = await startGateway(upstream.url)
  const neighbor = await startProgram(
    [
      singleThreadedGcFlag,
      self,
      '--as',
      'neighbour',
      '--gateway',
      gateway.url,
      '--key',
      gateway.key,
      '--at-once',
      values['at-once'],
      '--bytes',
      values.bytes,
    ],
    {},
    /(http:\/\/neighbour)/,
  )
  const dispatcher = new Agent({ connections: 64, pipelining: 1 })
  const small = createBody('Say something short, please. It is for a benchmark.')

  const runLoad = async (forSeconds: number): Promise<number[]> => {
    const times: number[] = []
    const running: Promise<void>[] = []
    const began = performance.now()
    for (let sent = 0; sent < rate * forSeconds; sent++) {
      const due = began + (sent * 1000) / rate
      const wait = due - performance.now()
      if (wait > 1) await pause(wait)
      const at = performance.now()
      running.push(sendTurn(gateway, small, dispatcher).then(() => void times.push(performance.now() - at)))
    }
    await Promise.all(running)
    return times.toSorted((a, b) => a - b)
  }

  try {
    const toggleNeighbor = (): void => void process.kill(neighbor.pid, 'SIGUSR2')
    await runLoad(5)
    toggleNeighbor()
    await runLoad(4)
    toggleNeighbor()
    const ratios = { p50: [] as number[], p99: [] as number[] }
    for (let round = 0; round < rounds; round++) {
      await pause(200)
      const without = await runLoad(seconds)
      toggleNeighbor()
      await pause(200)
      const withNeighbor = await runLoad(seconds)
      toggleNeighbor()
      const columns = [0.5, 0.99].map((share) => {
        const [a, b] = [percentile(without, share), percentile(withNeighbor, share)]
        ratios[share === 0.5 ? 'p50' : 'p99'].push(b / a)
        return `p${share * 100} ${a.toFixed(1)} → ${b.toFixed(1)} ms (${(b / a).toFixed(2)})`
      })
      process.stdout.write(`${columns.join('  ')}\n`)
    }
    const median = (list: number[]): string =>
      percentile(
        list.toSorted((a, b) => a - b),
        0.5,
      ).toFixed(2)
    process.stdout.write(
      `${rate} short turns/s, a neighbour with ${bytes} bytes, ${atOnce} at once: p50 × ${median(ratios.p50)}, p99 × ${median(ratios.p99)} (medians of ${rounds})\n`,
    )
  } finally {
    await dispatcher.destroy()
    for (const program of [neighbor, gateway, upstream]) await program.stop()
  }
}

function percentile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
}

if (values.as === 'upstream') serveUpstream()
else if (values.as === 'neighbour') await runNeighbor({ url: values.gateway, key: values.key })
else await measure()
