/** What the doctor finds of a database that several nodes share. */
import type { GatewayConfig } from '../config/config.ts'
import { shownUrl } from '../config/shown-url.ts'
import type { Condition } from '../store/postgres/condition.ts'
import { systemClock } from '../system/clock.ts'
import type { Finding } from './doctor.ts'

/** Of one node: repositories, being alive, limits, the ledger. */
const connectionsOfNode = 10
const warnApartMs = 2_000

/** @throws nothing: that it cannot be reached is a finding too */
export async function sharedStore({ store: { url } }: GatewayConfig): Promise<Finding[]> {
  if (url === null) return []
  const place = shownUrl(url)
  try {
    const { conditionOf } = await import('../store/postgres/condition.ts')
    return findingsOf(await conditionOf(url, systemClock), place)
  } catch (error) {
    const { cause = error } = error as Error
    const why = cause instanceof Error ? cause.message : String(cause)
    return [{ what: 'database', ok: false, detail: `${place} cannot be used (${why}); check STORE_URL` }]
  }
}

function findingsOf(condition: Condition, place: string): Finding[] {
  const { version, roundTripMs, clockAheadMs, isDurable, connections, isPooled } = condition
  const left = connections.most - connections.used
  const pooled = isPooled ? '; a pooler stands in between' : ''
  return [
    { what: 'database', ok: true, detail: `PostgreSQL ${version} at ${place} answers in ${roundTripMs.toFixed(1)} ms${pooled}` },
    {
      what: 'durability',
      ok: isDurable,
      detail: isDurable
        ? 'what is committed is on its disk'
        : 'fsync or synchronous_commit is off: a crash of the database loses turns that were charged; switch them on',
    },
    replication(condition),
    {
      what: 'clock',
      ok: Math.abs(clockAheadMs) < warnApartMs,
      detail:
        Math.abs(clockAheadMs) < warnApartMs
          ? "this machine's and the database's agree"
          : `this machine's is ${(clockAheadMs / 1000).toFixed(1)} s ahead of the database's; above 30 s a node is not ready. Set both by NTP`,
    },
    {
      what: 'connections',
      ok: left >= connectionsOfNode,
      detail: `${left} of ${connections.most} are left; a node takes up to ${connectionsOfNode}${left >= connectionsOfNode ? '' : ': raise max_connections'}`,
    },
  ]
}

/** Whether a failover can lose what was acknowledged is the operator's to choose; that it is known is ours. */
function replication({ standbys, waitsFor }: Condition): Finding {
  const what = 'replication'
  if (standbys === null)
    return { what, ok: true, detail: 'unknown: this user may not see it (grant pg_monitor to let the doctor look)' }
  const { synchronous, behind } = standbys
  if (waitsFor !== '')
    return synchronous > 0
      ? { what, ok: true, detail: `${synchronous} synchronous: a failover loses nothing that was acknowledged` }
      : { what, ok: false, detail: `commits wait for ${waitsFor}, and none of them is there` }
  if (behind > 0)
    return {
      what,
      ok: true,
      detail: `${behind} asynchronous: a failover may lose the last turns that were acknowledged; set synchronous_standby_names to lose none`,
    }
  return { what, ok: true, detail: 'none: if this server is lost, so is what its backups do not have' }
}
