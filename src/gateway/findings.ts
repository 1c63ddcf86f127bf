/** What was looked at, and how it does, in sentences: `doctor` prints all, `/readyz` notes what is not in order. */
import type { Condition } from '../membership/condition.ts'

export interface Finding {
  readonly what: string
  readonly ok: boolean
  readonly detail: string
}

/** Of one node: repositories, being alive, limits, the ledger. */
const connectionsOfNode = 10
const warnApartMs = 2_000

/** Of a database that several nodes share. `place` is told to whoever wrote it down, and to nobody else. */
export function databaseFindings(condition: Condition, place?: string): readonly [Finding, ...Finding[]] {
  const { version, roundTripMs, isPooled } = condition
  const at = place === undefined ? '' : ` at ${place}`
  const pooled = isPooled ? '; a pooler stands in between' : ''
  return [
    { what: 'database', ok: true, detail: `PostgreSQL ${version}${at} answers in ${roundTripMs.toFixed(1)} ms${pooled}` },
    durability(condition),
    replication(condition),
    clock(condition),
    connections(condition),
    nodes(condition),
  ]
}

/** As it stands alone. */
export function noteOf({ what, detail }: Finding): string {
  return `${what}: ${detail}`
}

function durability({ isDurable }: Condition): Finding {
  const detail = isDurable
    ? 'what is committed is on its disk'
    : 'fsync or synchronous_commit is off: a crash of the database loses turns that were charged; switch them on'
  return { what: 'durability', ok: isDurable, detail }
}

/** Whether a failover can lose what was acknowledged is the operator's to choose; that it is known is ours. */
function replication({ standbys, waitsFor }: Condition): Finding {
  const what = 'replication'
  if (standbys === null)
    return { what, ok: true, detail: 'unknown: this user may not see it (grant pg_monitor to let it be looked at)' }
  const { synchronous, behind } = standbys
  if (synchronous < waitsFor) {
    const there = synchronous === 0 ? 'none is there' : `${synchronous} ${synchronous === 1 ? 'is' : 'are'} there`
    const detail = `commits wait for ${waitsFor} synchronous standby${waitsFor === 1 ? '' : 's'}, and ${there}: start what is missing, or change synchronous_standby_names`
    return { what, ok: false, detail }
  }
  if (waitsFor > 0)
    return { what, ok: true, detail: `${synchronous} synchronous: a failover loses nothing that was acknowledged` }
  if (behind + synchronous > 0)
    return {
      what,
      ok: true,
      detail: `${behind + synchronous} asynchronous: a failover may lose the last turns that were acknowledged; set synchronous_standby_names to lose none`,
    }
  return { what, ok: true, detail: 'none: if this server is lost, so is what its backups do not have' }
}

function clock({ clockAheadMs }: Condition): Finding {
  const ok = Math.abs(clockAheadMs) < warnApartMs
  const apart = `${(Math.abs(clockAheadMs) / 1000).toFixed(1)} s ${clockAheadMs > 0 ? 'ahead of' : 'behind'}`
  const detail = ok
    ? "this machine's and the database's agree"
    : `this machine's is ${apart} the database's; more than 30 s apart a node is not ready. Set both by NTP`
  return { what: 'clock', ok, detail }
}

function connections({ connections: { left, most } }: Condition): Finding {
  const ok = left >= connectionsOfNode
  const detail = `${left} of ${most} are left; a node takes up to ${connectionsOfNode}${ok ? '' : ': raise max_connections'}`
  return { what: 'connections', ok, detail }
}

/** Two versions beside each other are how an upgrade without a pause looks. */
function nodes({ nodes }: Condition): Finding {
  const count = nodes.reduce((sum, each) => sum + each.count, 0)
  const [first] = nodes
  const what = 'nodes'
  if (first === undefined) return { what, ok: true, detail: 'none is alive' }
  if (nodes.length > 1) {
    const each = nodes.map(({ version, count }) => `${count} of ${version}`).join(', ')
    return { what, ok: true, detail: `${each}: an upgrade is under way` }
  }
  return { what, ok: true, detail: count === 1 ? `1 node, of ${first.version}` : `${count} nodes, all of ${first.version}` }
}
