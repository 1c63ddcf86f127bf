/** Whether the storage of backups can be read and written, how old the newest backup is, whether it is encrypted, and why the last one failed. */
import { statSync, statfsSync } from 'node:fs'
import { readPassphrase } from '../../../backup/passphrase.ts'
import type { BackupSettings, BackupStorage } from '../../../backup/storage/backup-storage.ts'
import { openBackupStorage } from '../../../backup/storage/open-backup-storage.ts'
import { listBackups } from '../../../backup/stored-backups.ts'
import type { StoredBackup } from '../../../backup/stored-backups.ts'
import type { GatewayConfig } from '../../../config/config.ts'
import { requestLastBackupFailure } from '../../../server/reload/control-socket.ts'
import type { HealthCheck } from '../../../services/health/health-checks.ts'
import { systemClock } from '../../../system/clock.ts'
import { DataFolder } from '../../../system/data-folder/data-folder.ts'
import { formatDuration } from '../../../system/duration.ts'
import { describeError } from './describe-error.ts'
import { findWriteObstacle } from './find-write-obstacle.ts'
import { formatBytes } from '../database/stored-backups.ts'

const what = 'backup'
const probeName = 'svc-gateway-doctor-probe'

const serverTimeoutMs = 5_000

export async function checkBackup({ backup, store }: Pick<GatewayConfig, 'backup' | 'store'>): Promise<readonly HealthCheck[]> {
  if (backup === null) return []
  const storage = openBackupStorage(backup.to)
  return [...(await checkStorage(backup, storage, store.dataDir)), ...(await checkLastFailure(storage, store.dataDir))]
}

/** No finding without a server, and where a backup was written since. */
async function checkLastFailure(storage: BackupStorage, dataDir: string): Promise<readonly HealthCheck[]> {
  const { controlSocket } = new DataFolder(dataDir)
  const failure = await requestLastBackupFailure(controlSocket, systemClock.deadline(serverTimeoutMs)).catch(() => null)
  if (failure === null) return []
  // A storage that cannot be listed has no newer backup, and a finding of its own.
  const [newestBackup] = await listBackups(storage).catch(() => [])
  if (newestBackup !== undefined && newestBackup.at > failure.at) return []
  const age = formatDuration(Math.max(0, systemClock.now() - failure.at))
  return [{ what, ok: false, detail: `the last one on schedule, ${age} ago, failed and will be repeated: ${failure.reason}` }]
}

async function checkStorage(
  { to, passphraseFile, every }: BackupSettings,
  storage: BackupStorage,
  dataDir: string,
): Promise<readonly HealthCheck[]> {
  try {
    if (passphraseFile !== null) readPassphrase(passphraseFile)
    const [newestBackup] = await listBackups(storage)
    await storage.write(probeName, toStream(Buffer.from('probe')), 5)
    await storage.remove(probeName)
    const obstacle = typeof to === 'string' ? findWriteObstacle(storage.location, dataDir) : null
    if (obstacle !== null) return [{ what, ok: false, detail: obstacle }]
    return [
      describeNewest(newestBackup, every, storage.location),
      ...(typeof to === 'string' ? checkRoom(to, newestBackup?.bytes ?? measureDatabase(dataDir)) : []),
      ...(typeof to !== 'string' && passphraseFile === null
        ? [
            {
              what,
              ok: false,
              detail: 'backups leave this machine without encryption and without the secret: set backup.passphraseFile',
            },
          ]
        : []),
    ]
  } catch (error) {
    return [{ what, ok: false, detail: describeError(error) }]
  }
}

function describeNewest(newest: StoredBackup | undefined, every: number, location: string): HealthCheck {
  if (newest === undefined)
    return {
      what,
      ok: true,
      detail: `${location} can be written and has no backup yet; the server writes one within minutes of its start`,
    }
  const ageMs = systemClock.now() - newest.at
  const age = `the newest in ${location} is ${formatDuration(Math.max(0, ageMs))} old`
  return ageMs > 2 * every
    ? { what, ok: false, detail: `${age}, and one is due every ${formatDuration(every)}: see the log, or run svc-gateway backup` }
    : { what, ok: true, detail: age }
}

/** What the first backup needs at least. */
function measureDatabase(dataDir: string): number {
  return statSync(new DataFolder(dataDir).database, { throwIfNoEntry: false })?.size ?? 0
}

function checkRoom(folder: string, needed: number): HealthCheck[] {
  const { bavail, bsize } = statfsSync(folder)
  if (bavail * bsize >= 2 * needed) return []
  return [
    {
      what,
      ok: false,
      detail: `${folder} has ${formatBytes(bavail * bsize)} free, and a backup needs ${formatBytes(needed)}: make room, or keep fewer (backup.keep)`,
    },
  ]
}

async function* toStream(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}
