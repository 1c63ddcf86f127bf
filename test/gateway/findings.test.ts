/** What is found of a database in which condition, and whether that is in order. */
import t from 'tap'
import { databaseFindings, noteOf } from '../../src/gateway/findings.ts'
import type { Condition } from '../../src/membership/condition.ts'

const good: Condition = {
  version: '17.2',
  roundTripMs: 1.23,
  clockAheadMs: 3,
  isDurable: true,
  standbys: { synchronous: 1, behind: 0 },
  waitsFor: 1,
  connections: { left: 70, most: 97 },
  isPooled: false,
  nodes: [{ version: '0.2.0', count: 3 }],
}

t.test('what is in order', async (t) => {
  t.same(databaseFindings(good, 'postgres://db/svc').map(noteOf), [
    'database: PostgreSQL 17.2 at postgres://db/svc answers in 1.2 ms',
    'durability: what is committed is on its disk',
    'replication: 1 synchronous: a failover loses nothing that was acknowledged',
    "clock: this machine's and the database's agree",
    'connections: 70 of 97 are left; a node takes up to 10',
    'nodes: 3 nodes, all of 0.2.0',
  ])
  t.ok(databaseFindings(good).every(({ ok }) => ok))
  t.equal(databaseFindings(good)[0].detail, 'PostgreSQL 17.2 answers in 1.2 ms', 'its place is told to nobody else')
})

const cases: readonly (readonly [change: Partial<Condition>, ok: boolean, told: string])[] = [
  [{ isPooled: true }, true, 'database: PostgreSQL 17.2 answers in 1.2 ms; a pooler stands in between'],
  [
    { isDurable: false },
    false,
    'durability: fsync or synchronous_commit is off: a crash of the database loses turns that were charged; switch them on',
  ],
  [{ standbys: null }, true, 'replication: unknown: this user may not see it (grant pg_monitor to let it be looked at)'],
  [
    { standbys: { synchronous: 0, behind: 1 } },
    false,
    'replication: commits wait for 1 synchronous standby, and none is there: start what is missing, or change synchronous_standby_names',
  ],
  [
    { standbys: { synchronous: 1, behind: 0 }, waitsFor: 2 },
    false,
    'replication: commits wait for 2 synchronous standbys, and 1 is there: start what is missing, or change synchronous_standby_names',
  ],
  [
    { standbys: { synchronous: 0, behind: 2 }, waitsFor: 0 },
    true,
    'replication: 2 asynchronous: a failover may lose the last turns that were acknowledged; set synchronous_standby_names to lose none',
  ],
  [
    { standbys: { synchronous: 0, behind: 0 }, waitsFor: 0 },
    true,
    'replication: none: if this server is lost, so is what its backups do not have',
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
  [{ connections: { left: 10, most: 97 } }, true, 'connections: 10 of 97 are left; a node takes up to 10'],
  [{ connections: { left: 9, most: 97 } }, false, 'connections: 9 of 97 are left; a node takes up to 10: raise max_connections'],
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
    'nodes: 2 of 0.1.0, 1 of 0.2.0: an upgrade is under way',
  ],
]

t.test('what else there is to find', async (t) => {
  for (const [change, ok, told] of cases) {
    const found = databaseFindings({ ...good, ...change }).find((finding) => noteOf(finding) === told)
    t.equal(found?.ok, ok, `${told}`)
  }
})
