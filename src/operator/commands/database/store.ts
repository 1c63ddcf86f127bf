/** `svc-gateway store`: the layout of the database, and the confirmation of a database server in place of the one used before. */
import { existsSync } from 'node:fs'
import { loadConfig } from '../../../config/config.ts'
import { redactUrl } from '../../../config/redact-url.ts'
import { listMigrationCopies, readLayout } from '../../../store/sqlite/maintenance/migration-copy.ts'
import { systemClock } from '../../../system/clock.ts'
import { DataFolder } from '../../../system/data-folder/data-folder.ts'
import { OperatorError } from '../../../system/operator-error.ts'
import { formatMoment, pluralize, renderResult } from '../../output.ts'
import type { CommandResult, OutputOptions } from '../../output.ts'

/** Shows which changes of its layout a database has, and what going back to the copy from before the last one would lose. */
export async function showStore(options: OutputOptions): Promise<CommandResult> {
  const { store } = await loadConfig()
  if (store.url !== null)
    throw new OperatorError('The store is a PostgreSQL database (STORE_URL): see its table "migration", and its own backups.')
  const { database, path } = new DataFolder(store.dataDir)
  if (!existsSync(database)) throw new OperatorError(`There is no database in ${path}.`)
  const [layout, copies] = [readLayout(database), listMigrationCopies(database)]
  return renderResult(options, { database, layout, copies }, () =>
    [
      `${database} has these changes of its layout: ${layout.join(', ')}.`,
      ...copies.map(
        ({ file, at, layout: before, laterRecords: { turns, accounts, packs } }) =>
          `${file} is the copy of ${formatMoment(at, systemClock.now())}, with ${before.join(', ')}. Recorded since: ${pluralize(turns, 'turn')}, ${pluralize(accounts, 'account')}, ${pluralize(packs, 'boost pack')}.`,
      ),
    ].join('\n'),
  )
}

/** @throws OperatorError */
export async function acceptStore(options: OutputOptions): Promise<CommandResult> {
  const { store } = await loadConfig()
  if (store.url === null)
    throw new OperatorError('This installation uses SQLite. Only a database on PostgreSQL (STORE_URL) needs a confirmation.')
  const folder = new DataFolder(store.dataDir)
  folder.prepare()
  const { confirmServer } = await import('../../../store/postgres/confirm-server.ts')
  const { accepted, replaced } = await confirmServer({ url: store.url, clock: systemClock, file: folder.seenDatabase })
  const renderText = () =>
    replaced.length === 0
      ? `${redactUrl(store.url ?? '')} was the known database already.\n`
      : `${redactUrl(store.url ?? '')} is accepted in place of the database used before. Nodes that run use it within seconds; run svc-gateway ledger verify.\n`
  return renderResult(options, { ok: true, ...accepted, replaced }, renderText, true)
}
