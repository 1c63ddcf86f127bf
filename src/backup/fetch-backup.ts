/** Fetches a backup from its storage or from a file, and unpacks it. */
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { OperatorError } from '../system/operator-error.ts'
import { decryptStream } from './age-encryption.ts'
import { unpackArchive } from './archive-layout.ts'
import type { BackupStorage } from './storage/backup-storage.ts'
import { hashStream } from './hash-stream.ts'
import { readPassphrase } from './passphrase.ts'
import { isEncryptedName, readDigest } from './stored-backups.ts'

interface FetchOptions {
  readonly passphraseFile: string | null
  /** An empty folder. */
  readonly into: string
}

/** Returns the path of the unpacked database. @throws OperatorError if it is damaged or cannot be decrypted */
export async function fetchBackup(storage: BackupStorage, name: string, options: FetchOptions): Promise<string> {
  const expectedDigest = await readDigest(storage, name)
  const hash = createHash('sha256')
  const database = await unpack(hashStream(storage.read(name), hash), name, options)
  if (hash.digest('hex') !== expectedDigest)
    throw new OperatorError(`${name} in ${storage.location} is damaged: it has changed since it was written. Use an older one.`)
  return database
}

/** The same for an archive on this machine. */
export function unpackBackupFile(file: string, options: FetchOptions): Promise<string> {
  return unpack(createReadStream(file, { highWaterMark: 1024 ** 2 }), file, options)
}

async function unpack(content: AsyncIterable<Uint8Array>, name: string, { passphraseFile, into }: FetchOptions): Promise<string> {
  if (!isEncryptedName(name)) return unpackArchive(content, into)
  if (passphraseFile === null)
    throw new OperatorError(
      `${name} is encrypted: name the file with its passphrase, in backup.passphraseFile or with --passphrase-file.`,
    )
  return unpackArchive(decryptStream(content, readPassphrase(passphraseFile)), into)
}
