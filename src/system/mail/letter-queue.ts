/** Where letters wait until they are sent: in this process, or where others can send them too. */
import type { Message } from './messages.ts'

export interface Letter extends Message {
  /** Null: to nobody. It waits its turn like any other, so that whoever asked for it cannot tell, and goes nowhere. */
  readonly to: string | null
}

export interface TakenLetter {
  readonly id: number
  readonly letter: Letter
  /** Which try at sending it this is, from 1 on. */
  readonly attempt: number
}

export interface LetterQueue {
  /** Whether letters stay when this process ends, for others to send. */
  readonly isShared: boolean
  /** How many wait that only this process can send. */
  readonly waiting: number
  /** Hears whenever something may be due. */
  begin(onDue: () => void): void
  /** Keeps it, from when this resolves. False: too many are waiting. */
  add(letter: Letter): Promise<boolean>
  /** One that is due, if there is any; nobody else gets it meanwhile. */
  take(): Promise<TakenLetter | undefined>
  /** It was sent, or given up. */
  done(taken: TakenLetter): Promise<void>
  /** It is due again in so long. */
  putBack(taken: TakenLetter, afterMs: number): Promise<void>
  /** Nothing is told to be due any more. */
  close(): Promise<void>
}

/** More letters than this are not kept: the way out is blocked. */
export const queueLimit = 1_000

/** Of one process: what it holds when it dies is lost. */
export class LettersInMemory implements LetterQueue {
  readonly isShared = false
  readonly #due: TakenLetter[] = []
  #paused = 0
  #count = 0
  #onDue: () => void = () => undefined

  get waiting(): number {
    return this.#due.length + this.#paused
  }

  begin(onDue: () => void): void {
    this.#onDue = onDue
  }

  async add(letter: Letter): Promise<boolean> {
    if (this.#due.length >= queueLimit) return false
    this.#due.push({ id: ++this.#count, letter, attempt: 1 })
    this.#onDue()
    return true
  }

  async take(): Promise<TakenLetter | undefined> {
    return this.#due.shift()
  }

  async done(): Promise<void> {}

  async putBack({ id, letter, attempt }: TakenLetter, afterMs: number): Promise<void> {
    this.#paused += 1
    setTimeout(() => {
      this.#paused -= 1
      this.#due.push({ id, letter, attempt: attempt + 1 })
      this.#onDue()
    }, afterMs).unref()
  }

  async close(): Promise<void> {}
}
