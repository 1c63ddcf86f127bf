/** `svc-gateway backup` without a file, `backup list` and `backup drill`: backups in the storage of the setting `backup`. */
import { chownSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { openBackupStorage } from '../../../backup/storage/open-backup-storage.ts'
import type { BackupSettings, BackupStorage } from '../../../backup/storage/backup-storage.ts'
import { restoreCompanionFiles, restorePendingSettlements } from '../../../backup/companion-files.ts'
import { fetchBackup, unpackBackupFile } from '../../../backup/fetch-backup.ts'
import { runBackup } from '../../../backup/run-backup.ts'
import { isBackupName, listBackups } from '../../../backup/stored-backups.ts'
import { loadConfig } from '../../../config/config.ts'
import type { GatewayConfig } from '../../../config/config.ts'
import { restoreFile } from '../../../store/sqlite/maintenance/restore.ts'
import { systemClock } from '../../../system/clock.ts'
import { DataFolder } from '../../../system/data-folder/data-folder.ts'
import { formatDuration } from '../../../system/duration.ts'
import { findFolderOwner } from '../../../system/data-folder/folder-owner.ts'
import { OperatorError, describeSystemError } from '../../../system/operator-error.ts'
import { CommandError } from '../../installation.ts'
import { formatTable, pluralize, renderResult } from '../../output.ts'
import type { CommandResult, OutputOptions } from '../../output.ts'

export async function writeStoredBackup(options: OutputOptions & { readonly images: boolean }): Promise<CommandResult> {
  if (!options.images) throw new CommandError('--no-images is for a backup to a file: name the file.')
  const config = await loadConfig()
  const settings = requireSettings(config)
  const folder = new DataFolder(config.store.dataDir)
  if (!folder.hasDatabase()) throw new CommandError(`There is no database in ${folder.path}.`)
  const writtenBackup = await runBackup({ settings, dataDir: config.store.dataDir, at: systemClock.now() })
  const { name, location, bytes, images, isEncrypted, deleted, thinningFailure } = writtenBackup
  return renderResult(options, { ok: true, ...writtenBackup }, () =>
    [
      `${name} (${formatBytes(bytes)}) was written to ${location} and read back.`,
      isEncrypted
        ? `It has the database, the secret and ${pluralize(images, 'image')}. It can be read only with the passphrase: keep a copy of that on another machine.`
        : `It has the database and ${pluralize(images, 'image')}, and not the secret, because it is not encrypted: keep a copy of ${folder.secret}.`,
      ...(deleted.length === 0 ? [] : [`${pluralize(deleted.length, 'older backup')} deleted, as backup.keep states.`]),
      ...(thinningFailure === null ? [] : [`Older backups could not be deleted: ${thinningFailure}`]),
    ].join('\n'),
  )
}

export async function listStoredBackups(options: OutputOptions): Promise<CommandResult> {
  const storage = openBackupStorage(requireSettings(await loadConfig()).to)
  const backups = (await listBackups(storage)).map((backup) => ({ ...backup, at: new Date(backup.at).toISOString() }))
  return renderResult(options, { location: storage.location, backups }, () =>
    backups.length === 0
      ? `There is no verified backup in ${storage.location}.`
      : formatTable(
          ['name', 'written', 'size'],
          backups.map(({ name, at, bytes }) => [name, at, formatBytes(bytes)]),
        ),
  )
}

/** Everything that a restore on another machine would do, in a folder that is deleted afterwards. */
export async function drillBackup(options: OutputOptions & { in?: string; passphraseFile?: string }): Promise<CommandResult> {
  const settings = requireSettings(await loadConfig())
  const source = await findNewest(openBackupStorage(settings.to))
  const parent = resolve(options.in ?? tmpdir())
  if (!existsSync(parent)) throw new CommandError(`There is no folder ${parent}.`)
  const temporary = mkdtempSync(join(parent, 'svc-gateway-drill-'))
  const startedMonotonicMs = systemClock.monotonicMs()
  try {
    const passphraseFile = options.passphraseFile ?? settings.passphraseFile
    return await withDatabaseOf(source, join(temporary, 'archive'), passphraseFile, async (from) => {
      const folder = new DataFolder(join(temporary, 'data'))
      folder.prepare()
      const { verification, rest } = await restoreFile({
        from,
        to: folder.database,
        at: systemClock.now(),
        companions: {
          restoreJournals: () => void restorePendingSettlements(from, folder),
          restoreFiles: () => restoreCompanionFiles(from, folder),
        },
      })
      const { accounts, turns } = verification
      const [images, hasSecret] = [rest?.images ?? 0, rest?.hasSecret ?? false]
      const seconds = (systemClock.monotonicMs() - startedMonotonicMs) / 1000
      const ageMs = systemClock.now() - source.at
      return renderResult(options, { ok: true, name: source.name, accounts, turns, images, hasSecret, ageMs, seconds }, () =>
        [
          `${source.name} can be restored: ${pluralize(accounts, 'account')}, ${pluralize(turns, 'turn')}, ${pluralize(images, 'image')}; the ledger adds up.`,
          `It is ${formatDuration(ageMs)} old, and this took ${formatDuration(seconds * 1000)}.`,
          ...(hasSecret ? [] : ['The secret is not in it, because it is not encrypted: keep a copy of secret.key.']),
        ].join('\n'),
      )
    })
  } finally {
    rmSync(temporary, { recursive: true, force: true })
  }
}

/** A backup to restore: a database, an archive on this machine, or an archive in the storage. */
type BackupSource =
  | { readonly kind: 'database'; readonly name: string }
  | { readonly kind: 'archive'; readonly name: string }
  | { readonly kind: 'stored'; readonly name: string; readonly at: number; readonly storage: BackupStorage }

/** @throws CommandError */
export async function findBackup(backup: string, { backup: settings }: GatewayConfig): Promise<BackupSource> {
  const file = resolve(backup)
  if (existsSync(file)) return { kind: /\.tar(?:\.age)?$/.test(file) ? 'archive' : 'database', name: file }
  const isStored = backup === 'latest' || isBackupName(backup)
  if (!isStored || settings === null)
    throw new CommandError(
      isStored ? `There is no file ${file}, and no storage: set backup.to, or name a file.` : `There is no file ${file}.`,
    )
  const storage = openBackupStorage(settings.to)
  if (backup === 'latest') return findNewest(storage)
  const storedBackup = (await listBackups(storage)).find(({ name }) => name === backup)
  if (storedBackup === undefined)
    throw new CommandError(`There is no backup ${backup} in ${storage.location}. See: svc-gateway backup list`)
  return { kind: 'stored', ...storedBackup, storage }
}

async function findNewest(storage: BackupStorage): Promise<BackupSource & { readonly kind: 'stored' }> {
  const [newestBackup] = await listBackups(storage)
  if (newestBackup === undefined) throw new CommandError(`There is no verified backup in ${storage.location}.`)
  return { kind: 'stored', ...newestBackup, storage }
}

/** Unpacks the backup into a folder that exists only during `work`. */
export async function withDatabaseOf<Result>(
  source: BackupSource,
  into: string,
  passphraseFile: string | null,
  work: (database: string) => Promise<Result>,
): Promise<Result> {
  if (source.kind === 'database') return work(source.name)
  const remove = (): void => rmSync(into, { recursive: true, force: true })
  // Of a restore that was killed.
  remove()
  try {
    mkdirSync(into, { mode: 0o700 })
    const owner = findFolderOwner(join(into, '..'))
    if (owner !== undefined) chownSync(into, owner.uid, owner.gid)
    const options = { passphraseFile, into }
    const database =
      source.kind === 'archive'
        ? await unpackBackupFile(source.name, options)
        : await fetchBackup(source.storage, source.name, options)
    return await work(database)
  } catch (error) {
    if (error instanceof OperatorError) throw error
    throw new CommandError(`${source.name} was not restored: ${describeSystemError(error)}.`, { cause: error })
  } finally {
    remove()
  }
}

/** @throws CommandError */
function requireSettings({ backup, store }: GatewayConfig): BackupSettings {
  if (backup !== null) return backup
  throw new CommandError(
    store.url === null
      ? 'No storage for backups is configured: set backup.to, or name a file.'
      : 'The store is a PostgreSQL database (STORE_URL): back it up with its own tools; docs/operations.md has the commands.',
  )
}

export function formatBytes(bytes: number): string {
  return bytes < 1024 ** 2 ? `${Math.ceil(bytes / 1024)} KiB` : `${(bytes / 1024 ** 2).toFixed(1)} MiB`
}
