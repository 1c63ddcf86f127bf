/**
 * Turns that leave on the clock, whether or not earlier ones have been answered. A time is from when a turn was to leave, not from when it
 * left: a program that holds everybody up for a second has made all of that second's turns late, also those that were not sent meanwhile.
 */
import { setImmediate as nextRound, setTimeout as pause } from 'node:timers/promises'
import type { Dispatcher } from 'undici'
import { ask } from './subject.ts'
import type { Subject } from './subject.ts'

export interface Times {
  /** Milliseconds from when each was to leave to its last byte. */
  readonly answered: readonly number[]
  /** How much of that was ours: from when each was to leave to when it left. */
  readonly late: readonly number[]
  readonly failed: number
}

/** A timer is late by up to so much; the rest is waited for without sleeping. */
const timerMs = 1.5

export async function openLoop(
  subject: Subject,
  rate: number,
  seconds: number,
  from: number,
  dispatcher: Dispatcher,
): Promise<Times> {
  const answered: number[] = []
  const late: number[] = []
  const running: Promise<void>[] = []
  let failed = 0
  const began = performance.now()
  for (let sent = 0; sent < rate * seconds; sent++) {
    const due = began + (sent * 1_000) / rate
    await until(due)
    late.push(performance.now() - due)
    running.push(
      ask(subject, 'whole', from + sent, dispatcher).then(
        () => void answered.push(performance.now() - due),
        () => void failed++,
      ),
    )
  }
  await Promise.all(running)
  return { answered, late, failed }
}

async function until(due: number): Promise<void> {
  const wait = due - performance.now() - timerMs
  if (wait > 1) await pause(wait)
  while (performance.now() < due) await nextRound()
}
