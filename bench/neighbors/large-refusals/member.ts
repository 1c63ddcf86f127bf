/** A member with a good key who makes short turns, in a thread of its own, until the parent sends a message. */
import { setTimeout as pause } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'

export interface MemberTurns {
  readonly turns: number
  readonly failed: number
  readonly medianMs: number
  readonly maxMs: number
}

const { url, token } = workerData as { readonly url: string; readonly token: string }
const times: number[] = []
let failed = 0
const ending = new AbortController()
parentPort?.once('message', () => ending.abort())
while (!ending.signal.aborted) {
  const from = performance.now()
  const response = await fetch(url, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'svc-2.1', max_tokens: 8, messages: [{ role: 'user', content: 'Hello!' }] }),
  }).catch(() => undefined)
  await response?.text()
  if (response?.status !== 200) failed += 1
  times.push(performance.now() - from)
  await pause(50)
}
times.sort((one, other) => one - other)
const found: MemberTurns = {
  turns: times.length,
  failed,
  medianMs: times[Math.floor(times.length / 2)] ?? 0,
  maxMs: times.at(-1) ?? 0,
}
parentPort?.postMessage(found)
