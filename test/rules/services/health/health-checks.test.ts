/** Health checks of a database in different states. */
import t from 'tap'
import { checkDatabase, formatNote } from '../../../../src/services/health/health-checks.ts'
import type { DatabaseStatus } from '../../../../src/domain/database-status.ts'

const good: DatabaseStatus = {
  version: '17.2',
  encoding: 'UTF8',
  roundTripMs: 1.23,
  clockAheadMs: 3,
  isDurable: true,
  standbys: { synchronous: 1, asynchronous: 0 },
  requiredStandbys: 1,
  connections: { available: 70, max: 97 },
  isPooled: false,
  writableHosts: 1,
  oldPrimaryProtection: 'on',
  nodes: [{ version: '0.2.0', count: 3 }],
  configurations: [{ fingerprint: { plans: 'a', prices: 'b' }, count: 3 }],
  jobsWithoutConnection: [],
}

t.test('reports a healthy database', async (t) => {
  t.same(checkDatabase(good, 'postgres://db/svc').map(formatNote), [
    'database: PostgreSQL 17.2 at postgres://db/svc answers in 1.2 ms',
    'durability: committed data is on disk',
    'replication: 1 synchronous: a failover loses nothing that was acknowledged',
    'primary: one host accepts writes; an old primary that comes back is refused',
    "clock: this machine's and the database's agree",
    'connections: 70 of 97 are available; a node uses up to 10',
    'background jobs: none lacked a connection in its last run',
    'encoding: UTF8',
    'nodes: 3 nodes, all of 0.2.0',
    'configuration: the same on all live nodes',
  ])
  t.ok(checkDatabase(good).every(({ ok }) => ok))
  t.equal(checkDatabase(good)[0].detail, 'PostgreSQL 17.2 answers in 1.2 ms', 'the location is not included for others')
})

const cases: readonly (readonly [change: Partial<DatabaseStatus>, ok: boolean, note: string])[] = [
  [{ isPooled: true }, true, 'database: PostgreSQL 17.2 answers in 1.2 ms through a connection pooler'],
  [{ hasRoom: true }, true, 'database disk: takes more rows'],
  [{ hasRoom: false }, false, 'database disk: is full: make room; turns are refused until then'],
  [
    { isDurable: false },
    false,
    'durability: fsync or synchronous_commit is off: a crash of the database loses turns that were charged; switch them on',
  ],
  [{ standbys: null }, true, 'replication: unknown: this user may not read it (grant pg_monitor to allow it)'],
  [
    { standbys: { synchronous: 0, asynchronous: 1 } },
    false,
    'replication: commits wait for 1 synchronous standby, and none is connected: start the missing one, or change synchronous_standby_names',
  ],
  [
    { standbys: { synchronous: 1, asynchronous: 0 }, requiredStandbys: 2 },
    false,
    'replication: commits wait for 2 synchronous standbys, and 1 is connected: start the missing one, or change synchronous_standby_names',
  ],
  [
    { standbys: { synchronous: 0, asynchronous: 2 }, requiredStandbys: 0 },
    true,
    'replication: 2 asynchronous: a failover may lose the last turns that were acknowledged; set synchronous_standby_names to lose none',
  ],
  [
    { standbys: { synchronous: 0, asynchronous: 0 }, requiredStandbys: 0 },
    true,
    'replication: none: if this server is lost, all turns since its last backup are lost',
  ],
  [{ writableHosts: 2 }, false, 'primary: two hosts accept writes: stop the old primary, and let it follow the new one'],
  [
    { oldPrimaryProtection: 'hidden' },
    true,
    'primary: the protection against an old primary is off: this server does not report its timeline, so the failover must fence the old one',
  ],
  [
    { isPooled: true, oldPrimaryProtection: 'pooled' },
    true,
    'primary: the protection against an old primary is off between transactions: the pooler must not send them to another server than it does now',
  ],
  [{ clockAheadMs: -1_999 }, true, "clock: this machine's and the database's agree"],
  [
    { clockAheadMs: 2_000 },
    false,
    "clock: this machine's is 2.0 s ahead of the database's; more than 30 s apart a node is not ready. Set both by NTP",
  ],
  [
    { clockAheadMs: -31_400 },
    false,
    "clock: this machine's is 31.4 s behind the database's; more than 30 s apart a node is not ready. Set both by NTP",
  ],
  [{ connections: { available: 10, max: 97 } }, true, 'connections: 10 of 97 are available; a node uses up to 10'],
  [
    { connections: { available: 9, max: 97 } },
    false,
    'connections: 9 of 97 are available; a node uses up to 10: raise max_connections',
  ],
  [{ nodes: [] }, true, 'nodes: none is alive'],
  [{ nodes: [{ version: '0.1.0', count: 1 }] }, true, 'nodes: 1 node, of 0.1.0'],
  [
    {
      nodes: [
        { version: '0.1.0', count: 2 },
        { version: '0.2.0', count: 1 },
      ],
    },
    true,
    'nodes: 2 of 0.1.0, 1 of 0.2.0: an upgrade is in progress',
  ],
  [{ encoding: 'LATIN1' }, false, 'encoding: LATIN1: nodes need a database with the encoding UTF8'],
  [
    {
      configurations: [
        { fingerprint: { plans: 'a', prices: 'b' }, count: 2 },
        { fingerprint: { plans: 'c', prices: 'd' }, count: 1 },
      ],
    },
    false,
    'configuration: 2 and 1 nodes differ in plans, prices: a turn costs what its node is configured for. Give all nodes one configuration, unless a deploy is in progress',
  ],
  [
    {
      configurations: [
        { fingerprint: { plans: 'a', prices: 'b' }, count: 1 },
        { fingerprint: { plans: 'a', prices: 'b', 'new section': 'e' }, count: 1 },
      ],
    },
    true,
    'configuration: the same on all live nodes',
  ],
  [{ configurations: [] }, true, 'configuration: the same on all live nodes'],
]

t.test('reports each other state', async (t) => {
  for (const [change, ok, note] of cases) {
    const check = checkDatabase({ ...good, ...change }).find((finding) => formatNote(finding) === note)
    t.equal(check?.ok, ok, `${note}`)
  }
})

t.test('tells a command that its configuration differs from that of the nodes', async (t) => {
  const notes = checkDatabase(good, undefined, { plans: 'a', prices: 'x' }).filter(({ what }) => what === 'configuration')
  t.match(notes, [{ ok: true, detail: /configuration of this command differs in prices: restart the nodes to use it$/ }])
  t.match(
    checkDatabase(good, undefined, { plans: 'a', prices: 'b' }).find(({ what }) => what === 'configuration'),
    { detail: 'the same on all live nodes' },
  )
})
