/** Asks a PostgreSQL server how it is set up and how it does. */
import type { QueryResult } from 'pg'
import type { Condition } from '../../membership/condition.ts'
import { Connections } from './connections.ts'
import { toCaller } from './failures.ts'

type Clock = { now(): number; ticks(): number }
type Ask = (text: string) => Promise<QueryResult>

interface Row {
  readonly version: string
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

/** Other users' sessions show nothing but whose they are, and in which database, to whoever has no right to more. */
const question = `select current_setting('server_version') as version,
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

/** For a command, on a connection of its own. @throws where it cannot be asked */
export async function conditionAt(url: string, clock: Clock): Promise<Condition> {
  const connections = new Connections({ url, most: 1 })
  try {
    return await conditionOf(connections, clock)
  } finally {
    await connections.close()
  }
}

/** On one of these connections. @throws where it cannot be asked */
export async function conditionOf(
  connections: Pick<Connections, 'take' | 'giveBack' | 'isPooled'>,
  clock: Clock,
): Promise<Condition> {
  const client = await connections.take()
  try {
    const condition = await conditionBy((text) => client.query(text), clock, connections.isPooled)
    connections.giveBack(client)
    return condition
  } catch (error) {
    connections.giveBack(client, error)
    throw toCaller(error)
  }
}

async function conditionBy(ask: Ask, clock: Clock, isPooled: boolean): Promise<Condition> {
  const trips = await tripsBy(ask, clock)
  // What took the shortest time says most of the clock.
  const { roundTripMs, clockAheadMs } = trips.reduce((best, trip) => (trip.roundTripMs < best.roundTripMs ? trip : best))
  const [row] = (await ask(question)).rows as [Row]
  return {
    version: row.version,
    roundTripMs,
    clockAheadMs,
    isDurable: row.fsync === 'on' && row.commit !== 'off',
    standbys: row.sees_standbys ? { synchronous: row.synchronous, behind: row.standbys - row.synchronous } : null,
    waitsFor: row.commit === 'off' || row.commit === 'local' ? 0 : standbysAwaited(row.standby_names),
    connections: { left: Math.max(0, row.most - row.used), most: row.most },
    isPooled,
    nodes: row.has_nodes ? await nodesBy(ask) : [],
  }
}

interface Trip {
  readonly roundTripMs: number
  readonly clockAheadMs: number
}

async function tripsBy(ask: Ask, clock: Clock): Promise<readonly Trip[]> {
  const trips: Trip[] = []
  for (let count = 0; count < 5; count += 1) {
    const [began, asked] = [clock.ticks(), clock.now()]
    const { rows } = await ask('select (extract(epoch from clock_timestamp()) * 1000)::bigint as database_now')
    const [{ database_now }] = rows as [{ readonly database_now: number }]
    trips.push({ roundTripMs: clock.ticks() - began, clockAheadMs: (asked + clock.now()) / 2 - database_now })
  }
  return trips
}

async function nodesBy(ask: Ask): Promise<Condition['nodes']> {
  const { rows } = await ask(
    'select version, count(*) as count from process where alive_until >= clock_timestamp() group by version order by version',
  )
  return rows as Condition['nodes']
}

/** `a, b` waits for one of them, `2 (a, b)`, `FIRST 2 (a, b)` and `ANY 2 (a, b)` for two; nothing for none. */
function standbysAwaited(names: string): number {
  if (names.trim() === '') return 0
  return Number(/^\s*(?:[a-z]+\s+)?(\d+)\s*\(/i.exec(names)?.[1] ?? 1)
}
