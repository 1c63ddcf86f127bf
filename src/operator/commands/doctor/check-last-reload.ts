/** Whether the running server has refused the last reload, and so runs with another configuration than the file has. */
import type { GatewayConfig } from '../../../config/config.ts'
import { requestLastReload } from '../../../server/reload/control-socket.ts'
import type { HealthCheck } from '../../../services/health/health-checks.ts'
import { systemClock } from '../../../system/clock.ts'
import { DataFolder } from '../../../system/data-folder/data-folder.ts'
import { formatDuration } from '../../../system/duration.ts'

const timeoutMs = 5_000

/** No finding without a server, and before its first reload. */
export async function checkLastReload({ store }: GatewayConfig): Promise<readonly HealthCheck[]> {
  const { controlSocket } = new DataFolder(store.dataDir)
  const last = await requestLastReload(controlSocket, systemClock.deadline(timeoutMs)).catch(() => null)
  if (last === null) return []
  const { at, report } = last
  const what = 'reload'
  const age = `${formatDuration(Math.max(0, systemClock.now() - at))} ago`
  if (report.ok) return [{ what, ok: true, detail: `the last one, ${age}, was accepted` }]
  // What an engine says of a broken file has no full stop.
  const faults = report.faults.map((fault) => (/[.:]$/.test(fault) ? fault : `${fault}.`)).join(' ')
  const detail = `the last one, ${age}, was refused, and the server runs as before: ${faults} Correct it and run svc-gateway reload`
  return [{ what, ok: false, detail }]
}
