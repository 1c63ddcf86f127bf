/** Retries of operations that fail because another process holds a lock. Only for threads that may block. */
import { systemClock } from '../../../system/clock.ts'
import Sqlite from 'better-sqlite3'

/** After this many fast retries, the lock is assumed to be held for something long, such as a checkpoint. */
const maxFastRetries = 50
const fastRetryDelayMs = 0.2
const slowRetryDelayMs = 2

/**
 * Retries until the database is not busy, or throws after `timeoutMs`. Another process's commit takes 1 to 2 ms, but SQLite's own
 * busy handler soon sleeps 100 ms at a time, and for some steps, such as entering WAL mode, it does not wait at all.
 */
export function retryWhileBusy<Result>(timeoutMs: number, work: () => Result): Result {
  const deadline = systemClock.monotonicMs() + timeoutMs
  for (let tries = 0; ; tries++) {
    try {
      return work()
    } catch (error) {
      if (!isBusy(error) || systemClock.monotonicMs() >= deadline) throw error
      sleep(tries < maxFastRetries ? fastRetryDelayMs : slowRetryDelayMs)
    }
  }
}

function isBusy(error: unknown): boolean {
  return error instanceof Sqlite.SqliteError && error.code.startsWith('SQLITE_BUSY')
}

/** Blocks the thread. Only the timeout ends the wait. */
function sleep(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}
