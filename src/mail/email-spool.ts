/**
 * A folder with one encrypted file for each waiting email, so that a restart loses none. A file is written when its email is queued and is
 * not flushed to disk: it outlives the process, and a machine that crashes may lose the codes of its last seconds. A process that is killed
 * between the sending of an email and the removal of its file sends it again.
 */
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Logger } from 'pino'
import { z } from 'zod'
import { createFolder } from '../system/data-folder/create-folder.ts'
import type { EmailEncryption } from './email-encryption.ts'
import { emailPriorities, maxQueued } from './email-queue.ts'
import type { QueuedEmail } from './email-queue.ts'
import { emailKinds } from './templates/email-templates.ts'

interface EmailSpoolOptions {
  readonly folder: string
  readonly encryption: EmailEncryption
  readonly log: Pick<Logger, 'warn'>
}

interface StoredEmail {
  readonly id: number
  readonly queued: QueuedEmail
}

const queuedSchema = z.object({
  email: z.object({
    to: z.string().nullable(),
    priority: z.enum(emailPriorities),
    usefulMs: z.number(),
    kind: z.enum(emailKinds),
    subject: z.string(),
    text: z.string(),
    html: z.string(),
    unsubscribeUrl: z.string().exactOptional(),
  }),
  queuedAt: z.number(),
  expiresAt: z.number(),
  attempt: z.number(),
  dueAt: z.number(),
})

/** More files than emails may wait are not ours. */
const maxFiles = emailPriorities.reduce((sum, priority) => sum + maxQueued[priority], 0)
const filePattern = /^(\d{1,15})\.email$/

export class EmailSpool {
  readonly #options: EmailSpoolOptions
  /** The last change of each file that is not complete: changes of one file run in order. */
  readonly #changes = new Map<number, Promise<void>>()
  #hasFailed = false

  constructor(options: EmailSpoolOptions) {
    this.#options = options
  }

  /** The emails that an earlier process left, the oldest first. Unreadable files are deleted. */
  load(): readonly StoredEmail[] {
    const { folder, log } = this.#options
    let names: readonly string[]
    try {
      createFolder(folder, 0o700)
      names = readdirSync(folder)
    } catch (error) {
      log.warn({ err: error }, 'the folder of waiting emails cannot be read: emails that wait end with this process')
      return []
    }
    const storedEmails: StoredEmail[] = []
    for (const name of names) {
      const id = filePattern.exec(name)?.[1]
      const email = id === undefined || storedEmails.length === maxFiles ? undefined : this.#read(join(folder, name))
      if (id === undefined || email === undefined) rmSync(join(folder, name), { force: true, recursive: true })
      else storedEmails.push({ id: Number(id), queued: email })
    }
    return storedEmails.toSorted((a, b) => a.queued.queuedAt - b.queued.queuedAt)
  }

  /** An email without a recipient has no file: there is nothing to send after a restart. */
  save(id: number, queued: QueuedEmail): void {
    if (queued.email.to === null) return
    const sealedEmail = this.#options.encryption.encrypt(queued)
    this.#change(id, async () => {
      const file = this.#toPath(id)
      await writeFile(`${file}.part`, sealedEmail, { mode: 0o600 })
      await rename(`${file}.part`, file)
    })
  }

  delete(id: number): void {
    this.#change(id, () => rm(this.#toPath(id), { force: true }))
  }

  /** Resolves when all changes are complete. */
  async flush(): Promise<void> {
    await Promise.all(this.#changes.values())
  }

  #toPath(id: number): string {
    return join(this.#options.folder, `${id}.email`)
  }

  #read(file: string): QueuedEmail | undefined {
    const { encryption, log } = this.#options
    const parsedEmail = queuedSchema.safeParse(encryption.decrypt(readFileSync(file)))
    if (parsedEmail.success) return parsedEmail.data
    log.warn('a waiting email could not be decrypted and was deleted')
    return undefined
  }

  #change(id: number, apply: () => Promise<void>): void {
    const change = (this.#changes.get(id) ?? Promise.resolve())
      .then(apply)
      .then(
        () => void (this.#hasFailed = false),
        (error: unknown) => this.#recordFailure(error),
      )
      .finally(() => {
        if (this.#changes.get(id) === change) this.#changes.delete(id)
      })
    this.#changes.set(id, change)
  }

  /** A full disk fails for each email: one line says it. */
  #recordFailure(error: unknown): void {
    if (!this.#hasFailed) this.#options.log.warn({ err: error }, 'waiting emails cannot be stored: a restart loses them')
    this.#hasFailed = true
  }
}
