/**
 * Turns that are sent by the clock, whether or not earlier ones have been answered. A time counts from when a turn was due, not from when it
 * was sent: a program that stalls for a second delays all of that second's turns, also those that could not be sent meanwhile.
 */
import { setImmediate as nextRound, setTimeout as pause } from 'node:timers/promises'
import type { Dispatcher } from 'undici'
import { sendTurn } from '../subjects/subject.ts'
import type { Subject } from '../subjects/subject.ts'

export interface OpenLoopResult {
  /** Milliseconds from each turn's due time to its last byte. */
  readonly latenciesMs: readonly number[]
  /** The load's own share of it: from each turn's due time to its sending. */
  readonly sendDelaysMs: readonly number[]
  readonly failed: number
}

/** The delay of a timer; the rest is a busy wait. */
const timerSlackMs = 1.5

export async function runOpenLoop(
  subject: Subject,
  rate: number,
  seconds: number,
  firstTurn: number,
  dispatcher: Dispatcher,
): Promise<OpenLoopResult> {
  const latenciesMs: number[] = []
  const sendDelaysMs: number[] = []
  const running: Promise<void>[] = []
  let failed = 0
  const began = performance.now()
  for (let sent = 0; sent < rate * seconds; sent++) {
    const due = began + (sent * 1_000) / rate
    await sleepUntil(due)
    sendDelaysMs.push(performance.now() - due)
    running.push(
      sendTurn(subject, 'whole', firstTurn + sent, dispatcher).then(
        () => void latenciesMs.push(performance.now() - due),
        () => void failed++,
      ),
    )
  }
  await Promise.all(running)
  return { latenciesMs, sendDelaysMs, failed }
}

async function sleepUntil(due: number): Promise<void> {
  const wait = due - performance.now() - timerSlackMs
  if (wait > 1) await pause(wait)
  while (performance.now() < due) await nextRound()
}
