/**
 * Unfinished answers of the open conversation: another tab of this browser may be writing them, or the page that wrote them was left. A tab
 * that writes reports each stored state, and answers when it is asked; browsers slow down the timers of hidden tabs, but not that.
 */
import type { ChatMessage } from './chat-message.ts'

/** After this time without a report the other tab is asked. */
const maxSilentMs = 3_000
/** A tab of this browser that does not answer within this time is gone. */
const maxAnswerMs = 800

interface Listener {
  /** Asks all tabs whether they write an answer of the open conversation. */
  readonly ask: () => void
  /** No tab writes this answer. */
  readonly onAbandoned: (message: ChatMessage) => void
}

export class OtherTabAnswers {
  readonly #listener: Listener
  readonly #timers = new Map<ChatMessage, ReturnType<typeof setTimeout>>()

  constructor(listener: Listener) {
    this.#listener = listener
  }

  /** Asks who writes the message. */
  expect(message: ChatMessage): void {
    this.#wait(message, maxAnswerMs, this.#listener.onAbandoned)
    this.#listener.ask()
  }

  /** A tab has reported that it writes the message. */
  confirm(message: ChatMessage): void {
    this.#wait(message, maxSilentMs, (silent) => this.expect(silent))
  }

  /** Another conversation is open. */
  clear(): void {
    this.#timers.forEach((timer) => clearTimeout(timer))
    this.#timers.clear()
  }

  #wait(message: ChatMessage, ms: number, run: (message: ChatMessage) => void): void {
    clearTimeout(this.#timers.get(message))
    this.#timers.set(message, setTimeout(run, ms, message))
  }
}
