/**
 * Writes one backup to a storage: a verified copy of the database, pending settlements and images, and the secret where it is encrypted.
 * The archive is then read back, decrypted and compared. Nothing that was there before is touched until that has succeeded.
 */
import { createHash } from 'node:crypto'
import { chownSync, createReadStream, mkdirSync, readFileSync, readdirSync, rmSync, statSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'
import { backUp } from '../store/sqlite/maintenance/backup.ts'
import { ServerLock } from '../store/sqlite/process/server-lock.ts'
import { readPendingJournals } from '../store/sqlite/process/settlement-journal.ts'
import { DataFolder } from '../system/data-folder/data-folder.ts'
import { findFolderOwner } from '../system/data-folder/folder-owner.ts'
import { OperatorError, describeSystemError } from '../system/operator-error.ts'
import { decryptStream, encryptStream } from './age-encryption.ts'
import { archivedDatabase, checkArchive, companionFolderName } from './archive-layout.ts'
import { openBackupStorage } from './storage/open-backup-storage.ts'
import type { BackupSettings, BackupStorage } from './storage/backup-storage.ts'
import { pendingSettlementsPrefix } from './companion-files.ts'
import { hashStream } from './hash-stream.ts'
import { readPassphrase } from './passphrase.ts'
import { createBackupName, formatDigest, getDigestName, removeBackup, thinBackups } from './stored-backups.ts'
import type { StoredBackup } from './stored-backups.ts'
import { writeTar } from './tar-stream.ts'
import type { TarFile } from './tar-stream.ts'

export interface WriteBackupOptions {
  readonly settings: BackupSettings
  readonly dataDir: string
  /** The current time. */
  readonly at: number
  /** Cost of the passphrase's key; a lower one is for tests. */
  readonly costBits?: number
}

export interface WrittenBackup extends StoredBackup {
  readonly location: string
  readonly images: number
  readonly isEncrypted: boolean
  /** Names of older backups that were deleted. */
  readonly deleted: readonly string[]
  /** Why older backups could not be deleted; the backup itself is good. */
  readonly thinningFailure: string | null
}

const pieceBytes = 1024 * 1024

/** @throws OperatorError with a sentence for the operator; then the storage has what it had before */
export async function writeBackup(
  { settings, dataDir, at, costBits }: WriteBackupOptions,
  signal?: AbortSignal,
): Promise<WrittenBackup> {
  const folder = new DataFolder(dataDir)
  const storage = openBackupStorage(settings.to, signal)
  const passphrase = settings.passphraseFile === null ? null : readPassphrase(settings.passphraseFile)
  const name = createBackupName(at, passphrase !== null)
  const release = openStaging(folder, at)
  try {
    // Before the copy: a settlement that is written meanwhile is in both, and is applied once.
    const pendingSettlements = readPendingJournals(folder.database)
    const copy = join(folder.backupStaging, archivedDatabase)
    copyDatabase(folder.database, copy)
    const images = listImages(folder)
    const expectedBytes = statSync(copy).size + images.reduce((sum, { bytes }) => sum + bytes, 0)
    const source = { copy, pendingSettlements, secret: passphrase === null ? null : folder.secret, images }
    const [plainHash, storedHash] = [createHash('sha256'), createHash('sha256')]
    const plain = hashStream(cancellable(writeTar(listFiles(source), at), signal), plainHash)
    const content = passphrase === null ? plain : encryptStream(plain, passphrase, costBits === undefined ? {} : { costBits })
    const bytes = await storage.write(name, hashStream(content, storedHash), expectedBytes)
    try {
      const expectedDigests = { plain: plainHash.digest('hex'), stored: storedHash.digest('hex') }
      await verify(storage, name, passphrase, expectedDigests, signal)
      const digest = Buffer.from(formatDigest(name, expectedDigests.stored))
      await storage.write(getDigestName(name), toStream(digest), digest.length)
    } catch (error) {
      await removeBackup(storage, name).catch(() => undefined)
      throw error
    }
    const thinning = await thinBackups(storage, settings.keep, at).then(
      (deleted) => ({ deleted, thinningFailure: null }),
      (error: unknown) => ({ deleted: [], thinningFailure: describeSystemError(error) }),
    )
    return { name, at, bytes, location: storage.location, images: images.length, isEncrypted: passphrase !== null, ...thinning }
  } catch (error) {
    // Where the storage is full, this makes room for the next attempt. The newest backup stays.
    if (signal?.aborted !== true) await thinBackups(storage, settings.keep, at).catch(() => undefined)
    if (error instanceof OperatorError) throw new OperatorError(`No backup was written: ${error.message}`, { cause: error })
    throw new OperatorError(`No backup was written: ${describeSystemError(error)}.`, { cause: error })
  } finally {
    release()
  }
}

/** An empty folder for one backup at a time; a killed one's copy is deleted. Returns a function that deletes the folder. */
function openStaging(folder: DataFolder, at: number): () => void {
  const lock = ((): ServerLock => {
    try {
      return ServerLock.acquire(folder.backupStaging, process.pid, at)
    } catch (error) {
      throw new OperatorError('No backup was written: another one is being written at this moment.', { cause: error })
    }
  })()
  const remove = (): void => rmSync(folder.backupStaging, { recursive: true, force: true })
  try {
    remove()
    mkdirSync(folder.backupStaging, { mode: 0o700 })
    const owner = findFolderOwner(folder.path)
    if (owner !== undefined) chownSync(folder.backupStaging, owner.uid, owner.gid)
  } catch (error) {
    lock.release()
    throw new OperatorError(`No backup was written: ${folder.path} cannot be written: ${describeSystemError(error)}.`, {
      cause: error,
    })
  }
  return () => {
    try {
      remove()
    } finally {
      lock.release()
    }
  }
}

function copyDatabase(database: string, copy: string): void {
  try {
    backUp(database, copy)
  } catch (error) {
    throw new OperatorError(`the database could not be copied: ${describeSystemError(error)}.`, { cause: error })
  }
}

interface ArchiveSource {
  readonly copy: string
  readonly pendingSettlements: ReadonlyMap<string, string>
  readonly secret: string | null
  readonly images: readonly ImageFile[]
}

async function* listFiles({ copy, pendingSettlements, secret, images }: ArchiveSource): AsyncGenerator<TarFile> {
  yield { name: archivedDatabase, bytes: statSync(copy).size, content: createReadStream(copy, { highWaterMark: pieceBytes }) }
  for (const [process, lines] of pendingSettlements)
    yield toFile(`${companionFolderName}/${pendingSettlementsPrefix}${process}`, Buffer.from(`${lines}\n`, 'latin1'))
  if (secret !== null) yield toFile(`${companionFolderName}/secret.key`, readFileSync(secret))
  for (const { file, name } of images) {
    const handle = await open(file).catch((error: NodeJS.ErrnoException) => {
      // A clean-up job may delete an image meanwhile.
      if (error.code === 'ENOENT') return null
      throw error
    })
    if (handle === null) continue
    try {
      const { size } = await handle.stat()
      yield {
        name: `${companionFolderName}/images/${name}`,
        bytes: size,
        content: handle.createReadStream({ highWaterMark: pieceBytes, autoClose: false }),
      }
    } finally {
      await handle.close()
    }
  }
}

function toFile(name: string, bytes: Buffer): TarFile {
  return { name, bytes: bytes.length, content: [bytes] }
}

interface ImageFile {
  readonly file: string
  /** Below the folder of images, with `/`. */
  readonly name: string
  readonly bytes: number
}

function listImages({ images }: DataFolder): readonly ImageFile[] {
  const entries = statSync(images, { throwIfNoEntry: false }) ? readdirSync(images, { recursive: true, withFileTypes: true }) : []
  return entries.flatMap((entry) => {
    if (!entry.isFile() || entry.name.endsWith('.part')) return []
    const file = join(entry.parentPath, entry.name)
    const bytes = statSync(file, { throwIfNoEntry: false })?.size
    return bytes === undefined ? [] : [{ file, name: relative(images, file).replaceAll(sep, '/'), bytes }]
  })
}

/** Reads the archive back as a restore would. @throws OperatorError if it is not what was written */
async function verify(
  storage: BackupStorage,
  name: string,
  passphrase: string | null,
  expected: { readonly plain: string; readonly stored: string },
  signal: AbortSignal | undefined,
): Promise<void> {
  const [plainHash, storedHash] = [createHash('sha256'), createHash('sha256')]
  const storedBytes = hashStream(cancellable(storage.read(name), signal), storedHash)
  await checkArchive(hashStream(passphrase === null ? storedBytes : decryptStream(storedBytes, passphrase), plainHash))
  if (plainHash.digest('hex') !== expected.plain || storedHash.digest('hex') !== expected.stored)
    throw new OperatorError(`${storage.location} returned something else than was written to ${name}.`)
}

async function* cancellable(source: AsyncIterable<Uint8Array>, signal: AbortSignal | undefined): AsyncGenerator<Uint8Array> {
  for await (const piece of source) {
    signal?.throwIfAborted()
    yield piece
  }
}

async function* toStream(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}
