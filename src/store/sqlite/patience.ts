/** Waiting for what another process has locked, in a thread that may sleep. */
import Sqlite from 'better-sqlite3'

/** So often it is tried in quick succession; after that the lock is held for something long, such as a checkpoint. */
const quickTries = 50
const quickStepMs = 0.2
const slowStepMs = 2

/**
 * Tries until it is not busy any more, or throws after `timeoutMs`. Another process's commit takes a millisecond or two, while SQLite's own
 * waiting soon sleeps a tenth of a second at a time; and for some steps, such as entering WAL, it does not wait at all.
 */
export function patiently<Result>(timeoutMs: number, work: () => Result): Result {
  const deadline = performance.now() + timeoutMs
  for (let tries = 0; ; tries++) {
    try {
      return work()
    } catch (error) {
      if (!isBusy(error) || performance.now() >= deadline) throw error
      sleep(tries < quickTries ? quickStepMs : slowStepMs)
    }
  }
}

function isBusy(error: unknown): boolean {
  return error instanceof Sqlite.SqliteError && error.code.startsWith('SQLITE_BUSY')
}

/** Nobody ever wakes it: only the time ends it. */
function sleep(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}
