/** Reads the configuration and state of a PostgreSQL server. */
import type { QueryResult } from 'pg'
import type { DatabaseStatus } from '../../../domain/database-status.ts'
import { Connections } from '../connection/connections.ts'
import { readIdentity, SeenDatabase } from '../connection/seen-database.ts'
import { isDiskFull, isStatementError, toCallerError } from '../connection/errors.ts'
import { parseFingerprint } from './node-lease.ts'

type Clock = { now(): number; monotonicMs(): number }
type RunQuery = (text: string) => Promise<QueryResult>

interface StatusRow {
  readonly version: string
  readonly encoding: string
  readonly fsync: string
  readonly commit: string
  readonly standby_names: string
  readonly most: number
  readonly used: number
  readonly standbys: number
  readonly synchronous: number
  readonly sees_standbys: boolean
  readonly has_nodes: boolean
}

/** Without the right to read all statistics, other users' sessions show only their user and database. */
const statusQuery = `select current_setting('server_version') as version, current_setting('server_encoding') as encoding,
  current_setting('fsync') as fsync, current_setting('synchronous_commit') as commit,
  current_setting('synchronous_standby_names') as standby_names,
  current_setting('max_connections')::bigint - current_setting('superuser_reserved_connections')::bigint
    - coalesce(current_setting('reserved_connections', true), '0')::bigint as most,
  (select count(*) from pg_stat_activity
    where backend_type = 'client backend' or (backend_type is null and datid is not null)) as used,
  (select count(*) from pg_stat_replication) as standbys,
  (select count(*) from pg_stat_replication where sync_state in ('sync', 'quorum')) as synchronous,
  pg_has_role(current_user, 'pg_read_all_stats', 'usage') as sees_standbys,
  to_regclass('process') is not null as has_nodes`

/** Reads the status on a connection of its own, for commands. @throws if the database cannot be queried */
export async function fetchDatabaseStatus(url: string, clock: Clock, seenFile?: string): Promise<DatabaseStatus> {
  const seenDatabase = new SeenDatabase()
  if (seenFile !== undefined) seenDatabase.load(seenFile)
  const connections = new Connections({ url, seen: seenDatabase, max: 1 })
  try {
    return { ...(await readDatabaseStatus(connections, clock)), hasRoom: await probeRoom(connections) }
  } finally {
    await connections.close()
  }
}

/**
 * Writes a table of 16 MB and takes it back: a full disk fails no read, and not each write. It is never committed, which would wait for
 * synchronous standbys. Null: the role may not create temporary tables. @throws if the database cannot be queried
 */
async function probeRoom(connections: Pick<Connections, 'acquire' | 'release' | 'begin'>): Promise<boolean | null> {
  const client = await connections.acquire()
  try {
    await connections.begin(client)
    await client.query(`set local temp_tablespaces = ''`)
    await client.query(`create temporary table room_probe as select lpad('', 1000) as text from generate_series(1, 16000)`)
    return true
  } catch (error) {
    if (isDiskFull(error)) return false
    if (isStatementError(error)) return null
    throw toCallerError(error)
  } finally {
    const failure = await client.query('rollback').then(
      () => undefined,
      (error: unknown) => error,
    )
    connections.release(client, failure)
  }
}

/** Reads the status on one of these connections. @throws if the database cannot be queried */
export async function readDatabaseStatus(
  connections: Pick<Connections, 'acquire' | 'release' | 'isPooled' | 'countWritableHosts'>,
  clock: Clock,
): Promise<DatabaseStatus> {
  // Asked first: a host with a higher timeline is used from then on.
  const writableHosts = await connections.countWritableHosts()
  const client = await connections.acquire()
  try {
    const status = await queryDatabaseStatus((text) => client.query(text), clock, connections.isPooled)
    const isHidden = (await readIdentity(client)) === null
    connections.release(client)
    return {
      ...status,
      writableHosts,
      oldPrimaryProtection: isHidden ? 'hidden' : connections.isPooled ? 'pooled' : 'on',
    }
  } catch (error) {
    connections.release(client, error)
    throw toCallerError(error)
  }
}

async function queryDatabaseStatus(
  runQuery: RunQuery,
  clock: Clock,
  isPooled: boolean,
): Promise<Omit<DatabaseStatus, 'writableHosts' | 'oldPrimaryProtection'>> {
  const trips = await measureRoundTrips(runQuery, clock)
  // The fastest round trip measures the clock best.
  const { roundTripMs, clockAheadMs } = trips.reduce((best, trip) => (trip.roundTripMs < best.roundTripMs ? trip : best))
  const [row] = (await runQuery(statusQuery)).rows as [StatusRow]
  return {
    version: row.version,
    encoding: row.encoding,
    roundTripMs,
    clockAheadMs,
    isDurable: row.fsync === 'on' && row.commit !== 'off',
    standbys: row.sees_standbys ? { synchronous: row.synchronous, asynchronous: row.standbys - row.synchronous } : null,
    requiredStandbys: row.commit === 'off' || row.commit === 'local' ? 0 : parseRequiredStandbys(row.standby_names),
    connections: { available: Math.max(0, row.most - row.used), max: row.most },
    isPooled,
    nodes: row.has_nodes ? await readNodes(runQuery) : [],
    configurations: row.has_nodes ? await readConfigurations(runQuery) : [],
    jobsWithoutConnection: row.has_nodes ? await readJobsWithoutConnection(runQuery) : [],
  }
}

interface RoundTrip {
  readonly roundTripMs: number
  readonly clockAheadMs: number
}

async function measureRoundTrips(runQuery: RunQuery, clock: Clock): Promise<readonly RoundTrip[]> {
  const roundTrips: RoundTrip[] = []
  for (let count = 0; count < 5; count += 1) {
    const [startedMs, startedAt] = [clock.monotonicMs(), clock.now()]
    const { rows } = await runQuery('select (extract(epoch from clock_timestamp()) * 1000)::bigint as database_now')
    const [{ database_now }] = rows as [{ readonly database_now: number }]
    roundTrips.push({ roundTripMs: clock.monotonicMs() - startedMs, clockAheadMs: (startedAt + clock.now()) / 2 - database_now })
  }
  return roundTrips
}

async function readNodes(runQuery: RunQuery): Promise<DatabaseStatus['nodes']> {
  const { rows } = await runQuery(
    'select version, count(*) as count from process where alive_until >= clock_timestamp() group by version order by version',
  )
  return rows as DatabaseStatus['nodes']
}

async function readConfigurations(runQuery: RunQuery): Promise<DatabaseStatus['configurations']> {
  const { rows } = await runQuery(
    'select config, count(*) as count from process where alive_until >= clock_timestamp() group by config order by count desc, config',
  )
  return (rows as readonly { readonly config: string; readonly count: number }[]).map(({ config, count }) => ({
    fingerprint: parseFingerprint(config),
    count,
  }))
}

async function readJobsWithoutConnection(runQuery: RunQuery): Promise<DatabaseStatus['jobsWithoutConnection']> {
  const { rows } = await runQuery(
    'select distinct unnest(jobs_without_connection) as job from process where alive_until >= clock_timestamp() order by job',
  )
  return (rows as readonly { readonly job: string }[]).map(({ job }) => job)
}

/** `a, b` waits for one standby; `2 (a, b)`, `FIRST 2 (a, b)` and `ANY 2 (a, b)` for two; an empty setting for none. */
function parseRequiredStandbys(names: string): number {
  if (names.trim() === '') return 0
  return Number(/^\s*(?:[a-z]+\s+)?(\d+)\s*\(/i.exec(names)?.[1] ?? 1)
}
