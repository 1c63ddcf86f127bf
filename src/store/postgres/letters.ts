/**
 * Letters on their way, in the database that all nodes share: sealed, so that a copy of it signs nobody in; sent by any node; gone when sent,
 * or after ten minutes. Whoever takes one has it for a while, and for longer as long as it is heard of: what a node had that was killed is
 * sent by another. Only a node that is killed between sending and saying so has its letter sent twice.
 */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'
import type { QueryResult } from 'pg'
import { queueLimit } from '../../system/mail/letter-queue.ts'
import type { Letter, LetterQueue, TakenLetter } from '../../system/mail/letter-queue.ts'
import { alone } from './connections.ts'
import type { Connections } from './connections.ts'
import { isAway } from './failures.ts'
import type { PostgresLog } from './postgres-log.ts'

export interface SharedLettersOptions {
  readonly connections: Connections
  /** Of the installation. */
  readonly secret: Buffer
  readonly log?: PostgresLog
}

const keptMs = 600_000
/** How long a letter is a node's after it was last heard of, and how often it makes itself heard and looks what others left. */
const takenMs = 15_000
const lookEveryMs = 5_000

const inSoLong = (parameter: string) => `clock_timestamp() + ${parameter}::bigint * interval '1 ms'`

/** There is nobody to tell. */
const nobody = (): void => undefined

export class SharedLetters implements LetterQueue {
  readonly isShared = true
  readonly waiting = 0
  readonly #options: SharedLettersOptions
  readonly #key: Buffer
  /** What this node sends at the moment. */
  readonly #taken = new Set<TakenLetter>()
  readonly #pauses = new Set<NodeJS.Timeout>()
  #onDue = nobody
  #timer: NodeJS.Timeout | undefined
  #looking: Promise<void> | undefined

  constructor(options: SharedLettersOptions) {
    this.#options = options
    this.#key = Buffer.from(hkdfSync('sha256', options.secret, '', 'letters on their way', 32))
  }

  begin(onDue: () => void): void {
    this.#onDue = onDue
    this.#timer = setInterval(() => void this.look(), lookEveryMs).unref()
    onDue()
  }

  async add(letter: Letter): Promise<boolean> {
    const { rowCount } = await this.#ask(
      `insert into letter (sealed, expires_at) select $1::bytea, ${inSoLong('$2')} where (select count(*) from letter) < $3`,
      [seal(this.#key, letter), keptMs, queueLimit],
    )
    if (rowCount === 0) return false
    this.#onDue()
    return true
  }

  async take(): Promise<TakenLetter | undefined> {
    for (;;) {
      const { rows } = await this.#ask(
        `update letter set tries = tries + 1, due_at = ${inSoLong('$1')} where id = (
          select id from letter where due_at <= clock_timestamp() and expires_at > clock_timestamp()
          order by due_at limit 1 for update skip locked)
        returning id, sealed, tries`,
        [takenMs],
      )
      const [row] = rows as readonly { readonly id: number; readonly sealed: Buffer; readonly tries: number }[]
      if (row === undefined) return undefined
      const letter = unseal(this.#key, row.sealed)
      if (letter !== undefined) {
        const taken = { id: row.id, letter, attempt: row.tries }
        this.#taken.add(taken)
        return taken
      }
      await this.#remove(row.id)
      this.#options.log?.warn({}, 'a mail in the database could not be read, and was thrown away')
    }
  }

  async done(taken: TakenLetter): Promise<void> {
    this.#taken.delete(taken)
    await this.#remove(taken.id)
  }

  async putBack(taken: TakenLetter, afterMs: number): Promise<void> {
    this.#taken.delete(taken)
    // By its number of tries it is known whether it is still this node's.
    await this.#ask(`update letter set due_at = ${inSoLong('$1')} where id = $2 and tries = $3`, [
      afterMs,
      taken.id,
      taken.attempt,
    ])
    if (this.#timer === undefined) return
    const pause = setTimeout(() => {
      this.#pauses.delete(pause)
      this.#onDue()
    }, afterMs).unref()
    this.#pauses.add(pause)
  }

  /** What is being sent stays this node's, what nobody sent in time goes, and what others left is due. What fails is for the next time. */
  look(): Promise<void> {
    this.#looking ??= this.#look()
      .catch((error: unknown) => this.#options.log?.warn({ err: error }, 'the database does not tell of mails to be sent'))
      .finally(() => (this.#looking = undefined))
    return this.#looking
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    this.#timer = undefined
    for (const pause of this.#pauses) clearTimeout(pause)
    this.#onDue = nobody
    await this.#looking
  }

  async #look(): Promise<void> {
    if (this.#taken.size > 0) {
      const taken = [...this.#taken]
      await this.#ask(
        `update letter set due_at = ${inSoLong('$1')} from unnest($2::bigint[], $3::bigint[]) as mine(id, tries)
        where letter.id = mine.id and letter.tries = mine.tries`,
        [takenMs, taken.map(({ id }) => id), taken.map(({ attempt }) => attempt)],
      )
    }
    const { rowCount } = await this.#ask('delete from letter where expires_at <= clock_timestamp()', [])
    if (rowCount !== null && rowCount > 0)
      this.#options.log?.warn({ mails: rowCount }, 'mails were thrown away: nobody could send them in time')
    this.#onDue()
  }

  async #remove(id: number): Promise<void> {
    await this.#ask('delete from letter where id = $1', [id])
  }

  /** Again where the answer was lost: a letter had better be there twice than not at all, and all else may be done twice. */
  async #ask(text: string, values: readonly unknown[]): Promise<QueryResult> {
    const { connections } = this.#options
    try {
      return await connections.write(alone, text, values)
    } catch (error) {
      if (!isAway(error)) throw error
      return connections.write(alone, text, values)
    }
  }
}

const cipher = 'aes-256-gcm'
const nonceBytes = 12
const tagBytes = 16

/** A nonce, a tag, and the letter. */
function seal(key: Buffer, letter: Letter): Buffer {
  const nonce = randomBytes(nonceBytes)
  const sealing = createCipheriv(cipher, key, nonce)
  const text = Buffer.concat([sealing.update(JSON.stringify(letter), 'utf8'), sealing.final()])
  return Buffer.concat([nonce, sealing.getAuthTag(), text])
}

/** Undefined where it was sealed with another key, or changed since. */
function unseal(key: Buffer, sealed: Buffer): Letter | undefined {
  const head = nonceBytes + tagBytes
  if (sealed.length < head) return undefined
  const opening = createDecipheriv(cipher, key, sealed.subarray(0, nonceBytes), { authTagLength: tagBytes })
  opening.setAuthTag(sealed.subarray(nonceBytes, head))
  try {
    const text = Buffer.concat([opening.update(sealed.subarray(head)), opening.final()])
    return JSON.parse(text.toString('utf8')) as Letter
  } catch {
    return undefined
  }
}
