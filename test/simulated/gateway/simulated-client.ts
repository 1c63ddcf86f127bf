/** A client as a value: it takes what it is sent at its own pace, and may disconnect. */
import { RecordingClient } from '../../support/gateway/test-exchange.ts'
import type { SimulatedClock } from '../../support/simulated-clock.ts'

/** Milliseconds after which it has taken what was written; 0: at once, Infinity: never. */
export type Pace = number

export class SimulatedClient extends RecordingClient {
  readonly #clock: SimulatedClock
  readonly #paceMs: Pace
  #onDrain: (() => void) | undefined
  /** Whether the response was ended, or its connection closed. */
  isOver = false

  constructor(clock: SimulatedClock, paceMs: Pace = 0) {
    super()
    this.#clock = clock
    this.#paceMs = paceMs
  }

  override write(frames: string): boolean {
    super.write(frames)
    if (this.#paceMs === 0) return true
    if (this.#paceMs !== Infinity) this.#clock.after(this.#paceMs, () => this.#drain()).unref()
    return false
  }

  override onDrain(listener: () => void): void {
    this.#onDrain = listener
  }

  override end(frames = ''): void {
    super.end(frames)
    this.isOver = true
  }

  override destroy(): void {
    super.destroy()
    this.isOver = true
  }

  override reply(status: number, headers: Readonly<Record<string, string>>, body: string | Uint8Array): void {
    super.reply(status, headers, body)
    this.isOver = true
  }

  override disconnect(): void {
    if (!this.disconnected && !this.isOver) super.disconnect()
  }

  /** Whether the stream ended as a complete one does, and not with an error. */
  get hasWholeStream(): boolean {
    return this.body.includes('data: [DONE]') && !this.body.includes('"error":')
  }

  #drain(): void {
    const onDrain = this.#onDrain
    this.#onDrain = undefined
    if (!this.disconnected) onDrain?.()
  }
}
