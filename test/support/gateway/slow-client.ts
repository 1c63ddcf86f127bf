/** A client whose socket is full after every write, until it drains. */
import { RecordingClient } from './test-exchange.ts'

export class SlowClient extends RecordingClient {
  readonly #drainListeners: (() => void)[] = []

  override write(frames: string): boolean {
    super.write(frames)
    return false
  }

  override onDrain(listener: () => void): void {
    this.#drainListeners.push(listener)
  }

  drain(): void {
    for (const listener of this.#drainListeners.splice(0)) listener()
  }
}
