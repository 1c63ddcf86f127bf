/** When the server did not run: the machine was too busy for it, or it waited for a disk. A client asks it all the time. */
import { setTimeout as pause } from 'node:timers/promises'

const intervalMs = 50
/** A shorter delay is one of an ordinary turn of the event loop. */
const minStallMs = 100

export class ServerStalls {
  /** By `performance.now()`, in order. */
  readonly #stalls: { readonly from: number; readonly to: number }[] = []

  /** Watches this server until the signal is aborted or the server has ended. */
  async watch(url: string, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const from = performance.now()
      try {
        await pause(intervalMs)
        await (await fetch(`${url}/healthz`)).text()
      } catch {
        return
      }
      const to = performance.now()
      if (to - from - intervalMs >= minStallMs) this.#stalls.push({ from, to })
    }
  }

  /** How long it did not run between these two times, in milliseconds. */
  sum(from: number, to: number): number {
    let sum = 0
    for (const stall of this.#stalls) sum += Math.max(0, Math.min(to, stall.to) - Math.max(from, stall.from))
    return sum
  }
}
