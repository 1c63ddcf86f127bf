/**
 * A process's journal of settlements that the database cannot take at present, in a file beside it. Its space is allocated in
 * advance, so that it can be written when the disk is full. If the process dies before the ledger has the settlements, the
 * process that releases its holds applies the journal first.
 *
 * Format: one settlement per line, the CRC-32 of the rest of the line and the order as JSON. The rest of the file is zeros. A
 * line that was incomplete at a power loss fails its checksum; its settlement was never reported as durable.
 */
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { open, rm } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { crc32 } from 'node:zlib'
import { OperatorError, describeSystemError } from '../../../system/operator-error.ts'
import type { EndingOrder } from '../../ledger/orders.ts'
import type { FileIdentity } from '../connection/file-identity.ts'
import { readFileIdentity } from '../connection/file-identity.ts'
import { parseJson } from '../../../system/parse-json.ts'

/** Room for about 5,000 settlements. Beyond that the file grows if the disk allows it. */
const preallocatedBytes = 1024 * 1024

export function getJournalPath(database: string, process: string): string {
  return `${database}.settlements-${process}`
}

/** Processes that have a journal beside this database, including dead ones. */
export function listJournalProcesses(database: string): readonly string[] {
  const start = getJournalPath(basename(database), '')
  return readdirSync(dirname(database)).flatMap((name) => (name.startsWith(start) ? [name.slice(start.length)] : []))
}

/** The pending settlements of this database: the valid lines by process, without the allocated space. */
export function readPendingJournals(database: string): ReadonlyMap<string, string> {
  const journals = listJournalProcesses(database).map((process) => {
    const lines = readFileSync(getJournalPath(database, process), 'latin1').split('\n')
    return [process, lines.filter((line) => parseLine(line).length > 0).join('\n')] as const
  })
  return new Map(journals.filter(([, lines]) => lines !== ''))
}

/** In the order in which they were written; empty if there is no file. */
export function readJournal(file: string): readonly EndingOrder[] {
  if (!existsSync(file)) return []
  return readFileSync(file, 'latin1').split('\n').flatMap(parseLine)
}

interface QueuedLine {
  readonly line: string
  readonly resolve: (isHoldDurable: boolean) => void
  readonly reject: (error: unknown) => void
}

export class SettlementJournal {
  readonly #file: string
  readonly #wal: WalFile
  readonly #handle: FileHandle
  /** Where the next line is written; everything before it is on disk. */
  #endOffset = 0
  /** Everything after it is zeros. */
  #dirtyEnd = 0
  #queue: QueuedLine[] = []
  #work: Promise<void> = Promise.resolve()

  private constructor(file: string, wal: WalFile, handle: FileHandle) {
    this.#file = file
    this.#wal = wal
    this.#handle = handle
  }

  /** Creates the file and allocates its space. @throws OperatorError if there is no room */
  static async create(database: string, process: string): Promise<SettlementJournal> {
    const handle = await createPreallocatedFile(getJournalPath(database, process)).catch((error: unknown) => {
      throw new OperatorError(`There is no room for the settlement journal beside ${database}: ${describeSystemError(error)}.`, {
        cause: error,
      })
    })
    const wal = new WalFile(`${database}-wal`)
    await wal.open()
    return new SettlementJournal(getJournalPath(database, process), wal, handle)
  }

  /**
   * Resolves once the settlement is on disk; settlements that arrive during a flush share the next one. Returns whether the hold
   * is on disk as well: holds are not flushed when they are made, and a settlement without its hold is useless after a power
   * loss.
   */
  append(order: EndingOrder): Promise<boolean> {
    return new Promise((resolve, reject) => {
      this.#queue.push({ line: formatLine(order), resolve, reject })
      if (this.#queue.length === 1) this.#enqueue(() => this.#writeQueue())
    })
  }

  /**
   * Call when the ledger has every settlement of the journal. After a power loss before the zeros are on disk, the lines are read
   * again and change nothing.
   */
  clear(): void {
    this.#enqueue(async () => {
      if (this.#dirtyEnd === 0 || this.#queue.length > 0) return
      try {
        await writeAll(this.#handle, Buffer.alloc(this.#dirtyEnd), 0)
        this.#endOffset = 0
        this.#dirtyEnd = 0
      } catch {
        // The lines stay until the journal is next cleared; reading them again changes nothing.
      }
    })
  }

  /** Waits for running writes. `keepFile`: the journal still has pending settlements. */
  async close(keepFile: boolean): Promise<void> {
    await this.#work
    await this.#handle.close()
    await this.#wal.close()
    if (!keepFile) await rm(this.#file, { force: true })
  }

  #enqueue(step: () => Promise<void>): void {
    this.#work = this.#work.then(step)
  }

  async #writeQueue(): Promise<void> {
    const lines = this.#queue
    this.#queue = []
    const text = Buffer.from(lines.map(({ line }) => line).join(''), 'latin1')
    this.#dirtyEnd = Math.max(this.#dirtyEnd, this.#endOffset + text.length)
    try {
      await writeAll(this.#handle, text, this.#endOffset)
      await this.#handle.datasync()
      const hasHolds = await this.#wal.trySync()
      this.#endOffset += text.length
      for (const { resolve } of lines) resolve(hasHolds)
    } catch (error) {
      // The next lines overwrite what may have arrived of these.
      for (const { reject } of lines) reject(error)
    }
  }
}

/**
 * The database's WAL, through a descriptor that stays open: Linux reports a failed write-back once to each descriptor that is
 * open at that time, and never to one that is opened later. Read-only access is enough for fdatasync and does not touch SQLite's
 * locks.
 */
class WalFile {
  readonly #file: string
  #handle: FileHandle | undefined
  /** Identity of the open file. */
  #identity: FileIdentity = null

  constructor(file: string) {
    this.#file = file
  }

  /** Opens the file that has the name now. */
  async open(): Promise<void> {
    const identity = await readFileIdentity(this.#file)
    if (identity === this.#identity) return
    await this.close()
    if (identity === null) return
    this.#handle = await open(this.#file, 'r')
    this.#identity = identity
  }

  /** Also true if there is no WAL: then everything is in the database. */
  async trySync(): Promise<boolean> {
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

/** Escapes non-ASCII characters, so that a byte is a character. */
function formatLine(order: EndingOrder): string {
  const json = JSON.stringify(order).replaceAll(
    /[\u0080-\uffff]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
  return `${computeChecksum(json)} ${json}\n`
}

function parseLine(line: string): readonly EndingOrder[] {
  const json = line.slice(checksumLength + 1)
  if (json === '' || line.slice(0, checksumLength) !== computeChecksum(json)) return []
  return [parseJson(json) as EndingOrder]
}

const checksumLength = 8

function computeChecksum(json: string): string {
  return crc32(json).toString(16).padStart(checksumLength, '0')
}

/** Continues after a partial write, as on a disk that fills up. */
async function writeAll(handle: FileHandle, bytes: Uint8Array, from: number): Promise<void> {
  for (let writtenBytes = 0; writtenBytes < bytes.length;) {
    const { bytesWritten } = await handle.write(bytes, writtenBytes, bytes.length - writtenBytes, from + writtenBytes)
    writtenBytes += bytesWritten
  }
}

async function createPreallocatedFile(file: string): Promise<FileHandle> {
  const handle = await open(file, 'w', 0o600)
  try {
    await writeAll(handle, Buffer.alloc(preallocatedBytes), 0)
    await handle.sync()
    return handle
  } catch (error) {
    await handle.close()
    await rm(file, { force: true })
    throw error
  }
}
