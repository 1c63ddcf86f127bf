/**
 * What a neighbour with long prompts does to everybody else's short turns:
 * `node bench/neighbour.ts [--rate 150] [--seconds 4] [--rounds 6] [--at-once 1] [--bytes 2000000]`.
 *
 * Short turns leave on the clock, whether or not earlier ones have been answered, with and without the neighbour in turns. The neighbour
 * asks without a pause from a process of its own, and the upstream throws bodies away as they come, so that what is slow is the gateway.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { Agent, request } from 'undici'
import { start, startGateway } from './processes.ts'

const { values } = parseArgs({
  options: {
    rate: { type: 'string', default: '150' },
    seconds: { type: 'string', default: '4' },
    rounds: { type: 'string', default: '6' },
    'at-once': { type: 'string', default: '1' },
    bytes: { type: 'string', default: '2000000' },
    // What this file is in its other processes.
    as: { type: 'string', default: 'load' },
    gateway: { type: 'string', default: '' },
    key: { type: 'string', default: '' },
  },
})
const [rate, seconds, rounds, atOnce, bytes] = [values.rate, values.seconds, values.rounds, values['at-once'], values.bytes].map(
  Number,
) as [number, number, number, number, number]

interface Place {
  readonly url: string
  readonly key: string
}

const self = fileURLToPath(import.meta.url)
/** Whoever is not measured brings no helpers of V8's along, who would be in the way of what is. */
const alone = '--single-threaded-gc'
const sentence = 'The quick brown fox jumps over the lazy dog, and then it rains in the "valley" for many days.\n'

async function ask({ url, key }: Place, body: string | Buffer, dispatcher: Agent): Promise<void> {
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${key}` }
  const answer = await request(`${url}/v1/chat/completions`, { method: 'POST', dispatcher, headers, body })
  const text = await answer.body.text()
  if (answer.statusCode !== 200) throw new Error(`answered ${answer.statusCode}: ${text.slice(0, 300)}`)
}

function prompt(content: string): Buffer {
  return Buffer.from(JSON.stringify({ model: 'svc-2.1', messages: [{ role: 'user', content }] }))
}

/** Answers every body with the same few events once it has been thrown away. */
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

/** Asks while its input says so: a line with 1 begins, one with 0 ends; each is answered with how many were asked since. */
async function beNeighbour(place: Place): Promise<void> {
  const dispatcher = new Agent({ connections: atOnce, pipelining: 1 })
  const body = prompt(sentence.repeat(Math.ceil(bytes / sentence.length)))
  process.once('SIGTERM', () => process.exit(0))
  process.stdout.write('http://neighbour\n')
  let [asking, asked] = [false, 0]
  process.on('SIGUSR2', () => {
    if (asking) process.stderr.write(`  the neighbour asked ${asked} times\n`)
    asking = !asking
    asked = 0
  })
  const one = async (): Promise<never> => {
    for (;;) {
      if (!asking) await pause(5)
      else {
        await ask(place, body, dispatcher)
        asked++
      }
    }
  }
  await Promise.all(Array.from({ length: atOnce }, one))
}

async function measure(): Promise<void> {
  const upstream = await start([alone, self, '--as', 'upstream'], {}, /(http:\/\/[\d.:]+)/)
  const gateway = await startGateway(upstream.url)
  const neighbour = await start(
    [
      alone,
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
  const small = prompt('Say something short, please. It is for a benchmark.')

  const load = async (forSeconds: number): Promise<number[]> => {
    const times: number[] = []
    const running: Promise<void>[] = []
    const began = performance.now()
    for (let sent = 0; sent < rate * forSeconds; sent++) {
      const due = began + (sent * 1000) / rate
      const wait = due - performance.now()
      if (wait > 1) await pause(wait)
      const at = performance.now()
      running.push(ask(gateway, small, dispatcher).then(() => void times.push(performance.now() - at)))
    }
    await Promise.all(running)
    return times.toSorted((a, b) => a - b)
  }

  try {
    const turn = (): void => void process.kill(neighbour.pid, 'SIGUSR2')
    await load(5)
    turn()
    await load(4)
    turn()
    const ratios = { p50: [] as number[], p99: [] as number[] }
    for (let round = 0; round < rounds; round++) {
      await pause(200)
      const without = await load(seconds)
      turn()
      await pause(200)
      const beside = await load(seconds)
      turn()
      const told = [0.5, 0.99].map((share) => {
        const [a, b] = [at(without, share), at(beside, share)]
        ratios[share === 0.5 ? 'p50' : 'p99'].push(b / a)
        return `p${share * 100} ${a.toFixed(1)} → ${b.toFixed(1)} ms (${(b / a).toFixed(2)})`
      })
      process.stdout.write(`${told.join('  ')}\n`)
    }
    const median = (list: number[]): string =>
      at(
        list.toSorted((a, b) => a - b),
        0.5,
      ).toFixed(2)
    process.stdout.write(
      `${rate} short turns/s, a neighbour with ${bytes} bytes, ${atOnce} at once: p50 × ${median(ratios.p50)}, p99 × ${median(ratios.p99)} (medians of ${rounds})\n`,
    )
  } finally {
    await dispatcher.destroy()
    for (const program of [neighbour, gateway, upstream]) await program.stop()
  }
}

function at(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
}

if (values.as === 'upstream') serveUpstream()
else if (values.as === 'neighbour') await beNeighbour({ url: values.gateway, key: values.key })
else await measure()
