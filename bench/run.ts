/**
 * The whole chain against bare http-proxy-3 and a direct call, interleaved in one run: `npm run bench`.
 * Bounded: rounds × scenarios × a few seconds, on loopback.
 */
import { parseArgs } from 'node:util'
import { cpuSeconds, startBareProxy, startGateway, startUpstream } from './processes.ts'
import type { Program } from './processes.ts'
import { wrk } from './wrk.ts'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '5' },
    clients: { type: 'string', default: '64' },
    prof: { type: 'boolean', default: false },
  },
})
const rounds = Number(values.rounds)
const seconds = Number(values.seconds)
const clients = Number(values.clients)

const upstream = await startUpstream()
const bare = await startBareProxy(upstream.url.replace(/\/v1$/, ''))
const gateway = await startGateway(
  upstream.url.replace(/\/v1$/, ''),
  values.prof ? ['--cpu-prof', '--cpu-prof-dir=bench/profiles'] : [],
)

const ask = (stream: boolean, model: string): string =>
  JSON.stringify({ model, stream, messages: [{ role: 'user', content: 'Say something short, please. It is for a benchmark.' }] })

interface Scenario {
  readonly name: string
  readonly program: Program
  readonly stream: boolean
  readonly headers: Record<string, string>
  readonly model: string
}

const json = { 'Content-Type': 'application/json' }
const scenarios: Scenario[] = [false, true].flatMap((stream) => [
  { name: 'direct', program: upstream, stream, headers: json, model: 'demo-bench' },
  { name: 'bare http-proxy-3', program: bare, stream, headers: json, model: 'demo-bench' },
  { name: 'gateway', program: gateway, stream, headers: { ...json, Authorization: `Bearer ${gateway.key}` }, model: 'svc-2.1' },
])

interface Sample {
  readonly cpuMicros: number
  readonly rate: number
  readonly failed: number
}

async function measure({ program, headers, model, stream }: Scenario, duration: number): Promise<Sample> {
  const before = cpuSeconds(program.pid)
  const url = `${program.url.replace(/\/v1$/, '')}/v1/chat/completions`
  const load = await wrk(url, headers, ask(stream, model), clients, duration)
  return {
    cpuMicros: ((cpuSeconds(program.pid) - before) / load.requests) * 1e6,
    rate: load.requests / load.seconds,
    failed: load.failed,
  }
}

const samples = new Map<Scenario, Sample[]>(scenarios.map((scenario) => [scenario, []]))
try {
  // Compiled and connected before anything counts.
  for (const scenario of scenarios) await measure(scenario, 2)
  for (let round = 0; round < rounds; round++)
    for (const scenario of scenarios) samples.get(scenario)?.push(await measure(scenario, seconds))
  for (const stream of [false, true]) {
    process.stdout.write(`\n${stream ? 'streamed' : 'not streamed'}, ${clients} clients, ${rounds} × ${seconds} s, median\n`)
    const reference = middle(samples.get(of('bare http-proxy-3', stream)) ?? [], 'cpuMicros')
    const referenceRate = middle(samples.get(of('bare http-proxy-3', stream)) ?? [], 'rate')
    for (const scenario of scenarios.filter((each) => each.stream === stream)) {
      const taken = samples.get(scenario) ?? []
      const cpu = middle(taken, 'cpuMicros')
      const rate = middle(taken, 'rate')
      const failed = taken.reduce((sum, sample) => sum + sample.failed, 0)
      process.stdout.write(
        `  ${scenario.name.padEnd(18)} ${cpu.toFixed(0).padStart(5)} µs CPU a turn (${(cpu / reference).toFixed(2)} ×)  ${rate.toFixed(0).padStart(6)} turns/s (${(rate / referenceRate).toFixed(2)} ×)  ${failed} failed\n`,
      )
    }
  }
  const metrics = await (await fetch(`${gateway.url}/metrics`, { headers: { authorization: 'Bearer bench' } })).text()
  const value = (name: string): number => Number(new RegExp(`^${name} (\\S+)`, 'm').exec(metrics)?.[1] ?? 0)
  const operations = value('svc_ledger_operations_total')
  process.stdout.write(
    `\nledger: ${operations} operations, ${(operations / value('svc_ledger_commits_total')).toFixed(1)} a commit, ${((value('svc_ledger_syncs_total') * 2) / operations).toFixed(3)} fsyncs a turn\n`,
  )
} finally {
  for (const program of [gateway, bare, upstream]) await program.stop()
}

function of(name: string, stream: boolean): Scenario {
  const found = scenarios.find((scenario) => scenario.name === name && scenario.stream === stream)
  if (found === undefined) throw new Error(`no scenario ${name}`)
  return found
}

function middle(taken: readonly Sample[], field: 'cpuMicros' | 'rate'): number {
  const sorted = taken.map((sample) => sample[field]).toSorted((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] ?? 0
}
