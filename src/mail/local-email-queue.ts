/** The queue of one process: in memory, and in its folder for the next start. */
import type { Clock, Timer } from '../system/clock.ts'
import { emailPriorities, maxQueued, maxQueuedPerRecipient, noListener } from './email-queue.ts'
import type {
  ClaimedEmail,
  Email,
  EmailPriority,
  EmailQueue,
  EnqueueResult,
  QueuedEmail,
  WaitingEmails,
  QueueListener,
} from './email-queue.ts'
import type { EmailSpool } from './email-spool.ts'

interface LocalEmailQueueOptions {
  readonly clock: Clock
  /** Where emails wait for the next start; null: they end with the process. */
  readonly spool?: EmailSpool | null
}

const pollMs = 1_000

export class LocalEmailQueue implements EmailQueue {
  readonly #clock: LocalEmailQueueOptions['clock']
  readonly #spool: EmailSpool | null
  /** In the order of queueing; claimed emails too, which still take room. */
  readonly #emails = new Map<number, QueuedEmail>()
  readonly #due: Record<EmailPriority, number[]> = { member_code: [], new_address_code: [], notice: [] }
  readonly #delayed = new Set<number>()
  readonly #counts: Record<EmailPriority, number> = { member_code: 0, new_address_code: 0, notice: 0 }
  readonly #countByRecipient = new Map<string, number>()
  #lastId = 0
  #listener = noListener
  #timer: Timer | undefined
  #isClosed = false

  constructor({ clock, spool = null }: LocalEmailQueueOptions) {
    this.#clock = clock
    this.#spool = spool
    for (const storedEmail of spool?.load() ?? []) this.#add(storedEmail.queued, storedEmail.id)
  }

  get pendingCount(): number {
    return emailPriorities.reduce((sum, priority) => sum + this.#due[priority].length, 0)
  }

  get waiting(): WaitingEmails {
    const now = this.#clock.now()
    const oldest = this.#emails.values().next().value
    return { count: this.#emails.size, oldestMs: oldest === undefined ? 0 : Math.max(0, now - oldest.queuedAt) }
  }

  start(listener: QueueListener): void {
    this.#listener = listener
    this.#timer = this.#clock.every(pollMs, () => this.poll()).unref()
    this.poll()
    if (this.pendingCount > 0) listener.onDue()
  }

  async enqueue(email: Email): Promise<EnqueueResult> {
    const full = emailPriorities.filter((priority) => this.#counts[priority] >= maxQueued[priority])
    if (full.includes(email.priority)) return { isQueued: false, hasReplaced: false, full }
    const hasRecipientRoom = email.to === null || (this.#countByRecipient.get(email.to) ?? 0) < maxQueuedPerRecipient
    const replacedId = hasRecipientRoom ? undefined : this.#findReplaceable(email)
    if (!hasRecipientRoom && replacedId === undefined) return { isQueued: false, hasReplaced: false, full }
    if (replacedId !== undefined) this.#remove(replacedId)
    const now = this.#clock.now()
    const queuedEmail = { email, queuedAt: now, expiresAt: now + email.usefulMs, attempt: 1, dueAt: now }
    const id = this.#add(queuedEmail)
    this.#spool?.save(id, queuedEmail)
    this.#listener.onDue()
    return { isQueued: true, hasReplaced: replacedId !== undefined, full }
  }

  async claim({ memberCodesOnly } = { memberCodesOnly: false }): Promise<ClaimedEmail | undefined> {
    for (const priority of memberCodesOnly ? (['member_code'] as const) : emailPriorities) {
      for (;;) {
        const id = this.#due[priority].shift()
        const queuedEmail = id === undefined ? undefined : this.#emails.get(id)
        if (id === undefined || queuedEmail === undefined) break
        const remainingMs = queuedEmail.expiresAt - this.#clock.now()
        if (remainingMs > 0) return { id, email: queuedEmail.email, attempt: queuedEmail.attempt, remainingMs }
        this.#remove(id)
        this.#listener.onExpired(1)
      }
    }
    return undefined
  }

  async complete({ id }: ClaimedEmail): Promise<void> {
    this.#remove(id)
  }

  async retryLater({ id, attempt }: ClaimedEmail, delayMs: number): Promise<boolean> {
    const queuedEmail = this.#emails.get(id)
    // A newer email has taken its place.
    if (queuedEmail === undefined) return true
    queuedEmail.attempt = attempt + 1
    queuedEmail.dueAt = this.#clock.now() + delayMs
    this.#spool?.save(id, queuedEmail)
    if (this.#isClosed && this.#spool === null) return false
    this.#delayed.add(id)
    return true
  }

  /** Makes emails due whose delay has passed, and deletes expired ones. */
  poll(): void {
    const now = this.#clock.now()
    let expiredCount = 0
    for (const id of this.#delayed) {
      const queuedEmail = this.#emails.get(id)
      if (queuedEmail === undefined || (queuedEmail.dueAt > now && queuedEmail.expiresAt > now)) continue
      this.#delayed.delete(id)
      if (queuedEmail.expiresAt > now) {
        this.#due[queuedEmail.email.priority].push(id)
        this.#listener.onDue()
      } else {
        this.#remove(id)
        expiredCount += 1
      }
    }
    if (expiredCount > 0) this.#listener.onExpired(expiredCount)
  }

  async close(): Promise<void> {
    this.#timer?.cancel()
    this.#isClosed = true
    this.#listener = noListener
    await this.#spool?.flush()
  }

  #add(queued: QueuedEmail, id = this.#lastId + 1): number {
    const { priority, to } = queued.email
    this.#lastId = Math.max(this.#lastId, id)
    this.#emails.set(id, queued)
    this.#counts[priority] += 1
    if (to !== null) this.#countByRecipient.set(to, (this.#countByRecipient.get(to) ?? 0) + 1)
    if (queued.dueAt > this.#clock.now()) this.#delayed.add(id)
    else this.#due[priority].push(id)
    return id
  }

  /** The oldest email to the recipient, of the same priority or else of the next lower one. */
  #findReplaceable({ to, priority }: Email): number | undefined {
    for (const candidate of emailPriorities.slice(emailPriorities.indexOf(priority)))
      for (const [id, { email }] of this.#emails) if (email.to === to && email.priority === candidate) return id
    return undefined
  }

  #remove(id: number): void {
    const queuedEmail = this.#emails.get(id)
    if (queuedEmail === undefined) return
    const { priority, to } = queuedEmail.email
    this.#emails.delete(id)
    this.#delayed.delete(id)
    const position = this.#due[priority].indexOf(id)
    if (position !== -1) this.#due[priority].splice(position, 1)
    this.#counts[priority] -= 1
    if (to !== null) {
      const remainingCount = (this.#countByRecipient.get(to) ?? 1) - 1
      if (remainingCount === 0) this.#countByRecipient.delete(to)
      else this.#countByRecipient.set(to, remainingCount)
    }
    this.#spool?.delete(id)
  }
}
