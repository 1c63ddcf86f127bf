/** Opens the store in the data folder: for the server, which may begin an installation, and for commands, which never do. */
import { randomUUID } from 'node:crypto'
import { systemClock } from '../system/clock.ts'
import type { Clock } from '../system/clock.ts'
import type { GatewayConfig } from '../config/config.ts'
import { DataFolder } from '../system/data-folder.ts'
import type { Store } from '../membership/store.ts'
import type { SqliteStore } from '../store/sqlite/open.ts'
import type { Services } from './services.ts'
import { openSqliteStore } from '../store/sqlite/open.ts'
import { openSecret } from '../system/secret.ts'
import { Unusable } from '../system/unusable.ts'

/** Opens the store alone, for commands that work beside a running server. They find a database or refuse; only a start makes one. */
export async function openStore(config: GatewayConfig): Promise<Store> {
  const { url, dataDir } = config.store
  if (url !== null) {
    const { openSharedStore } = await import('./shared-installation.ts')
    return openSharedStore({ url, clock: systemClock, role: 'guest' })
  }
  const folder = new DataFolder(dataDir)
  if (!folder.hasDatabase()) {
    const advice = 'Name the folder of your installation in DATA_DIR, or start the server once: svc-gateway start'
    throw new Unusable(`There is no database in ${folder.path}. ${advice}`)
  }
  return openSqliteStore({
    file: folder.database,
    process: { id: randomUUID(), pid: process.pid },
    clock: systemClock,
    mayBeNew: false,
  })
}

/** The installation's secret, for a command that works beside a running server. @throws Unusable */
export async function secretOf({ store: { url, secretKey, dataDir } }: GatewayConfig): Promise<Buffer> {
  if (url === null) return openSecret(new DataFolder(dataDir).secret)
  const { secretIn } = await import('./shared-installation.ts')
  return secretIn({ url, secretKey })
}

/** Opens the store for the server, or begins a new installation in an empty folder. @throws Unusable */
export async function openOwnStore(
  folder: DataFolder,
  clock: Clock,
  log: Services['log'],
  onTrouble: (trouble: string | null) => void = () => {},
): Promise<SqliteStore> {
  const mayBeNew = !folder.hadInstallation()
  if (!folder.hasDatabase() && !mayBeNew) {
    throw new Unusable(
      `${folder.path} had an installation, but its gateway.db is missing or empty. Restore a backup (svc-gateway restore FILE), or name another folder in DATA_DIR.`,
    )
  }
  return openSqliteStore({
    file: folder.database,
    process: { id: randomUUID(), pid: process.pid },
    clock,
    role: 'server',
    log,
    mayBeNew,
    onTrouble(trouble) {
      if (trouble === null) log.info('the database is in order again; new turns are taken')
      else log.fatal({ trouble }, 'no new turns are taken: the database is in trouble')
      onTrouble(trouble)
    },
  })
}
