/** What the doctor finds of a database that several nodes share. */
import type { GatewayConfig } from '../config/config.ts'
import { shownUrl } from '../config/shown-url.ts'
import { databaseFindings } from '../gateway/findings.ts'
import type { Finding } from '../gateway/findings.ts'
import { systemClock } from '../system/clock.ts'

/** @throws nothing: that it cannot be reached is a finding too */
export async function sharedStore({ store: { url } }: GatewayConfig): Promise<readonly Finding[]> {
  if (url === null) return []
  const place = shownUrl(url)
  try {
    const { conditionAt } = await import('../store/postgres/condition.ts')
    return databaseFindings(await conditionAt(url, systemClock), place)
  } catch (error) {
    const { cause = error } = error as Error
    const why = cause instanceof Error ? cause.message : String(cause)
    return [{ what: 'database', ok: false, detail: `${place} cannot be used (${why}); check STORE_URL` }]
  }
}
