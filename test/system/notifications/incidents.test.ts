/** When each incident begins and when it is over, from the fault that a node observes to the event that is delivered. */
import { join } from 'node:path'
import t from 'tap'
import type { Test } from 'tap'
import type { IncidentKind } from '../../../src/domain/notification.ts'
import type { SqliteStore } from '../../../src/store/sqlite/open.ts'
import type { MetricsJson } from '../../../src/observability/merge-metrics.ts'
import { createSelfSignedCertificate } from '../../support/servers/tls-certificate.ts'
import { createTemporaryFolder, openStoreAt } from '../../support/store/sqlite/support.ts'
import { ScriptedReceiver } from './scripted-receiver.ts'
import { createTestNotifier, hourMs, minuteMs } from './test-notifier.ts'
import type { TestNotifier } from './test-notifier.ts'

const dayMs = 24 * hourMs
const stepMs = 15_000

/** What the node of a test observes. */
class Faults {
  breakers: Record<string, number> = {}
  turns: { completed: number; failed: Record<string, number> } = { completed: 0, failed: {} }
  backup: { ageSeconds: number; failures: number } | null = null
  mailNote: string | null = null
  isDatabaseFull = false
  /** Null: it cannot be read. */
  freeBytes: number | null = 1e12
  certificate = { beginsAt: 0, endsAt: Infinity }

  /** Of two threads. */
  readMetrics(): MetricsJson[] {
    const metric = (name: string, values: object[]) => ({ name, values }) as unknown as MetricsJson[number]
    const { completed, failed } = this.turns
    return [
      [
        metric('svc_turns_total', [
          { labels: { outcome: 'completed', code: 'none' }, value: completed },
          ...Object.entries(failed).map(([code, value]) => ({ labels: { outcome: 'failed', code }, value })),
        ]),
        ...(this.freeBytes === null ? [] : [metric('svc_data_disk_free_bytes', [{ labels: {}, value: this.freeBytes }])]),
        ...(this.backup === null
          ? []
          : [
              metric('svc_backup_age_seconds', [{ labels: {}, value: this.backup.ageSeconds }]),
              metric('svc_backup_failures_total', [{ labels: {}, value: this.backup.failures }]),
            ]),
      ],
      [
        metric(
          'svc_upstream_breaker_state',
          Object.entries(this.breakers).map(([target, value]) => ({ labels: { target }, value })),
        ),
      ],
    ]
  }
}

interface Setup extends TestNotifier {
  readonly store: SqliteStore
  readonly faults: Faults
  readonly people: ScriptedReceiver
  /** Lets time pass, with an observation every quarter of a minute. */
  pass(ms: number): Promise<void>
  listOpen(): Promise<string[]>
}

async function setUp(
  t: Test,
  change: { rules?: object; overrides?: object; store?: SqliteStore; at?: number } = {},
): Promise<Setup> {
  const store = change.store ?? (await openStoreAt(t, join(createTemporaryFolder(t), 'store.db')))
  const people = await ScriptedReceiver.start(t)
  const faults = new Faults()
  const test = createTestNotifier(
    t,
    store.notifications,
    { people: { chat: { kind: 'slack', url: people.url, allowPrivate: true } }, rules: { minTurns: 10, ...change.rules } },
    {
      overrides: change.overrides ?? {},
      ...(change.at === undefined ? {} : { at: change.at }),
      host: 'node-1',
      readMetrics: async () => faults.readMetrics(),
      mailNote: () => faults.mailNote,
      isDatabaseFull: () => faults.isDatabaseFull,
      readCertificate: async () => faults.certificate,
    },
  )
  return {
    ...test,
    store,
    faults,
    people,
    async pass(ms) {
      for (const end = test.clock.at + ms; test.clock.at < end;) {
        test.clock.at += stepMs
        await test.review()
      }
      await test.deliver()
    },
    listOpen: async () => (await store.notifications.listIncidents()).map(({ kind, subject }) => `${kind} ${subject}`),
  }
}

interface IncidentCase {
  readonly kind: IncidentKind
  readonly subject: string
  readonly rules?: object
  readonly overrides?: object
  /** Breaks something; nothing has begun directly after it where `isLasting`. */
  readonly inject: (setup: Setup) => void | Promise<void>
  readonly repair: (setup: Setup) => void | Promise<void>
  /** How long the fault or the repair takes to show. */
  readonly beginsAfterMs: number
  readonly endsAfterMs: number
  readonly texts: readonly [began: RegExp, ended: RegExp]
}

const backup = { to: '/var/backups/svc', every: '1d' }

const cases: readonly IncidentCase[] = [
  {
    kind: 'upstream_down',
    subject: 'main/model',
    inject: ({ faults }) => void (faults.breakers['main/model'] = 2),
    repair: ({ faults }) => void (faults.breakers['main/model'] = 0),
    beginsAfterMs: minuteMs + 2 * stepMs,
    endsAfterMs: stepMs,
    texts: [/an upstream is down\\nThe upstream target main\/model fails/, /an upstream is up again\\nOver after/],
  },
  {
    kind: 'refusals_high',
    subject: 'turns',
    inject: ({ faults }) => void (faults.turns = { completed: 80, failed: { upstream_error: 15, temporarily_unavailable: 5 } }),
    repair: ({ faults }) => void (faults.turns.completed += 1_000),
    beginsAfterMs: stepMs,
    endsAfterMs: stepMs,
    texts: [/many turns are refused\\n20 of 100 turns .*\(20 %\)/, /turns are served again/],
  },
  {
    kind: 'mail_failing',
    subject: 'mail',
    inject: ({ faults }) => void (faults.mailNote = 'mail: emails are not being sent (2 wait, the oldest for 5 minutes)'),
    repair: ({ faults }) => void (faults.mailNote = null),
    beginsAfterMs: 2 * stepMs,
    endsAfterMs: stepMs,
    texts: [/emails are not being sent\\nCodes and notices .*\(2 wait/, /emails are sent again/],
  },
  {
    kind: 'disk_low',
    subject: 'node-1:',
    inject: ({ faults }) => void (faults.freeBytes = 500 * 1024 ** 2),
    repair: ({ faults }) => void (faults.freeBytes = 2 * 1024 ** 3),
    beginsAfterMs: stepMs,
    endsAfterMs: stepMs,
    texts: [/a disk is nearly full\\nThe disk of .* on node-1 has 500 MiB left/, /a disk has room again/],
  },
  {
    kind: 'disk_low',
    subject: 'database',
    inject: ({ faults }) => void (faults.isDatabaseFull = true),
    repair: ({ faults }) => void (faults.isDatabaseFull = false),
    beginsAfterMs: stepMs,
    endsAfterMs: stepMs,
    texts: [/The disk of the database is full/, /a disk has room again/],
  },
  {
    kind: 'ledger_mismatch',
    subject: 'ledger',
    inject: ({ notifier }) => notifier.recordLedgerCheck(2),
    repair: ({ notifier, clock }) => {
      clock.at += 1
      notifier.recordLedgerCheck(0)
    },
    beginsAfterMs: stepMs,
    endsAfterMs: stepMs,
    texts: [/the ledger has mismatches\\nThe check of the ledger found 2 mismatches/, /the ledger adds up again/],
  },
  {
    kind: 'backup_failed',
    subject: 'backup',
    overrides: { backup },
    inject: ({ faults }) => void (faults.backup = { ageSeconds: 90_000, failures: 1 }),
    repair: ({ faults }) => void (faults.backup = { ageSeconds: 5, failures: 1 }),
    beginsAfterMs: stepMs,
    endsAfterMs: stepMs,
    texts: [/a backup failed/, /a backup was written again/],
  },
  {
    kind: 'backup_old',
    subject: 'backup',
    overrides: { backup },
    inject: ({ faults }) => void (faults.backup = { ageSeconds: 2 * 86_400 + 60, failures: 0 }),
    repair: ({ faults }) => void (faults.backup = { ageSeconds: 5, failures: 0 }),
    beginsAfterMs: stepMs,
    endsAfterMs: stepMs,
    texts: [/the newest backup is old\\nNo backup .* more than 2 days/, /there is a new backup/],
  },
  {
    kind: 'certificate_ending',
    subject: 'svc.example.com',
    overrides: { listen: { siteUrl: 'https://svc.example.com' } },
    inject: ({ faults, clock }) => void (faults.certificate = { beginsAt: clock.at - 80 * dayMs, endsAt: clock.at + 10 * dayMs }),
    repair: ({ faults, clock }) => void (faults.certificate = { beginsAt: clock.at, endsAt: clock.at + 90 * dayMs }),
    beginsAfterMs: hourMs,
    endsAfterMs: hourMs,
    texts: [/a certificate ends soon\\nThe certificate of svc\.example\.com ends in 10 days/, /a certificate was renewed/],
  },
  {
    kind: 'objective_burning',
    subject: 'availability 0.99',
    rules: { availability: 0.99, refusedShare: 1 },
    inject: ({ faults }) => void (faults.turns = { completed: 80, failed: { upstream_error: 20 } }),
    repair: ({ faults }) => void (faults.turns.completed += 10),
    beginsAfterMs: stepMs,
    endsAfterMs: 6 * minuteMs,
    texts: [/availability objective is at risk\\n20 of 100 turns of the last hour/, /availability objective is met again/],
  },
  {
    kind: 'receiver_off',
    subject: 'chat',
    inject: async ({ store, clock }) => {
      await store.notifications.announceReceivers([{ name: 'chat', wantsMemberEvents: false }], clock.at)
      await store.notifications.switchOff('chat', clock.at)
    },
    repair: async ({ store, clock }) => void (await store.notifications.switchOn('chat', clock.at)),
    beginsAfterMs: stepMs,
    endsAfterMs: stepMs,
    texts: [/a receiver was switched off\\nThe receiver chat gets no notifications/, /a receiver was switched on again/],
  },
]

for (const { kind, subject, rules = {}, overrides = {}, inject, repair, beginsAfterMs, endsAfterMs, texts } of cases)
  t.test(`${kind} (${subject}) begins with its fault and ends with its repair`, async (t) => {
    const setup = await setUp(t, { rules, overrides })
    const { pass, listOpen, people } = setup
    await pass(6 * minuteMs)
    t.same(await listOpen(), [], 'nothing is wrong at first')
    await inject(setup)
    await pass(beginsAfterMs)
    t.match(await listOpen(), [new RegExp(`^${kind} ${subject}`)])
    await pass(2 * minuteMs)
    t.equal((await listOpen()).length, 1)
    await repair(setup)
    await pass(endsAfterMs)
    t.same(await listOpen(), [])
    await pass(10 * minuteMs)
    const bodies = people.taken.map(({ body }) => body)
    t.match(bodies, [texts[0], texts[1]], 'it is reported once, and once when it is over')
    t.equal(bodies.length, 2)
  })

t.test('a certificate of the server itself is read from its file', async (t) => {
  const { cert, key } = createSelfSignedCertificate(createTemporaryFolder(t))
  const { pass, listOpen, clock } = await setUp(t, { overrides: { listen: { tls: { cert, key } } } })
  await pass(stepMs)
  clock.at += 3650 * dayMs
  await pass(stepMs)
  t.match(await listOpen(), [/^certificate_ending /])
})

t.test('a certificate of a few days is reported once it was not renewed in time', async (t) => {
  const { pass, listOpen, faults, clock } = await setUp(t, { overrides: { listen: { siteUrl: 'https://svc.example.com' } } })
  faults.certificate = { beginsAt: clock.at, endsAt: clock.at + 6 * dayMs }
  await pass(4 * 60 * minuteMs)
  t.same(await listOpen(), [])
  faults.certificate = { beginsAt: clock.at - 5 * dayMs, endsAt: clock.at + dayMs }
  await pass(61 * minuteMs)
  t.match(await listOpen(), [/^certificate_ending /])
})

t.test('failures that a request or a member causes are no refusals', async (t) => {
  const { pass, listOpen, faults } = await setUp(t)
  await pass(6 * minuteMs)
  faults.turns = { completed: 20, failed: { quota_exceeded: 500, rate_limited: 500, invalid_request: 500, content_filter: 500 } }
  await pass(minuteMs)
  t.same(await listOpen(), [])
  faults.turns.failed['upstream_error'] = 2
  await pass(minuteMs)
  t.same(await listOpen(), [], 'a share below the limit')
  faults.turns.failed['internal_error'] = 1
  await pass(minuteMs)
  t.same(await listOpen(), ['refusals_high turns'], 'a share above it')
  await pass(11 * minuteMs)
  t.same(await listOpen(), [], 'the window has passed')
})

t.test('few turns are no share', async (t) => {
  const { pass, listOpen, faults } = await setUp(t)
  await pass(6 * minuteMs)
  faults.turns = { completed: 0, failed: { upstream_error: 9 } }
  await pass(minuteMs)
  t.same(await listOpen(), [])
})

t.test('a target that fails for a moment is not reported', async (t) => {
  const { pass, listOpen, faults } = await setUp(t)
  await pass(6 * minuteMs)
  for (const state of [2, 1, 0, 2, 1, 0]) {
    faults.breakers = { 'main/model': state }
    await pass(2 * stepMs)
    t.same(await listOpen(), [])
  }
})

t.test('a target that waits for a probe whenever it is observed is down', async (t) => {
  const { pass, listOpen, faults } = await setUp(t)
  faults.breakers = { 'main/model': 1 }
  await pass(6 * stepMs)
  t.match(await listOpen(), [/^upstream_down /])
})

t.test('an upstream that is down stays so over a restart until turns show more', async (t) => {
  const first = await setUp(t)
  first.faults.breakers = { 'main/model': 2 }
  await first.pass(2 * minuteMs)
  t.same(await first.listOpen(), ['upstream_down main/model'])
  await first.notifier.close()
  const second = await setUp(t, { store: first.store, at: first.clock.at })
  await second.pass(2 * minuteMs)
  t.same(await second.listOpen(), ['upstream_down main/model'], 'a new process has seen no turn')
  second.faults.breakers = { 'main/model': 2 }
  await second.pass(10 * minuteMs)
  t.same(await second.listOpen(), ['upstream_down main/model'])
  second.faults.breakers = { 'main/model': 0 }
  await second.pass(stepMs)
  t.same(await second.listOpen(), [])
  t.equal(first.people.count + second.people.count, 2, 'one beginning and one end')
})

t.test('a disk that cannot be read ends no incident', async (t) => {
  const { faults, pass, listOpen } = await setUp(t)
  faults.freeBytes = 500 * 1024 ** 2
  await pass(stepMs)
  const open = await listOpen()
  t.match(open, [/^disk_low node-1:/])
  faults.freeBytes = null
  await pass(5 * minuteMs)
  t.same(await listOpen(), open)
})

t.test('a mismatch stays open over a restart until a check finds none', async (t) => {
  const first = await setUp(t)
  first.notifier.recordLedgerCheck(1)
  await first.pass(stepMs)
  await first.notifier.close()
  const second = await setUp(t, { store: first.store, at: first.clock.at })
  await second.pass(hourMs)
  t.same(await second.listOpen(), ['ledger_mismatch ledger'])
  second.notifier.recordLedgerCheck(0)
  await second.pass(stepMs)
  t.same(await second.listOpen(), [])
})

t.test('a node that ends without a stop is lost, and back when one starts on its host', async (t) => {
  const { pass, listOpen, clock, store, people } = await setUp(t)
  const report = (name: string, host: string, startedAt: number) =>
    store.notifications.reportNode({
      name,
      host,
      seenAt: clock.at,
      facts: JSON.stringify({
        startedAt,
        conditions: [],
        ledgerCheck: null,
        turns: { fiveMinutes: { turns: 0, refused: 0 }, tenMinutes: { turns: 0, refused: 0 }, hour: { turns: 0, refused: 0 } },
      }),
    })
  await report('node_a', 'node-2', clock.at)
  await report('node_b', 'node-3', clock.at)
  await store.notifications.removeNode('node_b')
  await pass(minuteMs)
  t.same(await listOpen(), [], 'a node that was stopped is not lost')
  await pass(minuteMs)
  t.same(await listOpen(), ['node_lost node-2'])
  await report('node_c', 'node-2', clock.at)
  await pass(stepMs)
  t.same(await listOpen(), [])
  t.match(
    people.taken.map(({ body }) => body),
    [/a node was lost\\nThe node on node-2 has reported nothing since/, /a node is back/],
  )
  t.same(
    (await store.notifications.listNodes()).map(({ name }) => name).filter((name) => name === 'node_a'),
    [],
  )
})

t.test('a restart within a minute is not reported', async (t) => {
  const first = await setUp(t)
  await first.pass(minuteMs)
  // Killed: its row stays.
  const second = await setUp(t, { store: first.store, at: first.clock.at + 10_000 })
  await second.pass(5 * minuteMs)
  t.same(await second.listOpen(), [])
  t.equal(first.people.count + second.people.count, 0)
  t.equal((await first.store.notifications.listNodes()).length, 1)
})

t.test('a server that was gone for long is reported when it starts', async (t) => {
  const first = await setUp(t)
  await first.pass(minuteMs)
  const second = await setUp(t, { store: first.store, at: first.clock.at + hourMs })
  await second.pass(minuteMs)
  t.match(
    second.people.taken.map(({ body }) => body),
    [/a node was lost/, /a node is back/],
  )
})

t.test('reports wait in quiet hours, except for those that are named', async (t) => {
  const store = await openStoreAt(t, join(createTemporaryFolder(t), 'store.db'))
  const people = await ScriptedReceiver.start(t)
  const quietHours = { from: '22:00', to: '07:00' }
  const chat = { kind: 'slack' as const, url: people.url, allowPrivate: true, quietHours }
  const at = Date.parse('2026-11-28T23:00:00Z')
  const { clock, deliver, notifier } = createTestNotifier(t, store.notifications, { people: { chat } }, { at })
  await notifier.observe()
  let ids = 0
  const began = [
    { kind: 'upstream_down' as const, subject: 'main/model', text: 'down' },
    { kind: 'ledger_mismatch' as const, subject: 'ledger', text: 'mismatch' },
  ]
  await store.notifications.recordIncidents({ began, ended: [] }, () => `msg_${++ids}`, at)
  await deliver()
  t.match(
    people.taken.map(({ body }) => body),
    [/the ledger has mismatches/],
  )
  clock.at = Date.parse('2026-11-29T06:59:00Z')
  await deliver()
  t.equal(people.count, 1)
  clock.at = Date.parse('2026-11-29T07:00:00Z')
  await deliver()
  t.match(people.taken[1]?.body, /an upstream is down/)
})

t.test('a changed receiver is used after a reload, and one that was removed gets nothing', async (t) => {
  const setup = await setUp(t)
  const other = await ScriptedReceiver.start(t)
  const { config, notifier, faults, people, pass } = setup
  await pass(6 * minuteMs)
  await notifier.reconfigure({
    ...config,
    notifications: {
      ...config.notifications,
      people: { chat: { ...config.notifications.people['chat'], url: other.url } },
    } as typeof config.notifications,
  })
  faults.freeBytes = 0
  await pass(minuteMs)
  t.equal(people.count, 0)
  t.equal(other.count, 1)
  await notifier.reconfigure({ ...config, notifications: { ...config.notifications, people: {} } })
  faults.freeBytes = 1e12
  await pass(minuteMs)
  t.equal(other.count, 1)
})
