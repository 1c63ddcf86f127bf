/** Doctor checks of a database that several nodes share. */
import type { GatewayConfig } from '../../../config/config.ts'
import { createConfigFingerprint } from '../../../config/config-fingerprint.ts'
import { redactUrl } from '../../../config/redact-url.ts'
import { checkDatabase } from '../../../services/health/health-checks.ts'
import type { HealthCheck } from '../../../services/health/health-checks.ts'
import { systemClock } from '../../../system/clock.ts'
import { DataFolder } from '../../../system/data-folder/data-folder.ts'

/** @throws nothing: an unreachable database is a finding too */
export async function checkSharedStore(config: GatewayConfig): Promise<readonly HealthCheck[]> {
  const { url } = config.store
  if (url === null) return []
  const address = redactUrl(url)
  const { fetchDatabaseStatus } = await import('../../../store/postgres/cluster/database-status.ts')
  try {
    return checkDatabase(
      await fetchDatabaseStatus(url, systemClock, new DataFolder(config.store.dataDir).seenDatabase),
      address,
      createConfigFingerprint(config),
    )
  } catch (error) {
    const { cause = error } = error as Error
    const reason = cause instanceof Error ? cause.message : String(cause)
    const { isDiskFull, lacksConnection } = await import('../../../store/postgres/connection/errors.ts')
    const advice = isDiskFull(error)
      ? 'the disk of the database is full: make room'
      : lacksConnection(error)
        ? 'raise the pool size of the pooler, or max_connections'
        : 'check STORE_URL'
    return [{ what: 'database', ok: false, detail: `${address} cannot be used (${reason}); ${advice}` }]
  }
}
