/**
 * Measures how long one large request blocks the main thread: `node bench/neighbors/event-loop-stalls.ts [--times 20] [--bytes 2000000]`.
 *
 * One request after another, without other load. For each the longest block is measured: the CPU time between two iterations of the event loop.
 * Prints its median, and the main thread's CPU time per request. Both are the thread's own CPU time (Linux), which a busy machine changes
 * little. The kernel's tick is the resolution: compare with `nothing large`.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { startGateway } from '../support/processes.ts'

const { values } = parseArgs({
  options: { times: { type: 'string', default: '20' }, bytes: { type: 'string', default: '2000000' } },
})
const [times, bytes] = [Number(values.times), Number(values.bytes)]

const sentence = 'The quick brown fox jumps over the lazy dog, and then it rains in the "valley" for many days.\n'
const user = (content: unknown) => ({ role: 'user', content })
const shapes: Readonly<Record<string, unknown>> = {
  'nothing large': [user('Say something short.')],
  'one text': [user(sentence.repeat(bytes / sentence.length))],
  'many messages': Array.from({ length: bytes / 80 }, (_, i) => user(`${i}. ${sentence.slice(0, 44)}`)),
  'a picture': [user([{ type: 'image_url', image_url: { url: `data:image/png;base64,${'iVBORw0KGgoA'.repeat(bytes / 12)}` } }])],
}

const chunk = (delta: object, finish: string | null): string =>
  `data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`
const events = `${chunk({ role: 'assistant', content: 'Well, here it is.' }, null)}${chunk({}, 'stop')}data: [DONE]\n\n`
const upstream = createServer((req, res) => {
  req.resume()
  req.on('end', () => res.writeHead(200, { 'content-type': 'text/event-stream' }).end(events))
})
await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve))

const folder = mkdtempSync(join(tmpdir(), 'svc-rounds-'))
const probeFile = join(folder, 'rounds')
const preload = fileURLToPath(new URL('../support/stall-probe.ts', import.meta.url))
const gateway = await startGateway(`http://127.0.0.1:${(upstream.address() as AddressInfo).port}`, {
  flags: ['--import', preload],
  env: { ROUNDS_FILE: probeFile },
})

/** Starts or stops the probe; returns the longest block since the last call, in milliseconds. */
async function toggleProbe(): Promise<number> {
  rmSync(probeFile, { force: true })
  process.kill(gateway.pid, 'SIGUSR2')
  while (!existsSync(probeFile) || readFileSync(probeFile, 'utf8') === '') await pause(2)
  return Number(readFileSync(probeFile, 'utf8'))
}

/** CPU time of the main thread in milliseconds. */
function readMainThreadMs(): number {
  return Number(readFileSync(`/proc/${gateway.pid}/task/${gateway.pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6
}

const median = (list: readonly number[]): number => list.toSorted((a, b) => a - b)[Math.floor(list.length / 2)] ?? 0

try {
  for (const [name, messages] of Object.entries(shapes)) {
    const body = JSON.stringify({ model: 'svc-2.1', messages })
    const sendTurn = async (): Promise<void> => {
      const answer = await fetch(`${gateway.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${gateway.key}` },
        body,
      })
      if (answer.status !== 200) throw new Error(await answer.text())
      await answer.text()
    }
    // The first requests warm it up.
    for (let i = 0; i < 5; i++) await sendTurn()
    const stalls: number[] = []
    for (let i = 0; i < times; i++) {
      await toggleProbe()
      await sendTurn()
      stalls.push(await toggleProbe())
    }
    const before = readMainThreadMs()
    for (let i = 0; i < times; i++) await sendTurn()
    const cpu = (readMainThreadMs() - before) / times
    process.stdout.write(
      `${name}: longest stretch ${median(stalls).toFixed(1)} ms, ${cpu.toFixed(1)} ms of processor in all (${times} requests)\n`,
    )
  }
} finally {
  await gateway.stop()
  upstream.close()
  rmSync(folder, { recursive: true, force: true })
}
