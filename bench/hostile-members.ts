/**
 * Measures what the requests of two accounts that are made to stop the server do to another member's short turns:
 * `node bench/hostile-members.ts [--seconds 20] [--workers 1]`.
 *
 * One short turn after another, first alone and then beside all attacks. With one worker the longest stretch of the main thread's own CPU
 * time between two iterations of its event loop is measured too; the kernel counts it in ticks of up to 4 ms.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { Worker } from 'node:worker_threads'
import { addAccounts } from './run/subjects/accounts.ts'
import { readResidentKib, startGateway } from './support/processes.ts'

const { values } = parseArgs({
  options: { seconds: { type: 'string', default: '20' }, workers: { type: 'string', default: '1' } },
})
const attacker = new Worker(new URL('./hostile-members/attacker.ts', import.meta.url))
const [upstream] = (await once(attacker, 'message')) as [string]
let counts: unknown = {}
attacker.on('message', (message: unknown) => (counts = message))

const folder = mkdtempSync(join(tmpdir(), 'svc-rounds-'))
const probeFile = join(folder, 'rounds')
const preload = fileURLToPath(new URL('./support/stall-probe.ts', import.meta.url))
const hasProbe = values.workers === '1'
const gateway = await startGateway(upstream, {
  config: 'hostile-members/gateway.config.ts',
  flags: hasProbe ? ['--import', preload] : [],
  env: { ROUNDS_FILE: probeFile, WORKERS: values.workers },
})

async function toggleProbe(): Promise<number> {
  rmSync(probeFile, { force: true })
  process.kill(gateway.pid, 'SIGUSR2')
  while (!existsSync(probeFile) || readFileSync(probeFile, 'utf8') === '') await pause(2)
  return Number(readFileSync(probeFile, 'utf8'))
}

async function measureVictim(name: string, key: string): Promise<void> {
  const times: number[] = []
  let failures = 0
  if (hasProbe) await toggleProbe()
  const end = performance.now() + Number(values.seconds) * 1000
  while (performance.now() < end) {
    const at = performance.now()
    const answer = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
      body: JSON.stringify({ model: 'svc-2.1', stream: true, messages: [{ role: 'user', content: 'Say something short.' }] }),
    })
    await answer.text()
    if (answer.status !== 200) failures++
    times.push(performance.now() - at)
    await pause(10)
  }
  const stretch = hasProbe ? `, longest stretch ${(await toggleProbe()).toFixed(1)} ms` : ''
  times.sort((a, b) => a - b)
  const at = (share: number): string => (times[Math.floor(times.length * share)] ?? 0).toFixed(1)
  process.stdout.write(
    `${name}: ${times.length} turns, ${failures} failed, p50 ${at(0.5)} ms, p99 ${at(0.99)} ms${stretch}, ${Math.round(readResidentKib(gateway.pid) / 1024)} MiB\n`,
  )
}

try {
  const [victim = '', hostile = '', idle = ''] = addAccounts(gateway.database, gateway.key, 3)
  await measureVictim('warm-up', victim)
  await measureVictim('alone', victim)
  attacker.postMessage({ url: gateway.url, key: hostile, idleKey: idle })
  await pause(2_000)
  await measureVictim('beside all attacks', victim)
  process.stdout.write(`${JSON.stringify(counts, null, 1)}\n`)
} finally {
  await attacker.terminate()
  await gateway.stop()
  rmSync(folder, { recursive: true, force: true })
}
