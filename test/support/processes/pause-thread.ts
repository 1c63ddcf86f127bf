import { setImmediate as immediate } from 'node:timers/promises'

/** Stops this thread, as a pause of the process or machine does: afterwards its timers are due before it receives anything. */
export async function pauseThread(ms: number): Promise<void> {
  // Timers are the next thing that the event loop looks at.
  await immediate()
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}
