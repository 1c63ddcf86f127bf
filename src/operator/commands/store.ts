/** `svc-gateway store accept`: confirms the database server in place of the one that was used before. */
import { loadConfig } from '../../config/config.ts'
import { redactUrl } from '../../config/redact-url.ts'
import { systemClock } from '../../system/clock.ts'
import { DataFolder } from '../../system/data-folder.ts'
import { OperatorError } from '../../system/operator-error.ts'
import { renderResult } from '../output.ts'
import type { CommandResult, OutputOptions } from '../output.ts'

/** @throws OperatorError */
export async function acceptStore(options: OutputOptions): Promise<CommandResult> {
  const { store } = await loadConfig()
  if (store.url === null)
    throw new OperatorError('This installation uses SQLite. Only a database on PostgreSQL (STORE_URL) needs a confirmation.')
  const folder = new DataFolder(store.dataDir)
  folder.prepare()
  const { confirmServer } = await import('../../store/postgres/confirm-server.ts')
  const { accepted, replaced } = await confirmServer({ url: store.url, clock: systemClock, file: folder.seenDatabase })
  const renderText = () =>
    replaced.length === 0
      ? `${redactUrl(store.url ?? '')} was the known database already.\n`
      : `${redactUrl(store.url ?? '')} is accepted in place of the database used before. Nodes that run use it within seconds; run svc-gateway ledger verify.\n`
  return renderResult(options, { ok: true, ...accepted, replaced }, renderText, true)
}
