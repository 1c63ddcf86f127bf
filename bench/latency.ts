/**
 * What the gateway adds to the time of an answer at an even load, well below its limit: `node bench/latency.ts [--rate 200] [--seconds 20]`.
 * Requests leave on the clock, whether or not earlier ones have been answered; direct calls and calls through the gateway take turns.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { Agent, request } from 'undici'
import { startGateway, startUpstream } from './processes.ts'

const { values } = parseArgs({
  options: { rate: { type: 'string', default: '200' }, seconds: { type: 'string', default: '20' } },
})
const rate = Number(values.rate)
const seconds = Number(values.seconds)

const upstream = await startUpstream()
const gateway = await startGateway(upstream.url.replace(/\/v1$/, ''))
const dispatcher = new Agent({ connections: 64, pipelining: 1 })
const messages = [{ role: 'user', content: 'Say something short, please. It is for a benchmark.' }]
const direct = { url: `${upstream.url}/chat/completions`, headers: {}, body: JSON.stringify({ model: 'demo-bench', messages }) }
const through = {
  url: `${gateway.url}/v1/chat/completions`,
  headers: { authorization: `Bearer ${gateway.key}` },
  body: JSON.stringify({ model: 'svc-2.1', messages }),
}
const times = { direct: [] as number[], through: [] as number[] }

async function ask({ url, headers, body }: typeof through | typeof direct): Promise<number> {
  const began = performance.now()
  const answer = await request(url, {
    method: 'POST',
    dispatcher,
    headers: { 'content-type': 'application/json', ...headers },
    body,
  })
  await answer.body.text()
  if (answer.statusCode !== 200) throw new Error(`${url} answered ${answer.statusCode}`)
  return performance.now() - began
}

/** A service that has run for a while: compiled, connected, caches filled. */
async function warmUp(): Promise<void> {
  const worker = async (): Promise<void> => {
    for (let asked = 0; asked < 1_000; asked++) await ask(asked % 2 === 0 ? direct : through)
  }
  await Promise.all(Array.from({ length: 32 }, worker))
  await load(rate * 2, false)
}

/** Both at `rate` in turns, each asked half a period after the other. */
async function load(count: number, keep: boolean): Promise<void> {
  const began = performance.now()
  const running: Promise<void>[] = []
  for (let sent = 0; sent < count * 2; sent++) {
    const wait = began + (sent * 1000) / (rate * 2) - performance.now()
    if (wait > 1) await pause(wait)
    const name = sent % 2 === 0 ? 'direct' : 'through'
    running.push(ask(sent % 2 === 0 ? direct : through).then((ms) => void (keep && times[name].push(ms))))
  }
  await Promise.all(running)
}

try {
  await warmUp()
  await load(rate * seconds, true)
  const of = (list: readonly number[], share: number): number =>
    list.toSorted((a, b) => a - b)[Math.floor(list.length * share)] ?? 0
  process.stdout.write(`${rate} requests/s each, ${seconds} s\n`)
  for (const share of [0.5, 0.9, 0.99]) {
    const [a, b] = [of(times.direct, share), of(times.through, share)]
    process.stdout.write(
      `  p${share * 100}  direct ${a.toFixed(2)} ms  gateway ${b.toFixed(2)} ms  added ${(b - a).toFixed(2)} ms\n`,
    )
  }
} finally {
  await dispatcher.destroy()
  for (const program of [gateway, upstream]) await program.stop()
}
