/**
 * How long one large request holds the main thread at a time: `node bench/stretch.ts [--times 20] [--bytes 2000000]`.
 *
 * One request after another, nothing beside it. Each has its longest stretch, the processor time from one round of the event loop to the
 * next, of which the median is told; and what the main thread needs of the processor for a request. Both are the thread's own time (Linux),
 * which a busy machine does not change much. The kernel's tick is the least that can be told: compare with `nothing large`.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { startGateway } from './processes.ts'

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
const told = join(folder, 'rounds')
const preload = fileURLToPath(new URL('./rounds.ts', import.meta.url))
const gateway = await startGateway(`http://127.0.0.1:${(upstream.address() as AddressInfo).port}`, {
  flags: ['--import', preload],
  env: { ROUNDS_FILE: told },
})

/** Begins or ends to look; the longest stretch since it was last called, in milliseconds. */
async function look(): Promise<number> {
  rmSync(told, { force: true })
  process.kill(gateway.pid, 'SIGUSR2')
  while (!existsSync(told) || readFileSync(told, 'utf8') === '') await pause(2)
  return Number(readFileSync(told, 'utf8'))
}

/** Milliseconds that the main thread has had the processor. */
function used(): number {
  return Number(readFileSync(`/proc/${gateway.pid}/task/${gateway.pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6
}

const median = (list: readonly number[]): number => list.toSorted((a, b) => a - b)[Math.floor(list.length / 2)] ?? 0

try {
  for (const [name, messages] of Object.entries(shapes)) {
    const body = JSON.stringify({ model: 'svc-2.1', messages })
    const ask = async (): Promise<void> => {
      const answer = await fetch(`${gateway.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${gateway.key}` },
        body,
      })
      if (answer.status !== 200) throw new Error(await answer.text())
      await answer.text()
    }
    // The first ones warm it up.
    for (let i = 0; i < 5; i++) await ask()
    const seen: number[] = []
    for (let i = 0; i < times; i++) {
      await look()
      await ask()
      seen.push(await look())
    }
    const before = used()
    for (let i = 0; i < times; i++) await ask()
    const cpu = (used() - before) / times
    process.stdout.write(
      `${name}: longest stretch ${median(seen).toFixed(1)} ms, ${cpu.toFixed(1)} ms of processor in all (${times} requests)\n`,
    )
  }
} finally {
  await gateway.stop()
  upstream.close()
  rmSync(folder, { recursive: true, force: true })
}
