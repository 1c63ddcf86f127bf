/**
 * A process's own list of endings that the database cannot take just now, in a file beside it: room for them is set aside while there is
 * some, so that a full disk still takes them. Where the process dies before the ledger has them, whoever gives back its holds reads them first.
 *
 * One ending a line: the CRC-32 of what follows, and the order as JSON. The rest of the file is zeros. A line that was not whole when
 * the power went does not match its sum, and nobody has been told of it.
 */
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { open, rm } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { crc32 } from 'node:zlib'
import { Unusable, whyNot } from '../../system/unusable.ts'
import type { EndingOrder } from '../ledger/endings.ts'
import type { FileIdentity } from './file-identity.ts'
import { identityOf } from './file-identity.ts'

/** Room for some 5 000 endings. Beyond it the file grows, as far as the disk lets it. */
const roomBytes = 1024 * 1024

export function journalOf(database: string, process: string): string {
  return `${database}.owed-${process}`
}

/** The processes that have a journal beside this database, dead ones too. */
export function processesWithJournal(database: string): readonly string[] {
  const start = journalOf(basename(database), '')
  return readdirSync(dirname(database)).flatMap((name) => (name.startsWith(start) ? [name.slice(start.length)] : []))
}

/** What is owed to this database now, by each process that owes something: its lines, without the room behind them. */
export function owedTo(database: string): ReadonlyMap<string, string> {
  const journals = processesWithJournal(database).map((process) => {
    const lines = readFileSync(journalOf(database, process), 'latin1').split('\n')
    return [process, lines.filter((line) => toOrder(line).length > 0).join('\n')] as const
  })
  return new Map(journals.filter(([, lines]) => lines !== ''))
}

/** In the order they were written; none where there is no such file. */
export function readJournal(file: string): readonly EndingOrder[] {
  if (!existsSync(file)) return []
  return readFileSync(file, 'latin1').split('\n').flatMap(toOrder)
}

interface Gathered {
  readonly line: string
  readonly resolve: (hasHold: boolean) => void
  readonly reject: (error: unknown) => void
}

export class OwedJournal {
  readonly #file: string
  readonly #log: Log
  readonly #handle: FileHandle
  /** Where the next line goes; what stands before it is on the disk. */
  #end = 0
  /** What is behind it is zeros. */
  #touched = 0
  #gathered: Gathered[] = []
  #work: Promise<void> = Promise.resolve()

  private constructor(file: string, log: Log, handle: FileHandle) {
    this.#file = file
    this.#log = log
    this.#handle = handle
  }

  /** Makes the file and takes its room. @throws Unusable where there is none */
  static async make(database: string, process: string): Promise<OwedJournal> {
    const handle = await madeRoom(journalOf(database, process)).catch((error: unknown) => {
      throw new Unusable(`There is no room for the ledger's journal beside ${database}: ${whyNot(error)}.`, { cause: error })
    })
    const log = new Log(`${database}-wal`)
    await log.open()
    return new OwedJournal(journalOf(database, process), log, handle)
  }

  /**
   * Resolves once it is on the disk; what comes while the disk is busy goes together. Gives whether the hold that it ends is there as well:
   * holds wait for no disk, and an ending that survives the power is worth nothing without its hold.
   */
  write(order: EndingOrder): Promise<boolean> {
    return new Promise((resolve, reject) => {
      this.#gathered.push({ line: toLine(order), resolve, reject })
      if (this.#gathered.length === 1) this.#next(() => this.#append())
    })
  }

  /** Everything in it has been written to the ledger. Where the power goes before the zeros arrive, the lines are read again and do nothing. */
  clear(): void {
    this.#next(async () => {
      if (this.#touched === 0 || this.#gathered.length > 0) return
      try {
        await writeAll(this.#handle, Buffer.alloc(this.#touched), 0)
        this.#end = 0
        this.#touched = 0
      } catch {
        // It stays as it is, to be read again in vain, until it is next cleared.
      }
    })
  }

  /** Waits for what is under way. The file stays where something in it is still owed. */
  async close(stays: boolean): Promise<void> {
    await this.#work
    await this.#handle.close()
    await this.#log.close()
    if (!stays) await rm(this.#file, { force: true })
  }

  #next(step: () => Promise<void>): void {
    this.#work = this.#work.then(step)
  }

  async #append(): Promise<void> {
    const lines = this.#gathered
    this.#gathered = []
    const text = Buffer.from(lines.map(({ line }) => line).join(''), 'latin1')
    this.#touched = Math.max(this.#touched, this.#end + text.length)
    try {
      await writeAll(this.#handle, text, this.#end)
      await this.#handle.datasync()
      const hasHolds = await this.#log.isSynced()
      this.#end += text.length
      for (const { resolve } of lines) resolve(hasHolds)
    } catch (error) {
      // The next ones are written over what may have arrived of these.
      for (const { reject } of lines) reject(error)
    }
  }
}

/**
 * The database's log, by a descriptor that stays. What the disk did not take is told once to every descriptor that is open then, and to none
 * that is opened later: to that one all would seem to be there. Read alone, which is enough to have it synchronised; SQLite's locks are elsewhere.
 */
class Log {
  readonly #file: string
  #handle: FileHandle | undefined
  /** Of the file that is open. */
  #identity: FileIdentity = null

  constructor(file: string) {
    this.#file = file
  }

  /** What there is under its name now. */
  async open(): Promise<void> {
    const identity = await identityOf(this.#file)
    if (identity === this.#identity) return
    await this.close()
    if (identity === null) return
    this.#handle = await open(this.#file, 'r')
    this.#identity = identity
  }

  /** True also where there is none: then all of it is in the database. */
  async isSynced(): Promise<boolean> {
    try {
      await this.open()
      await this.#handle?.datasync()
      return true
    } catch {
      return false
    }
  }

  async close(): Promise<void> {
    const handle = this.#handle
    this.#handle = undefined
    this.#identity = null
    await handle?.close()
  }
}

/** Other than ASCII is escaped, so that a byte is a character. */
function toLine(order: EndingOrder): string {
  const json = JSON.stringify(order).replaceAll(
    /[\u0080-\uffff]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
  return `${sumOf(json)} ${json}\n`
}

function toOrder(line: string): readonly EndingOrder[] {
  const json = line.slice(sumLength + 1)
  if (json === '' || line.slice(0, sumLength) !== sumOf(json)) return []
  return [JSON.parse(json) as EndingOrder]
}

const sumLength = 8

function sumOf(json: string): string {
  return crc32(json).toString(16).padStart(sumLength, '0')
}

/** A disk that fills up takes a part. */
async function writeAll(handle: FileHandle, bytes: Uint8Array, from: number): Promise<void> {
  for (let done = 0; done < bytes.length;) {
    const { bytesWritten } = await handle.write(bytes, done, bytes.length - done, from + done)
    done += bytesWritten
  }
}

async function madeRoom(file: string): Promise<FileHandle> {
  const handle = await open(file, 'w', 0o600)
  try {
    await writeAll(handle, Buffer.alloc(roomBytes), 0)
    await handle.sync()
    return handle
  } catch (error) {
    await handle.close()
    await rm(file, { force: true })
    throw error
  }
}
