/**
 * Sends emails from a bounded queue through an SMTP server, or writes them to a folder of `.eml` files if none is configured. No request
 * waits for the sending, whose result and duration appear in the log alone. The log contains neither addresses nor texts.
 */
import { mkdirSync } from 'node:fs'
import { rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Transporter } from 'nodemailer'
import type { Logger } from 'pino'
import { InMemoryEmailQueue } from './email-queue.ts'
import type { Email, EmailQueue, ClaimedEmail } from './email-queue.ts'
import { deliverBySmtp, describeSmtpError, toMessage } from './smtp-delivery.ts'
import type { AddressedEmail } from './smtp-delivery.ts'
import type { DeliveryOutcome, EmailOutcome } from '../domain/services/member-mailer.ts'

interface MailerOptions {
  /** `smtp://user:password@host:port` or `smtps://…`; null writes files. */
  readonly smtpUrl: string | null
  readonly from: string
  /** The folder for files. */
  readonly outbox: string
  readonly log: Logger
  readonly ids: { next(prefix: string, now: number): string }
  readonly clock: { now(): number }
  /** Default: a queue in memory. */
  readonly queue?: EmailQueue
  /** How long the server may take for each command. */
  readonly commandTimeoutMs?: number
}

/**
 * Workers that send at the same time, each over a connection of its own. Some send members' codes alone, because recipients that strangers
 * chose may make a server slow.
 */
const maxWorkers = { any: 2, memberCodes: 2 } as const
type WorkerKind = keyof typeof maxWorkers
/** Messages over one connection; some servers end a connection after a hundred. */
const maxMessagesPerConnection = 100
/** An unused connection is closed before the server, or our own command timeout, closes it. */
const maxIdleMs = 20_000
const maxAttempts = 3
const retryDelayMs = 1_000
/** Until the connection is open, and until the server has greeted. */
const connectTimeoutMs = 15_000
/** A server may query other servers about the recipient, or scan the message, before it answers. */
const defaultCommandTimeoutMs = 30_000

type SendEmail = (email: AddressedEmail, id: string) => Promise<void>

export class Mailer {
  readonly #options: MailerOptions
  readonly #send: SendEmail
  readonly #closeTransport: () => void
  readonly #queue: EmailQueue
  readonly #workers: Record<WorkerKind, number> = { any: 0, memberCodes: 0 }
  /** Incremented whenever an email may have become due. */
  #dueSignals = 0
  readonly #idleListeners: (() => void)[] = []
  #closing = false

  constructor(options: MailerOptions) {
    this.#options = options
    const { smtpUrl, queue = new InMemoryEmailQueue() } = options
    const transport =
      smtpUrl === null ? createFolderTransport(options) : createSmtpTransport(smtpUrl, options.from, options.commandTimeoutMs)
    this.#send = transport.send
    this.#closeTransport = transport.close
    if (smtpUrl === null)
      options.log.info({ outbox: options.outbox }, 'no SMTP server is configured: emails are written to files')
    this.#queue = queue
    queue.start(() => this.#startWorker())
  }

  /** Resolves when the email is queued, and never rejects. The outcome does not depend on the email's priority or recipient. */
  async enqueue(email: Email): Promise<EmailOutcome> {
    const { log } = this.#options
    if (this.#closing) {
      log.error({ subject: email.kind }, 'an email was dropped: the service is stopping')
      return 'unavailable'
    }
    try {
      const { isQueued, full } = await this.#queue.enqueue(email)
      if (!isQueued) log.error({ subject: email.kind, priority: email.priority }, 'an email was dropped: the queue is full')
      if (full.includes('member_code')) return 'unavailable'
      return full.includes('new_address_code') ? 'new_addresses_paused' : 'queued'
    } catch (error) {
      log.error({ subject: email.kind, err: error }, 'an email was dropped: it could not be queued')
      return 'unavailable'
    }
  }

  /** Sends an email once, now, past the queue, and never rejects. The emails of the queue have connections of their own. */
  async deliver(email: AddressedEmail, signal: AbortSignal): Promise<DeliveryOutcome> {
    const { smtpUrl, from, log, ids, clock } = this.#options
    const id = ids.next('mail_', clock.now())
    const { outcome, reason } =
      smtpUrl === null
        ? await this.#send(email, id).then(
            () => ({ outcome: 'sent', reason: null }) as const,
            (error: unknown) => ({ outcome: 'unavailable', reason: describeSmtpError(error) }) as const,
          )
        : await deliverBySmtp(smtpUrl, from, email, signal)
    if (outcome === 'sent') log.info({ mail: id, subject: email.kind }, 'an email was sent')
    else log.warn({ mail: id, subject: email.kind, outcome, reason }, 'an email was not sent')
    return outcome
  }

  /** Resolves when no email waits or is being sent here. */
  async waitUntilIdle(): Promise<void> {
    if (this.#isIdle) return
    await new Promise<void>((resolve) => this.#idleListeners.push(resolve))
  }

  /** Sends the waiting emails, for `timeoutMs` at most. */
  async close(timeoutMs = 5_000): Promise<void> {
    this.#closing = true
    let timer: NodeJS.Timeout | undefined
    const timeout = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, timeoutMs)
    })
    await Promise.race([this.waitUntilIdle(), timeout])
    clearTimeout(timer)
    await this.#queue.close()
    this.#closeTransport()
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
        const claimed = await this.#queue.claim({ memberCodesOnly: kind === 'memberCodes' })
        if (claimed !== undefined) await this.#deliver(claimed)
        else if (signals === this.#dueSignals) break
      }
    } catch (error) {
      log.warn({ err: error }, 'the email queue cannot be read; it is tried again')
    }
    this.#workers[kind] -= 1
    if (this.#isIdle) for (const resolve of this.#idleListeners.splice(0)) resolve()
  }

  async #deliver(claimed: ClaimedEmail): Promise<void> {
    const { log, ids, clock } = this.#options
    const { email, attempt } = claimed
    if (!isAddressed(email)) return this.#queue.complete(claimed)
    const id = ids.next('mail_', clock.now())
    try {
      await this.#send(email, id)
    } catch (error) {
      if (attempt < maxAttempts && (!this.#closing || this.#queue.isShared))
        return this.#queue.retryLater(claimed, retryDelayMs * attempt)
      log.error({ mail: id, subject: email.kind, reason: describeSmtpError(error) }, 'an email could not be sent')
      return this.#queue.complete(claimed)
    }
    log.info({ mail: id, subject: email.kind }, 'an email was sent')
    return this.#queue.complete(claimed)
  }
}

function isAddressed(email: Email): email is Email & AddressedEmail {
  return email.to !== null
}

/** Connects and authenticates as for an email, and sends one if given. @throws the library's error */
export async function testSmtpServer(smtpUrl: string, from: string, email: AddressedEmail | null): Promise<void> {
  const { send, verify, close } = createSmtpTransport(smtpUrl, from)
  try {
    await verify()
    if (email !== null) await send(email, '')
  } finally {
    close()
  }
}

function createSmtpTransport(
  url: string,
  from: string,
  commandTimeoutMs = defaultCommandTimeoutMs,
): { readonly send: SendEmail; readonly verify: () => Promise<unknown>; readonly close: () => void } {
  // Imported with the first email, because a start should not wait for it.
  let connected: Promise<Transporter> | undefined
  const connect = (): Promise<Transporter> =>
    (connected ??= import('nodemailer').then(({ createTransport }) =>
      // In one object: a second argument has defaults for messages, where timeouts are ignored.
      createTransport({
        url,
        // A new connection for each email, with its TLS handshake and authentication, takes most of the time.
        pool: true,
        maxConnections: maxWorkers.any + maxWorkers.memberCodes,
        maxMessages: maxMessagesPerConnection,
        // A message that was lost with its connection is retried by our queue, which counts the attempts.
        maxRequeues: 1,
        idleTimeout: Math.min(maxIdleMs, commandTimeoutMs / 2),
        connectionTimeout: connectTimeoutMs,
        greetingTimeout: connectTimeoutMs,
        socketTimeout: commandTimeoutMs,
      } as Parameters<typeof createTransport>[0]),
    ))
  return {
    verify: async () => (await connect()).verify(),
    async send(email) {
      const transport = await connect()
      await transport.sendMail(toMessage(from, email))
    },
    close() {
      connected?.then(
        (transport) => transport.close(),
        // It was never opened.
        () => undefined,
      )
    },
  }
}

function createFolderTransport({ from, outbox }: MailerOptions): { readonly send: SendEmail; readonly close: () => void } {
  return {
    async send(email, id) {
      const { createTransport } = await import('nodemailer')
      const transport = createTransport({ streamTransport: true, buffer: true, newline: 'unix' })
      mkdirSync(outbox, { recursive: true, mode: 0o700 })
      const { message } = await transport.sendMail(toMessage(from, email))
      const file = join(outbox, `${id}.eml`)
      // A program that watches the folder sees complete files only.
      await writeFile(`${file}.part`, message as Buffer, { mode: 0o600 })
      await rename(`${file}.part`, file)
    },
    close: () => undefined,
  }
}
