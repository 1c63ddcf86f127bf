/** `svc-gateway backup` and `svc-gateway restore` */
import { existsSync, rmSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import type { GatewayConfig } from '../../../config/config.ts'
import { loadConfig } from '../../../config/config.ts'
import { systemClock } from '../../../system/clock.ts'
import { DataFolder } from '../../../system/data-folder/data-folder.ts'
import { readPendingJournals } from '../../../store/sqlite/process/settlement-journal.ts'
import { restoreFile } from '../../../store/sqlite/maintenance/restore.ts'
import { findBackup, withDatabaseOf, writeStoredBackup } from './stored-backups.ts'
import {
  companionFiles,
  restoreCompanionFiles,
  restorePendingSettlements,
  saveCompanionFiles,
} from '../../../backup/companion-files.ts'
import { CommandError, withInstallation } from '../../installation.ts'
import { pluralize, renderResult } from '../../output.ts'
import type { OutputOptions, CommandResult } from '../../output.ts'

export function backup(file: string | undefined, options: OutputOptions & { images: boolean }): Promise<CommandResult> {
  if (file === undefined) return writeStoredBackup(options)
  const to = resolve(file)
  const files = companionFiles(to)
  for (const place of [to, files])
    if (existsSync(place)) throw new CommandError(`${place} exists; a backup overwrites nothing. Choose another name.`)
  // Not created: behind a disk that is not mounted, the copy would be written beside the original.
  if (!existsSync(dirname(to)))
    throw new CommandError(`The folder ${dirname(to)} does not exist. Create it, or mount the disk that it is on.`)
  return withInstallation(async ({ store, config }) => {
    assertFileStore(config)
    const folder = new DataFolder(config.store.dataDir)
    const toBackupError = (error: unknown) =>
      new CommandError(`No backup was written: ${error instanceof Error ? error.message : String(error)}`)
    // Before the copy: a settlement that is written meanwhile is in both, and is applied once.
    const pendingSettlements = readPendingJournals(folder.database)
    await store.backup(to).catch((error: unknown) => {
      throw toBackupError(error)
    })
    let images: number
    try {
      images = saveCompanionFiles(folder, files, { images: options.images, pendingSettlements })
    } catch (error) {
      rmSync(to, { force: true })
      throw toBackupError(error)
    }
    return renderResult(options, { ok: true, file: to, files, images }, () =>
      [
        `A verified copy was written to ${to}.`,
        `The secret${options.images ? ` and ${pluralize(images, 'image')} are` : ' is'} in ${files}; keep both together, in a folder that only you can read.`,
        ...(options.images ? [] : [`The images stay in ${folder.images}; copy that folder yourself.`]),
      ].join('\n'),
    )
  })
}

/** A database server has backup tools of its own. */
function assertFileStore({ store: { url } }: GatewayConfig): void {
  if (url === null) return
  throw new CommandError(
    'The store is a PostgreSQL database (STORE_URL): back it up with pg_basebackup or pg_dump, and restore it with its own tools. Secret, images and emails are in it.',
  )
}

export async function restore(
  backup: string,
  options: OutputOptions & { yes?: boolean; passphraseFile?: string },
): Promise<CommandResult> {
  const config = await loadConfig()
  assertFileStore(config)
  const folder = new DataFolder(config.store.dataDir)
  const to = folder.database
  const source = await findBackup(backup, config)
  if (existsSync(to) && options.yes !== true) {
    throw new CommandError(`${to} would be replaced; it is kept beside it under another name. Add --yes to confirm.`)
  }
  folder.prepare()
  const passphraseFile = options.passphraseFile ?? config.backup?.passphraseFile ?? null
  return withDatabaseOf(source, folder.restoreStaging, passphraseFile, (from) =>
    restoreDatabase(from, source.name, folder, options),
  )
}

async function restoreDatabase(
  from: string,
  shownName: string,
  folder: DataFolder,
  options: OutputOptions,
): Promise<CommandResult> {
  const to = folder.database
  let restoredJournals = 0
  const {
    kept,
    migrated,
    rest: files,
  } = await restoreFile({
    from,
    to,
    at: systemClock.now(),
    companions: {
      restoreJournals: () => void (restoredJournals = restorePendingSettlements(from, folder)),
      restoreFiles: () => restoreCompanionFiles(from, folder),
    },
  })
  return renderResult(options, { ok: true, file: to, kept, migrated, files }, () =>
    [
      `${shownName} was verified and is the database now: ${to}.`,
      ...(migrated.length === 0
        ? []
        : [`It was written by an older version; the copy has the schema of this version now (${migrated.join(', ')}).`]),
      ...(kept === null ? [] : [`What was there is kept as ${kept}.`]),
      ...(restoredJournals === 0 ? [] : ['Pending settlements were restored too; the next start writes them.']),
      ...(files === null
        ? [
            existsSync(folder.secret)
              ? `No secret or images came with it; those of ${folder.path} stay.`
              : `No secret or images came with it: put secret.key and images of the old installation into ${folder.path} before the next start, or links to images sent before are void.`,
          ]
        : !files.hasSecret
          ? [
              `Its ${pluralize(files.images, 'image is', 'images are')} back. ` +
                (existsSync(folder.secret)
                  ? `No secret came with it, because it is not encrypted; that of ${folder.path} stays.`
                  : `No secret came with it, because it is not encrypted: put secret.key of the old installation into ${folder.path} before the next start, or links to images sent before are void.`),
            ]
          : [
              `Its secret and ${pluralize(files.images, 'image')} are back${files.kept === null ? '' : `; the secret that was there is kept as ${files.kept}`}.`,
            ]),
    ].join('\n'),
  )
}
