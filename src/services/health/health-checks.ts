/** Health checks of the database, in sentences: `doctor` prints all, `/readyz` lists the failed ones. */
import type { ConfigFingerprint } from '../../domain/config-fingerprint.ts'
import { findDifferingSections } from '../../domain/config-fingerprint.ts'
import type { DatabaseStatus } from '../../domain/database-status.ts'
import { formatDuration } from '../../system/duration.ts'

export interface HealthCheck {
  readonly what: string
  readonly ok: boolean
  readonly detail: string
}

/** Connections of one node: repositories, lease, rate limits, ledger. */
const connectionsPerNode = 10
const maxClockSkewMs = 2_000

/**
 * Checks a database that several nodes share. `location` is included only for the operator who configured it; `ownFingerprint` is the
 * configuration of a command, which is no node.
 */
export function checkDatabase(
  status: DatabaseStatus,
  location?: string,
  ownFingerprint?: ConfigFingerprint,
): readonly [HealthCheck, ...HealthCheck[]] {
  const { version, roundTripMs, isPooled } = status
  const at = location === undefined ? '' : ` at ${location}`
  const poolerNote = isPooled ? ' through a connection pooler' : ''
  return [
    { what: 'database', ok: true, detail: `PostgreSQL ${version}${at} answers in ${roundTripMs.toFixed(1)} ms${poolerNote}` },
    ...checkRoom(status),
    checkDurability(status),
    checkReplication(status),
    checkPrimary(status),
    checkClock(status),
    checkConnections(status),
    checkJobs(status),
    checkEncoding(status),
    checkNodes(status),
    checkConfigurations(status, ownFingerprint),
  ]
}

/** Formats a check as one line. */
export function formatNote({ what, detail }: HealthCheck): string {
  return `${what}: ${detail}`
}

function checkRoom({ hasRoom }: DatabaseStatus): HealthCheck[] {
  const what = 'database disk'
  if (hasRoom === undefined || hasRoom === null) return []
  return [
    hasRoom
      ? { what, ok: true, detail: 'takes more rows' }
      : { what, ok: false, detail: 'is full: make room; turns are refused until then' },
  ]
}

function checkDurability({ isDurable }: DatabaseStatus): HealthCheck {
  const detail = isDurable
    ? 'committed data is on disk'
    : 'fsync or synchronous_commit is off: a crash of the database loses turns that were charged; switch them on'
  return { what: 'durability', ok: isDurable, detail }
}

/** Whether a failover may lose acknowledged turns is the operator's decision; the check makes it visible. */
function checkReplication({ standbys, requiredStandbys }: DatabaseStatus): HealthCheck {
  const what = 'replication'
  if (standbys === null) return { what, ok: true, detail: 'unknown: this user may not read it (grant pg_monitor to allow it)' }
  const { synchronous, asynchronous } = standbys
  if (synchronous < requiredStandbys) {
    const connectedText = synchronous === 0 ? 'none is connected' : `${synchronous} ${synchronous === 1 ? 'is' : 'are'} connected`
    const detail = `commits wait for ${requiredStandbys} synchronous standby${requiredStandbys === 1 ? '' : 's'}, and ${connectedText}: start the missing one, or change synchronous_standby_names`
    return { what, ok: false, detail }
  }
  if (requiredStandbys > 0)
    return { what, ok: true, detail: `${synchronous} synchronous: a failover loses nothing that was acknowledged` }
  if (asynchronous + synchronous > 0)
    return {
      what,
      ok: true,
      detail: `${asynchronous + synchronous} asynchronous: a failover may lose the last turns that were acknowledged; set synchronous_standby_names to lose none`,
    }
  return { what, ok: true, detail: 'none: if this server is lost, all turns since its last backup are lost' }
}

function checkPrimary({ writableHosts, oldPrimaryProtection }: DatabaseStatus): HealthCheck {
  const what = 'primary'
  if (writableHosts > 1)
    return {
      what,
      ok: false,
      detail: `${writableHosts === 2 ? 'two' : writableHosts} hosts accept writes: stop the old primary, and let it follow the new one`,
    }
  const details = {
    on: 'one host accepts writes; an old primary that comes back is refused',
    hidden:
      'the protection against an old primary is off: this server does not report its timeline, so the failover must fence the old one',
    pooled:
      'the protection against an old primary is off between transactions: the pooler must not send them to another server than it does now',
  }
  return { what, ok: true, detail: details[oldPrimaryProtection] }
}

function checkClock({ clockAheadMs }: DatabaseStatus): HealthCheck {
  const ok = Math.abs(clockAheadMs) < maxClockSkewMs
  const apart = `${formatDuration(Math.abs(clockAheadMs))} ${clockAheadMs > 0 ? 'ahead of' : 'behind'}`
  const detail = ok
    ? "this machine's and the database's agree"
    : `this machine's is ${apart} the database's; more than 30 s apart a node is not ready. Set both by NTP`
  return { what: 'clock', ok, detail }
}

function checkConnections({ connections: { available, max } }: DatabaseStatus): HealthCheck {
  const ok = available >= connectionsPerNode
  const detail = `${available} of ${max} are available; a node uses up to ${connectionsPerNode}${ok ? '' : ': raise max_connections'}`
  return { what: 'connections', ok, detail }
}

/** A pooler's limit is in no statistics of the server: it shows when a node needs one connection more. */
function checkJobs({ jobsWithoutConnection: jobs }: DatabaseStatus): HealthCheck {
  const what = 'background jobs'
  if (jobs.length === 0) return { what, ok: true, detail: 'none lacked a connection in its last run' }
  const detail = `no free connection for: ${jobs.join(', ')}; raise the pool size of the pooler, or max_connections. A node uses up to ${connectionsPerNode}`
  return { what, ok: false, detail }
}

function checkEncoding({ encoding }: DatabaseStatus): HealthCheck {
  const ok = encoding === 'UTF8'
  return { what: 'encoding', ok, detail: ok ? encoding : `${encoding}: nodes need a database with the encoding UTF8` }
}

/** A warning only: during a deploy without downtime nodes with the old and the new configuration serve side by side. */
function checkConfigurations({ configurations }: DatabaseStatus, ownFingerprint: ConfigFingerprint | undefined): HealthCheck {
  const what = 'configuration'
  const fingerprints = configurations.map(({ fingerprint }) => fingerprint)
  const sections = findDifferingSections(fingerprints)
  if (sections.length > 0) {
    const counts = configurations.map(({ count }) => count).join(' and ')
    const detail = `${counts} nodes differ in ${sections.join(', ')}: a turn costs what its node is configured for. Give all nodes one configuration, unless a deploy is in progress`
    return { what, ok: false, detail }
  }
  const differingSections = ownFingerprint === undefined ? [] : findDifferingSections([...fingerprints, ownFingerprint])
  if (differingSections.length > 0)
    return {
      what,
      ok: true,
      detail: `the live nodes agree; the configuration of this command differs in ${differingSections.join(', ')}: restart the nodes to use it`,
    }
  return { what, ok: true, detail: 'the same on all live nodes' }
}

/** Two versions at once are normal during an upgrade without downtime. */
function checkNodes({ nodes }: DatabaseStatus): HealthCheck {
  const count = nodes.reduce((sum, each) => sum + each.count, 0)
  const [first] = nodes
  const what = 'nodes'
  if (first === undefined) return { what, ok: true, detail: 'none is alive' }
  if (nodes.length > 1) {
    const each = nodes.map(({ version, count }) => `${count} of ${version}`).join(', ')
    return { what, ok: true, detail: `${each}: an upgrade is in progress` }
  }
  return { what, ok: true, detail: count === 1 ? `1 node, of ${first.version}` : `${count} nodes, all of ${first.version}` }
}
