/**
 * The backups in a storage. Each is one archive, named after its instant, and beside it a file with its SHA-256 that is written after the
 * archive was read back: only with it an archive counts as a backup.
 */
import { OperatorError } from '../system/operator-error.ts'
import type { BackupStorage } from './storage/backup-storage.ts'
import { selectExpired } from './thin-backups.ts'
import type { KeepRules } from './thin-backups.ts'

export interface StoredBackup {
  readonly name: string
  readonly at: number
  readonly bytes: number
}

const namePattern = /^svc-gateway-(\d{4}-\d\d-\d\d)T(\d\d)-(\d\d)-(\d\d)-(\d{3})Z\.tar(?:\.age)?$/
const encryptedSuffix = '.age'
const digestSuffix = '.sha256'
/** A younger archive without its digest may still be in the making. */
const unfinishedMs = 86_400_000

export function createBackupName(at: number, isEncrypted: boolean): string {
  const instant = new Date(at).toISOString().replaceAll(/[:.]/g, '-')
  return `svc-gateway-${instant}.tar${isEncrypted ? encryptedSuffix : ''}`
}

export function isBackupName(name: string): boolean {
  return parseInstant(name) !== undefined
}

export function isEncryptedName(name: string): boolean {
  return name.endsWith(encryptedSuffix)
}

/** As `sha256sum` prints it, so that `sha256sum --check` reads it. */
export function formatDigest(name: string, digest: string): string {
  return `${digest}  ${name}\n`
}

export function getDigestName(name: string): string {
  return `${name}${digestSuffix}`
}

/** The digest that was stored after the archive had been verified. @throws OperatorError */
export async function readDigest(storage: BackupStorage, name: string): Promise<string> {
  const parts: Uint8Array[] = []
  for await (const part of storage.read(getDigestName(name))) parts.push(part)
  const digest = /^[0-9a-f]{64}/.exec(Buffer.concat(parts).toString('latin1'))?.[0]
  if (digest === undefined) throw new OperatorError(`${getDigestName(name)} in ${storage.location} is damaged.`)
  return digest
}

/** Verified backups, newest first. */
export async function listBackups(storage: Pick<BackupStorage, 'list'>): Promise<readonly StoredBackup[]> {
  return (await listArchives(storage)).filter(({ isVerified }) => isVerified)
}

/**
 * Deletes the backups that are no longer kept, and what interrupted ones left. The digest is deleted first: after an interruption a
 * half-deleted backup does not count as one. Returns the names of deleted backups.
 */
export async function thinBackups(storage: BackupStorage, keep: KeepRules, now: number): Promise<readonly string[]> {
  const archives = await listArchives(storage)
  const expiredBackups = selectExpired(
    archives.filter(({ isVerified }) => isVerified),
    keep,
    now,
  )
  const newestVerified = archives.find(({ isVerified }) => isVerified)
  // One that was not read back may be good: it stays until a newer one is.
  const unfinishedBackups = archives.filter(
    ({ isVerified, at }) => !isVerified && at < now - unfinishedMs && newestVerified !== undefined && at < newestVerified.at,
  )
  for (const { name } of [...expiredBackups, ...unfinishedBackups]) await removeBackup(storage, name)
  await storage.removeUnfinished(now - unfinishedMs)
  return expiredBackups.map(({ name }) => name)
}

export async function removeBackup(storage: BackupStorage, name: string): Promise<void> {
  await storage.remove(getDigestName(name))
  await storage.remove(name)
}

async function listArchives(
  storage: Pick<BackupStorage, 'list'>,
): Promise<readonly (StoredBackup & { readonly isVerified: boolean })[]> {
  const files = await storage.list()
  const digests = new Set(files.flatMap(({ name, bytes }) => (name.endsWith(digestSuffix) && bytes > 0 ? [name] : [])))
  return files
    .flatMap(({ name, bytes }) => {
      const at = parseInstant(name)
      return at === undefined ? [] : [{ name, at, bytes, isVerified: digests.has(getDigestName(name)) }]
    })
    .toSorted((one, other) => other.at - one.at)
}

function parseInstant(name: string): number | undefined {
  const [, date, hours, minutes, seconds, ms] = namePattern.exec(name) ?? []
  const at = Date.parse(`${date}T${hours}:${minutes}:${seconds}.${ms}Z`)
  return Number.isNaN(at) ? undefined : at
}
