/** `svc-gateway backup` and `svc-gateway restore` */
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { loadConfig } from '../config.ts'
import { restoreFile } from '../store/sqlite/restore.ts'
import { atDesk, CommandError } from './desk.ts'
import { show } from './output.ts'
import type { Output } from './output.ts'

export function backup(file: string, options: Output): Promise<void> {
  const to = resolve(file)
  if (existsSync(to)) throw new CommandError(`${to} exists; a backup overwrites nothing. Choose another name.`)
  return atDesk(async ({ store }) => {
    await store.backup(to).catch((error: unknown) => {
      throw new CommandError(`No backup was written: ${error instanceof Error ? error.message : String(error)}`)
    })
    show(
      options,
      { ok: true, file: to },
      () => `A verified copy was written to ${to}.\nKeep it with secret.key of the data directory: signed links depend on that.`,
    )
  })
}

export async function restore(file: string, options: Output & { yes?: boolean }): Promise<void> {
  const from = resolve(file)
  if (!existsSync(from)) throw new CommandError(`There is no file ${from}.`)
  const config = await loadConfig()
  const to = join(config.store.dataDir, 'gateway.db')
  if (existsSync(to) && options.yes !== true) {
    throw new CommandError(`${to} would be replaced; it is kept beside it under another name. Say --yes if you mean it.`)
  }
  const { kept } = await restoreFile(from, to).catch((error: unknown) => {
    throw new CommandError(error instanceof Error ? error.message : String(error))
  })
  show(
    options,
    { ok: true, file: to, kept },
    () => `${from} was verified and is the database now.${kept === null ? '' : `\nWhat was there is kept as ${kept}.`}`,
  )
}
