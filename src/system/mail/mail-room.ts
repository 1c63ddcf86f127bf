/**
 * The mail room: a bounded queue in front of an SMTP server, or of a folder of `.eml` files where none is configured. Nobody waits for it:
 * whether a message was sent, and how long that took, is for the log alone. The log has neither addresses nor texts.
 */
import { mkdirSync } from 'node:fs'
import { rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Transporter } from 'nodemailer'
import type { Logger } from 'pino'
import type { Message } from './messages.ts'

export interface MailRoomOptions {
  /** `smtp://user:password@host:port` or `smtps://…`; null writes files. */
  readonly smtpUrl: string | null
  readonly from: string
  /** Where files go. */
  readonly outbox: string
  readonly log: Logger
  readonly ids: { next(prefix: string, now: number): string }
  readonly clock: { now(): number }
}

export interface Letter extends Message {
  readonly to: string
}

/** More than this many waiting letters are dropped, with a line in the log: the way out is blocked. */
const queueLimit = 1_000
const atOnce = 2
const tries = 3
const pauseMs = 1_000
const timeoutMs = 15_000

type Send = (letter: Letter, id: string) => Promise<void>

export class MailRoom {
  readonly #options: MailRoomOptions
  readonly #send: Send
  readonly #closeTransport: () => void
  readonly #queue: Letter[] = []
  readonly #running = new Set<Promise<void>>()
  readonly #idle: (() => void)[] = []
  #closing = false

  constructor(options: MailRoomOptions) {
    this.#options = options
    const { smtpUrl } = options
    const way = smtpUrl === null ? toFolder(options) : toServer(smtpUrl, options.from)
    this.#send = way.send
    this.#closeTransport = way.close
    if (smtpUrl === null) options.log.info({ outbox: options.outbox }, 'no SMTP server is configured: mail goes to files')
  }

  /** Returns at once. */
  post(letter: Letter): void {
    const { log } = this.#options
    if (this.#closing || this.#queue.length >= queueLimit) {
      log.error({ subject: letter.kind }, 'a mail was dropped: too many are waiting')
      return
    }
    this.#queue.push(letter)
    this.#next()
  }

  /** Resolves when nothing is waiting or under way. */
  async settled(): Promise<void> {
    if (this.#queue.length === 0 && this.#running.size === 0) return
    await new Promise<void>((resolve) => this.#idle.push(resolve))
  }

  /** Sends what is waiting, for a while at most. */
  async close(waitMs = 5_000): Promise<void> {
    this.#closing = true
    let timer: NodeJS.Timeout | undefined
    const patience = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, waitMs)
    })
    await Promise.race([this.settled(), patience])
    clearTimeout(timer)
    this.#closeTransport()
  }

  #next(): void {
    while (this.#running.size < atOnce) {
      const letter = this.#queue.shift()
      if (letter === undefined) break
      const run = this.#deliver(letter).finally(() => {
        this.#running.delete(run)
        this.#next()
      })
      this.#running.add(run)
    }
    if (this.#queue.length === 0 && this.#running.size === 0) for (const resolve of this.#idle.splice(0)) resolve()
  }

  async #deliver(letter: Letter): Promise<void> {
    const { log, ids, clock } = this.#options
    const id = ids.next('mail_', clock.now())
    for (let attempt = 1; ; attempt++) {
      try {
        await this.#send(letter, id)
        log.info({ mail: id, subject: letter.kind }, 'a mail was sent')
        return
      } catch (error) {
        if (attempt === tries || this.#closing) {
          log.error({ mail: id, subject: letter.kind, reason: reasonOf(error) }, 'a mail could not be sent')
          return
        }
        await new Promise<void>((resolve) => setTimeout(resolve, pauseMs * attempt).unref())
      }
    }
  }
}

/** An SMTP error quotes addresses: its codes alone are for the log, the system's and the server's own (`EDNS ENOTFOUND`, `EAUTH 535 5.7.8`). */
function reasonOf(error: unknown): string {
  const { code, responseCode, message, response } = error as Record<'code' | 'responseCode' | 'message' | 'response', unknown>
  const system = /\bE[A-Z]{4,}\b/.exec(typeof message === 'string' ? message : '')?.[0]
  const enhanced = /^\d{3}[ -](\d\.\d{1,3}\.\d{1,3})\b/.exec(typeof response === 'string' ? response : '')?.[1]
  const codes = [code, system, responseCode, enhanced].filter((item) => typeof item === 'string' || typeof item === 'number')
  return [...new Set(codes.map(String))].join(' ') || 'unknown'
}

/** Connects and signs in as a letter would, and posts one where there is somebody to send it to. @throws the library's own words */
export async function tryServer(smtpUrl: string, from: string, letter: Letter | null): Promise<void> {
  const { send, verify, close } = toServer(smtpUrl, from)
  try {
    await verify()
    if (letter !== null) await send(letter, '')
  } finally {
    close()
  }
}

function toServer(
  url: string,
  from: string,
): { readonly send: Send; readonly verify: () => Promise<unknown>; readonly close: () => void } {
  // Imported with the first letter: a start does not wait for what may never be needed.
  let connected: Promise<Transporter> | undefined
  const connect = (): Promise<Transporter> =>
    (connected ??= import('nodemailer').then(({ createTransport }) =>
      createTransport(url, {
        from,
        pool: true,
        connectionTimeout: timeoutMs,
        greetingTimeout: timeoutMs,
        socketTimeout: timeoutMs,
      } as Parameters<typeof createTransport>[1]),
    ))
  return {
    verify: async () => (await connect()).verify(),
    async send({ to, subject, text }) {
      const transport = await connect()
      // An object, so that no comma or bracket in an address is taken for a list of them.
      await transport.sendMail({
        from,
        to: { name: '', address: to },
        subject,
        text,
        disableFileAccess: true,
        disableUrlAccess: true,
      })
    },
    close() {
      connected?.then(
        (transport) => transport.close(),
        // What never came about need not be closed.
        () => undefined,
      )
    },
  }
}

function toFolder({ from, outbox }: MailRoomOptions): { readonly send: Send; readonly close: () => void } {
  return {
    async send({ to, subject, text }, id) {
      const { createTransport } = await import('nodemailer')
      const transport = createTransport({ streamTransport: true, buffer: true, newline: 'unix' })
      mkdirSync(outbox, { recursive: true, mode: 0o700 })
      const { message } = await transport.sendMail({ from, to: { name: '', address: to }, subject, text })
      const file = join(outbox, `${id}.eml`)
      // Whoever watches the folder sees whole files only.
      await writeFile(`${file}.part`, message as Buffer, { mode: 0o600 })
      await rename(`${file}.part`, file)
    },
    close: () => undefined,
  }
}
