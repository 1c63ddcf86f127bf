/** Where emails wait until they are sent: in this process, or in a database where other nodes can send them too. */
import type { EmailContent } from './email-templates.ts'

/**
 * In the order of sending. Each has room of its own, so that none fills another's: codes of members first, then codes for addresses without
 * an account, which strangers can request without end, then notices.
 */
export const emailPriorities = ['member_code', 'new_address_code', 'notice'] as const
export type EmailPriority = (typeof emailPriorities)[number]

/** How many emails of a priority may wait. More are refused: the mail server is down or too slow. */
export const maxQueued = { member_code: 1_000, new_address_code: 500, notice: 500 } as const satisfies Record<
  EmailPriority,
  number
>

export interface Email extends EmailContent {
  /** Null: no recipient. It waits like any other, so that the client that caused it learns nothing, and is not sent. */
  readonly to: string | null
  readonly priority: EmailPriority
}

export interface ClaimedEmail {
  readonly id: number
  readonly email: Email
  /** The number of this attempt at sending, from 1 on. */
  readonly attempt: number
}

export interface EnqueueResult {
  readonly isQueued: boolean
  /** The priorities that had no room before, whatever the priority of this email: an answer made of them reveals nothing about it. */
  readonly full: readonly EmailPriority[]
}

export interface EmailQueue {
  /** Whether emails stay when this process ends, for other nodes to send. */
  readonly isShared: boolean
  /** Number of waiting emails that only this process can send. */
  readonly pendingCount: number
  /** `onDue` is called whenever an email may be due. */
  start(onDue: () => void): void
  /** Stores an email if its priority has room. It is stored when this resolves. */
  enqueue(email: Email): Promise<EnqueueResult>
  /** Claims the due email of the highest priority, if any; no other caller gets it meanwhile. `memberCodesOnly` skips the others. */
  claim(options?: { readonly memberCodesOnly: boolean }): Promise<ClaimedEmail | undefined>
  /** The email was sent or given up. */
  complete(claimed: ClaimedEmail): Promise<void>
  /** Makes the email due again after `delayMs`. */
  retryLater(claimed: ClaimedEmail, delayMs: number): Promise<void>
  /** Stops calling `onDue`. */
  close(): Promise<void>
}

/** The queue of one process, which loses its emails when it dies. */
export class InMemoryEmailQueue implements EmailQueue {
  readonly isShared = false
  readonly #due: Record<EmailPriority, ClaimedEmail[]> = { member_code: [], new_address_code: [], notice: [] }
  /** Emails that wait for their retry. They still take room. */
  readonly #delayed: Record<EmailPriority, number> = { member_code: 0, new_address_code: 0, notice: 0 }
  #lastId = 0
  #onDue: () => void = () => undefined

  get pendingCount(): number {
    return emailPriorities.reduce((sum, priority) => sum + this.#count(priority), 0)
  }

  start(onDue: () => void): void {
    this.#onDue = onDue
  }

  async enqueue(email: Email): Promise<EnqueueResult> {
    const full = emailPriorities.filter((priority) => this.#count(priority) >= maxQueued[priority])
    if (full.includes(email.priority)) return { isQueued: false, full }
    this.#due[email.priority].push({ id: ++this.#lastId, email, attempt: 1 })
    this.#onDue()
    return { isQueued: true, full }
  }

  async claim({ memberCodesOnly } = { memberCodesOnly: false }): Promise<ClaimedEmail | undefined> {
    const priorities = memberCodesOnly ? (['member_code'] as const) : emailPriorities
    for (const priority of priorities) {
      const claimed = this.#due[priority].shift()
      if (claimed !== undefined) return claimed
    }
    return undefined
  }

  async complete(): Promise<void> {}

  async retryLater({ id, email, attempt }: ClaimedEmail, delayMs: number): Promise<void> {
    this.#delayed[email.priority] += 1
    setTimeout(() => {
      this.#delayed[email.priority] -= 1
      this.#due[email.priority].push({ id, email, attempt: attempt + 1 })
      this.#onDue()
    }, delayMs).unref()
  }

  async close(): Promise<void> {}

  #count(priority: EmailPriority): number {
    return this.#due[priority].length + this.#delayed[priority]
  }
}
