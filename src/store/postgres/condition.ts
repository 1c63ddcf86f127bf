/** How a PostgreSQL server is set up and how it does, as far as the promises of several nodes depend on it. */
import { Connections } from './connections.ts'

export interface Condition {
  readonly version: string
  /** Of one question, and its answer. */
  readonly roundTripMs: number
  /** How far this machine's clock is ahead of the server's. */
  readonly clockAheadMs: number
  /** Whether what it commits is on its disk. */
  readonly isDurable: boolean
  /** Standbys that have all that was committed before it is acknowledged; those that follow behind. Null: this user may not know. */
  readonly standbys: { readonly synchronous: number; readonly behind: number } | null
  /** A commit waits for so many standbys to be there as its setting asks; empty: for none. */
  readonly waitsFor: string
  readonly connections: { readonly used: number; readonly most: number }
  /** Another program hands transactions on to the server. */
  readonly isPooled: boolean
}

interface Row {
  readonly version: string
  readonly now: number
  readonly fsync: string
  readonly commit: string
  readonly waits_for: string
  readonly most: number
  readonly used: number
  readonly standbys: number
  readonly synchronous: number | null
}

/** @throws where it cannot be asked */
export async function conditionOf(url: string, clock: { now(): number; ticks(): number }): Promise<Condition> {
  const connections = new Connections({ url, most: 1, patienceMs: 3_000 })
  try {
    const pids = new Set<number>()
    for (let count = 0; count < 5; count += 1)
      pids.add(((await connections.read('select pg_backend_pid() as pid', [])).rows[0] as { pid: number }).pid)
    const began = clock.ticks()
    const asked = clock.now()
    const { rows } = await connections.read(
      `select current_setting('server_version') as version, (extract(epoch from clock_timestamp()) * 1000)::bigint as now,
        current_setting('fsync') as fsync, current_setting('synchronous_commit') as commit,
        current_setting('synchronous_standby_names') as waits_for,
        current_setting('max_connections')::bigint - current_setting('superuser_reserved_connections')::bigint as most,
        (select count(*) from pg_stat_activity where backend_type = 'client backend') as used,
        (select count(*) from pg_stat_replication) as standbys,
        (select count(*) from pg_stat_replication where sync_state in ('sync', 'quorum')) as synchronous`,
      [],
    )
    const roundTripMs = clock.ticks() - began
    const [row] = rows as [Row]
    // Without the right to it, the states of standbys are empty, not wrong.
    const { rows: seen } = await connections.read(
      `select pg_has_role(current_user, 'pg_monitor', 'usage') or (select rolsuper from pg_roles where rolname = current_user) as sees`,
      [],
    )
    const sees = (seen[0] as { sees: boolean }).sees
    return {
      version: row.version,
      roundTripMs,
      clockAheadMs: (asked + clock.now()) / 2 - row.now,
      isDurable: row.fsync === 'on' && row.commit !== 'off',
      standbys: sees ? { synchronous: row.synchronous ?? 0, behind: row.standbys - (row.synchronous ?? 0) } : null,
      waitsFor: row.waits_for,
      connections: { used: row.used, most: row.most },
      isPooled: pids.size > 1,
    }
  } finally {
    await connections.close()
  }
}
