/**
 * Sends emails from a bounded queue through an SMTP server, or writes them to a folder of `.eml` files if none is configured. No request
 * waits for the sending, whose result and duration appear in the log and the metrics alone. An email that could not be sent is tried as long
 * as it is of use. The log contains neither addresses nor texts.
 */
import type { Clock } from '../system/clock.ts'
import type { Logger } from 'pino'
import type { DeliveryOutcome, EmailOutcome } from '../domain/member-mailer.ts'
import { formatDuration } from '../system/duration.ts'
import type { ClaimedEmail, Email, EmailQueue } from './email-queue.ts'
import type { EmailResult, MailStats } from './email-results.ts'
import { createFolderTransport, deliverOnce } from './outgoing-mail.ts'
import type { OutgoingMail } from './outgoing-mail.ts'
import { findRetryDelay } from './retry-delay.ts'
import { classifySmtpFailure } from './smtp/smtp-failure.ts'
import { createSmtpTransport } from './smtp/smtp-transport.ts'
import type { AddressedEmail, EmailTransport } from './smtp/smtp-transport.ts'
import { ThrottledLog } from './throttled-log.ts'

interface MailerOptions {
  readonly mail: OutgoingMail
  readonly log: Logger
  readonly ids: { next(prefix: string, now: number): string }
  readonly clock: Clock
  readonly queue: EmailQueue
  /** How long the server may take for each command. */
  readonly commandTimeoutMs?: number
  /** How emails of the queue are sent; by default as `mail` describes. */
  readonly transport?: EmailTransport
}

/**
 * Workers that send at the same time, each over a connection of its own. Some send members' codes alone, because recipients that strangers
 * chose may make a server slow.
 */
const maxWorkers = { any: 2, memberCodes: 2 } as const
type WorkerKind = keyof typeof maxWorkers

/** The server may have an email that it did not acknowledge: each further attempt may be a further copy. */
const maxUnansweredAttempts = 3
/** An email that waits longer is reported by `/readyz`. */
const maxUnreportedWaitMs = 60_000
/** How old the result of the last attempt may be to tell whether the server can be reached. */
const maxStateAgeMs = 60_000

export class Mailer {
  readonly #options: MailerOptions
  readonly #transport: EmailTransport
  readonly #queue: EmailQueue
  readonly #throttledLog: ThrottledLog
  readonly #workers: Record<WorkerKind, number> = { any: 0, memberCodes: 0 }
  readonly #results: Record<EmailResult, number> = { sent: 0, deferred: 0, rejected: 0, expired: 0, unanswered: 0, dropped: 0 }
  /** Incremented whenever an email may have become due. */
  #dueSignals = 0
  /** Whether the last attempt failed before a recipient was named, so that no email can be sent. */
  #isServerFailing = false
  #stateMonotonicMs = -Infinity
  readonly #idleListeners: (() => void)[] = []
  #closing = false

  constructor(options: MailerOptions) {
    this.#options = options
    const { mail, queue, log, clock, commandTimeoutMs, transport } = options
    this.#throttledLog = new ThrottledLog(log, clock)
    const maxConnections = maxWorkers.any + maxWorkers.memberCodes
    this.#transport =
      transport ??
      (mail.smtp === null
        ? createFolderTransport(mail)
        : createSmtpTransport(mail.smtp, { maxConnections, ...(commandTimeoutMs === undefined ? {} : { commandTimeoutMs }) }))
    if (mail.smtp === null) log.info({ outbox: mail.outbox }, 'no SMTP server is configured: emails are written to files')
    this.#queue = queue
    queue.start({ onDue: () => this.#startWorker(), onExpired: (count) => this.#recordExpired(count) })
  }

  /** Resolves when the email is queued, and never rejects. The outcome does not depend on the email's priority or recipient. */
  async enqueue(email: Email): Promise<EmailOutcome> {
    if (this.#closing) {
      this.#recordDropped(email, 'the service is stopping')
      return 'unavailable'
    }
    try {
      const { isQueued, hasReplaced, full } = await this.#queue.enqueue(email)
      if (!isQueued) this.#recordDropped(email, 'the queue is full')
      if (hasReplaced) this.#recordReplaced()
      if (full.includes('member_code')) return 'unavailable'
      if (full.includes('new_address_code')) return 'new_addresses_paused'
      return this.#isServerFailing ? 'delayed' : 'queued'
    } catch (error) {
      this.#recordDropped(email, 'it could not be queued', error)
      return 'unavailable'
    }
  }

  /** Sends an email once, now, past the queue, and never rejects. The emails of the queue have connections of their own. */
  async deliver(email: AddressedEmail, signal: AbortSignal): Promise<DeliveryOutcome> {
    const { mail, log, ids, clock } = this.#options
    const id = ids.next('mail_', clock.now())
    const { outcome, reason } = await deliverOnce(mail, email, { id, signal, clock })
    this.#results[outcomeResults[outcome]] += 1
    if (outcome === 'sent') log.info({ mail: id, subject: email.kind }, 'an email was sent')
    else log.warn({ mail: id, subject: email.kind, outcome, reason }, 'an email was not sent')
    return outcome
  }

  get stats(): MailStats {
    const { count, oldestMs } = this.#queue.waiting
    return { results: { ...this.#results }, waiting: count, oldestWaitingSeconds: oldestMs / 1000 }
  }

  /** For `/readyz`: names no server and no address. Null while emails are sent. */
  get note(): string | null {
    const { count, oldestMs } = this.#queue.waiting
    if (!this.#isServerFailing && oldestMs <= maxUnreportedWaitMs) return null
    const waitingText = `${count} ${count === 1 ? 'waits' : 'wait'}, the oldest for ${formatDuration(oldestMs)}`
    return `mail: emails are not being sent${count === 0 ? '' : ` (${waitingText})`}; \`svc-gateway doctor\` tries the mail server`
  }

  /** Resolves when no email is due or is being sent here. */
  async waitUntilIdle(): Promise<void> {
    if (this.#isIdle) return
    await new Promise<void>((resolve) => this.#idleListeners.push(resolve))
  }

  /** Sends the due emails, for `timeoutMs` at most. */
  async close(timeoutMs = 5_000): Promise<void> {
    this.#closing = true
    await this.#options.clock.within(timeoutMs, this.waitUntilIdle()).catch(() => undefined)
    await this.#queue.close()
    this.#transport.close()
  }

  get #isIdle(): boolean {
    return this.#workers.any + this.#workers.memberCodes === 0 && this.#queue.pendingCount === 0
  }

  #startWorker(): void {
    this.#dueSignals += 1
    const kind = this.#workers.any < maxWorkers.any ? 'any' : 'memberCodes'
    if (this.#workers[kind] >= maxWorkers[kind]) return
    this.#workers[kind] += 1
    void this.#processQueue(kind)
  }

  async #processQueue(kind: WorkerKind): Promise<void> {
    const { log } = this.#options
    try {
      for (;;) {
        const signals = this.#dueSignals
        const claimedEmail = await this.#queue.claim({ memberCodesOnly: kind === 'memberCodes' })
        if (claimedEmail !== undefined) await this.#process(claimedEmail)
        else if (signals === this.#dueSignals) break
      }
    } catch (error) {
      log.warn({ err: error }, 'the email queue cannot be read; it is tried again')
    }
    this.#workers[kind] -= 1
    if (this.#isIdle) for (const resolve of this.#idleListeners.splice(0)) resolve()
  }

  async #process(claimed: ClaimedEmail): Promise<void> {
    const { log, ids, clock } = this.#options
    const { email } = claimed
    if (!isAddressed(email)) {
      await this.#refreshServerState()
      return this.#queue.complete(claimed)
    }
    const id = ids.next('mail_', clock.now())
    const startedMs = clock.monotonicMs()
    try {
      await this.#transport.send(email, id)
    } catch (error) {
      return this.#handleFailure(claimed, { id, error, elapsedMs: clock.monotonicMs() - startedMs })
    }
    this.#recordServerState(false)
    this.#results.sent += 1
    log.info({ mail: id, subject: email.kind }, 'an email was sent')
    return this.#queue.complete(claimed)
  }

  async #handleFailure(claimed: ClaimedEmail, failure: { id: string; error: unknown; elapsedMs: number }): Promise<void> {
    const { kind, isOfServer, reason } = classifySmtpFailure(failure.error)
    const { email, attempt, remainingMs } = claimed
    this.#recordServerState(isOfServer)
    const delayMs = findRetryDelay(attempt, remainingMs - failure.elapsedMs)
    const result = kind === 'permanent' ? 'rejected' : delayMs === null ? 'expired' : null
    const isUnanswered = kind === 'unanswered' && attempt >= maxUnansweredAttempts
    if (result === null && !isUnanswered && delayMs !== null) {
      const isKept = await this.#queue.retryLater(claimed, delayMs)
      if (!isKept) return this.#recordDropped(email, 'the service is stopping')
      this.#results.deferred += 1
      this.#throttledLog.write(
        'warn',
        { subject: email.kind, reason, attempt },
        'an email could not be sent yet; it is tried again',
      )
      return
    }
    this.#results[result ?? 'unanswered'] += 1
    this.#throttledLog.write(
      getLevel(email),
      { mail: failure.id, subject: email.kind, priority: email.priority, reason, attempt },
      result === 'rejected' ? 'an email was refused by the mail server' : 'an email could not be sent while it was of use',
    )
    return this.#queue.complete(claimed)
  }

  #recordDropped(email: Email, reason: string, error?: unknown): void {
    this.#results.dropped += 1
    const fields = { subject: email.kind, priority: email.priority, ...(error === undefined ? {} : { err: error }) }
    this.#throttledLog.write(getLevel(email), fields, `an email was dropped: ${reason}`)
  }

  #recordReplaced(): void {
    this.#results.dropped += 1
    this.#throttledLog.write('warn', {}, 'an email was dropped: a newer one to the same address took its place')
  }

  #recordExpired(count: number): void {
    this.#results.expired += count
    this.#throttledLog.write('warn', {}, 'an email could not be sent while it was of use', count)
  }

  #recordServerState(isFailing: boolean): void {
    this.#isServerFailing = isFailing
    this.#stateMonotonicMs = this.#options.clock.monotonicMs()
  }

  /**
   * An address that gets no email must not differ from others in the answer to the next request: it has the state of the server read,
   * once a minute, as an email to another address would.
   */
  async #refreshServerState(): Promise<void> {
    if (this.#options.clock.monotonicMs() - this.#stateMonotonicMs < maxStateAgeMs) return
    await this.#transport.verify().then(
      () => this.#recordServerState(false),
      () => this.#recordServerState(true),
    )
  }
}

/** A stranger causes emails to addresses without an account, so what becomes of them is no error of this service. */
function getLevel({ priority }: Email): 'warn' | 'error' {
  return priority === 'new_address_code' ? 'warn' : 'error'
}

const outcomeResults = {
  sent: 'sent',
  unavailable: 'deferred',
  rejected: 'rejected',
  unknown: 'unanswered',
} as const satisfies Record<DeliveryOutcome, EmailResult>

function isAddressed(email: Email): email is Email & AddressedEmail {
  return email.to !== null
}
