/** Opens the store: for the server, which may create an installation, and for commands, which never do. */
import { randomUUID } from 'node:crypto'
import { systemClock } from '../../system/clock.ts'
import type { Clock } from '../../system/clock.ts'
import type { GatewayConfig } from '../../config/config.ts'
import { DataFolder } from '../../system/data-folder/data-folder.ts'
import type { Store } from '../../domain/store.ts'
import type { SqliteStore } from '../../store/sqlite/open.ts'
import type { Services } from '../../services/services.ts'
import { openSqliteStore } from '../../store/sqlite/open.ts'
import { loadOrCreateSecret } from '../../system/secret.ts'
import { OperatorError } from '../../system/operator-error.ts'

/** Opens the store for a command beside a running server. Throws where there is no database; only a server start creates one. */
export async function openStore(config: GatewayConfig): Promise<Store> {
  const { url, dataDir } = config.store
  if (url !== null) {
    const { openSharedStore } = await import('./postgres-installation.ts')
    return openSharedStore({
      url,
      seenFile: new DataFolder(dataDir).seenDatabase,
      clock: systemClock,
      role: 'command',
      log: { warn: reportWait },
    })
  }
  const folder = new DataFolder(dataDir)
  if (!folder.hasDatabase()) {
    const advice = 'Name the folder of your installation in DATA_DIR, or start the server once: svc-gateway start'
    throw new OperatorError(`There is no database in ${folder.path}. ${advice}`)
  }
  return openSqliteStore({
    file: folder.database,
    process: { id: randomUUID(), pid: process.pid },
    clock: systemClock,
    allowCreate: false,
  })
}

/** A command that waits prints the reason at once, on standard error. */
function reportWait(fields: object, message: string): void {
  const { reason } = fields as { readonly reason?: unknown }
  if (typeof reason === 'string') process.stderr.write(`${message}: ${reason}\n`)
}

/** Reads the installation's secret for a command beside a running server. @throws OperatorError */
export async function readSecret({ store: { url, secretKey, dataDir } }: GatewayConfig): Promise<Buffer> {
  if (url === null) return loadOrCreateSecret(new DataFolder(dataDir).secret)
  const { readSharedSecret } = await import('./postgres-installation.ts')
  return readSharedSecret({ url, secretKey })
}

/** Opens the store for the server, or creates an installation in an empty folder. @throws OperatorError */
export async function openServerStore(
  folder: DataFolder,
  clock: Clock,
  log: Services['log'],
  onHealthChange: (reason: string | null) => void = () => {},
): Promise<SqliteStore> {
  const allowCreate = !folder.hadInstallation()
  if (!folder.hasDatabase() && !allowCreate) {
    throw new OperatorError(
      `${folder.path} had an installation, but its gateway.db is missing or empty. Restore a backup (svc-gateway restore FILE), or name another folder in DATA_DIR.`,
    )
  }
  return openSqliteStore({
    file: folder.database,
    process: { id: randomUUID(), pid: process.pid },
    clock,
    role: 'server',
    log,
    allowCreate,
    onHealthChange(reason) {
      if (reason === null) log.info('the database has recovered; new turns are accepted')
      else log.fatal({ reason }, 'new turns are refused: the database has failed')
      onHealthChange(reason)
    },
  })
}
