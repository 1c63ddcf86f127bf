/** `svc-gateway backup` and `svc-gateway restore` */
import { existsSync, rmSync } from 'node:fs'
import { resolve } from 'node:path'
import type { GatewayConfig } from '../config/config.ts'
import { loadConfig } from '../config/config.ts'
import { systemClock } from '../system/clock.ts'
import { DataFolder } from '../system/data-folder.ts'
import { owedTo } from '../store/sqlite/owed-journal.ts'
import { restoreFile } from '../store/sqlite/restore.ts'
import { filesBeside, restoreFiles, restoreOwed, saveFiles } from './backup-files.ts'
import { CommandError, withInstallation } from './installation.ts'
import { counted, say } from './output.ts'
import type { Output, Said } from './output.ts'

export function backup(file: string, options: Output & { images: boolean }): Promise<Said> {
  const to = resolve(file)
  const files = filesBeside(to)
  for (const place of [to, files])
    if (existsSync(place)) throw new CommandError(`${place} exists; a backup overwrites nothing. Choose another name.`)
  return withInstallation(async ({ store, config }) => {
    mustBeFile(config)
    const folder = new DataFolder(config.store.dataDir)
    const none = (error: unknown) =>
      new CommandError(`No backup was written: ${error instanceof Error ? error.message : String(error)}`)
    // Before the copy: an ending that is written to the database meanwhile is then in both, and done once.
    const owed = owedTo(folder.database)
    await store.backup(to).catch((error: unknown) => {
      throw none(error)
    })
    let images: number
    try {
      images = saveFiles(folder, files, { images: options.images, owed })
    } catch (error) {
      rmSync(to, { force: true })
      throw none(error)
    }
    return say(options, { ok: true, file: to, files, images }, () =>
      [
        `A verified copy was written to ${to}.`,
        `The secret${options.images ? ` and ${counted(images, 'image')} are` : ' is'} in ${files}; keep both together, where nobody else can read them.`,
        ...(options.images ? [] : [`The images stay in ${folder.images}; copy that folder yourself.`]),
      ].join('\n'),
    )
  })
}

/** A database on a server has tools of its own, which do it better. */
function mustBeFile({ store: { url } }: GatewayConfig): void {
  if (url === null) return
  throw new CommandError(
    'The store is a PostgreSQL database (STORE_URL): back it up with pg_basebackup or pg_dump, and restore it with its own tools. Secret, images and letters are in it.',
  )
}

export async function restore(file: string, options: Output & { yes?: boolean }): Promise<Said> {
  const from = resolve(file)
  if (!existsSync(from)) throw new CommandError(`There is no file ${from}.`)
  const config = await loadConfig()
  mustBeFile(config)
  const folder = new DataFolder(config.store.dataDir)
  const to = folder.database
  if (existsSync(to) && options.yes !== true) {
    throw new CommandError(`${to} would be replaced; it is kept beside it under another name. Say --yes if you mean it.`)
  }
  folder.prepare()
  let owing = 0
  const { kept, rest: files } = restoreFile(from, to, systemClock.now(), {
    owed: () => void (owing = restoreOwed(from, folder)),
    rest: () => restoreFiles(from, folder),
  })
  return say(options, { ok: true, file: to, kept, files }, () =>
    [
      `${from} was verified and is the database now: ${to}.`,
      ...(kept === null ? [] : [`What was there is kept as ${kept}.`]),
      ...(owing === 0 ? [] : ['Endings of turns that were still owed to it are back too; the next start writes them.']),
      ...(files === null
        ? [
            existsSync(folder.secret)
              ? `No secret or images came with it; those of ${folder.path} stay.`
              : `No secret or images came with it: put secret.key and images of the old installation into ${folder.path} before the next start, or links to images sent before are void.`,
          ]
        : [
            `Its secret and ${counted(files.images, 'image')} are back${files.kept === null ? '' : `; the secret that was there is kept as ${files.kept}`}.`,
          ]),
    ].join('\n'),
  )
}
