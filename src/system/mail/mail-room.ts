/**
 * The mail room: a bounded queue in front of an SMTP server, or of a folder of `.eml` files where none is configured. Nobody waits for the
 * sending: whether a message was sent, and how long that took, is for the log alone. The log has neither addresses nor texts.
 */
import { mkdirSync } from 'node:fs'
import { rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Transporter } from 'nodemailer'
import type { Logger } from 'pino'
import { LettersInMemory } from './letter-queue.ts'
import type { Letter, LetterQueue, TakenLetter } from './letter-queue.ts'

export interface MailRoomOptions {
  /** `smtp://user:password@host:port` or `smtps://…`; null writes files. */
  readonly smtpUrl: string | null
  readonly from: string
  /** Where files go. */
  readonly outbox: string
  readonly log: Logger
  readonly ids: { next(prefix: string, now: number): string }
  readonly clock: { now(): number }
  /** Default: in memory. */
  readonly queue?: LetterQueue
  /** How long the server may take for each thing that it is told. */
  readonly takingMs?: number
}

const atOnce = 2
const tries = 3
const pauseMs = 1_000
/** Until the server is there and has greeted. */
const connectMs = 15_000
/** It may ask others about the recipient, or look at the letter, before it says a word. */
const usualTakingMs = 30_000

type Send = (letter: Addressed, id: string) => Promise<void>
type Addressed = Letter & { readonly to: string }

export class MailRoom {
  readonly #options: MailRoomOptions
  readonly #send: Send
  readonly #closeTransport: () => void
  readonly #queue: LetterQueue
  /** How many letters are looked for or sent at the moment. */
  #busy = 0
  /** Something may have become due since somebody last looked. */
  #isDue = false
  readonly #idle: (() => void)[] = []
  #closing = false

  constructor(options: MailRoomOptions) {
    this.#options = options
    const { smtpUrl, queue = new LettersInMemory() } = options
    const way = smtpUrl === null ? toFolder(options) : toServer(smtpUrl, options.from, options.takingMs)
    this.#send = way.send
    this.#closeTransport = way.close
    if (smtpUrl === null) options.log.info({ outbox: options.outbox }, 'no SMTP server is configured: mail goes to files')
    this.#queue = queue
    queue.begin(() => this.#wake())
  }

  /** Resolves when the letter is kept, and never rejects: what became of it is for the log. */
  async post(letter: Letter): Promise<void> {
    const { log } = this.#options
    try {
      if (!this.#closing && (await this.#queue.add(letter))) return
      log.error({ subject: letter.kind }, 'a mail was dropped: too many are waiting')
    } catch (error) {
      log.error({ subject: letter.kind, err: error }, 'a mail was dropped: it could not be kept')
    }
  }

  /** Resolves when nothing is waiting or under way here. */
  async settled(): Promise<void> {
    if (this.#isIdle) return
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
    await this.#queue.close()
    this.#closeTransport()
  }

  get #isIdle(): boolean {
    return this.#busy === 0 && this.#queue.waiting === 0
  }

  #wake(): void {
    this.#isDue = true
    if (this.#busy >= atOnce) return
    this.#busy += 1
    void this.#work()
  }

  async #work(): Promise<void> {
    const { log } = this.#options
    try {
      while (this.#isDue) {
        this.#isDue = false
        const taken = await this.#queue.take()
        if (taken === undefined) continue
        this.#isDue = true
        await this.#deliver(taken)
      }
    } catch (error) {
      log.warn({ err: error }, 'mails cannot be taken from where they wait; that is tried again')
    }
    this.#busy -= 1
    if (this.#isIdle) for (const resolve of this.#idle.splice(0)) resolve()
  }

  async #deliver(taken: TakenLetter): Promise<void> {
    const { log, ids, clock } = this.#options
    const { letter, attempt } = taken
    if (!isAddressed(letter)) return this.#queue.done(taken)
    const id = ids.next('mail_', clock.now())
    try {
      await this.#send(letter, id)
    } catch (error) {
      if (attempt < tries && (!this.#closing || this.#queue.isShared)) return this.#queue.putBack(taken, pauseMs * attempt)
      log.error({ mail: id, subject: letter.kind, reason: reasonOf(error) }, 'a mail could not be sent')
      return this.#queue.done(taken)
    }
    log.info({ mail: id, subject: letter.kind }, 'a mail was sent')
    return this.#queue.done(taken)
  }
}

function isAddressed(letter: Letter): letter is Addressed {
  return letter.to !== null
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
export async function tryServer(smtpUrl: string, from: string, letter: Addressed | null): Promise<void> {
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
  takingMs = usualTakingMs,
): { readonly send: Send; readonly verify: () => Promise<unknown>; readonly close: () => void } {
  // Imported with the first letter: a start does not wait for what may never be needed.
  let connected: Promise<Transporter> | undefined
  const connect = (): Promise<Transporter> =>
    (connected ??= import('nodemailer').then(({ createTransport }) =>
      // As options: what is given second are defaults of letters, where a time-out means nothing.
      createTransport({
        url,
        connectionTimeout: connectMs,
        greetingTimeout: connectMs,
        socketTimeout: takingMs,
      } as Parameters<typeof createTransport>[0]),
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
