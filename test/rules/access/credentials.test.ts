/** Credential look-ups: a known key costs no query, a wrong one at most one, and a revoked one is refused at once. */
import t from 'tap'
import { deriveNames } from '../../../src/exchange/brand-names.ts'
import { Credentials } from '../../../src/access/credentials.ts'
import { mintApiKey } from '../../../src/domain/identity/api-key.ts'
import type { Store } from '../../../src/domain/store.ts'
import { createIds } from '../../../src/system/ids.ts'
import { noon } from '../../support/gateway/test-exchange.ts'
import { SimulatedClock } from '../../support/simulated-clock.ts'

const names = deriveNames('svc')
const ids = createIds()
const mint = () => mintApiKey(names.keyPrefix, (size) => ids.bytes(size))

function createFakeStore(found: Record<string, unknown> | undefined): {
  store: Store
  queries: () => number
  touched: Map<string, number>[]
} {
  let queries = 0
  const touched: Map<string, number>[] = []
  const keys = {
    findByHash: async () => {
      queries++
      await Promise.resolve()
      return found
    },
    recordLastUsed: async (uses: Map<string, number>) => void touched.push(uses),
  }
  return { store: { apiKeys: keys, cluster: null } as unknown as Store, queries: () => queries, touched }
}

const createLiveKey = (key: object = {}, account: object = {}) => ({
  key: { id: 'key_1', revokedAt: null, expiresAt: null, ...key },
  account: { id: 'acc_1', status: 'active', plan: 'free', ...account },
})

t.test('concurrent requests with one new key query the store once, later ones never', async (t) => {
  const { store, queries } = createFakeStore(createLiveKey())
  const credentials = new Credentials(store, names, new SimulatedClock({ now: noon }))
  const token = mint()
  const found = await Promise.all(Array.from({ length: 50 }, () => credentials.resolve(token)))
  t.ok(found.every((credential) => credential?.account.id === 'acc_1'))
  await credentials.resolve(token)
  t.equal(queries(), 1)
  credentials.invalidateEverywhere('acc_1')
  await credentials.resolve(token)
  t.equal(queries(), 2, 'an invalidated key is queried again')
})

t.test('refuses a malformed key without a query and an unknown one with one query', async (t) => {
  const { store, queries } = createFakeStore(undefined)
  const clock = new SimulatedClock({ now: noon })
  const credentials = new Credentials(store, names, clock)
  const token = mint()
  const wrongSum = token.slice(0, -1) + (token.endsWith('0') ? '1' : '0')
  for (const bad of [
    '',
    'x',
    'svc_live_',
    wrongSum,
    `${token}x`,
    `sk-${token}`,
    "svc_live_' or 1=1 --",
    'svc_live_\0'.padEnd(47, 'a'),
    'é'.repeat(47),
    'svc_live_%'.padEnd(47, '_'),
    'x'.repeat(8_000),
  ]) {
    t.equal(await credentials.resolve(bad), null)
  }
  t.equal(queries(), 0)
  for (let i = 0; i < 5; i++) t.equal(await credentials.resolve(token), null)
  t.equal(queries(), 1, 'the refusal is cached')
  clock.advance(5_001)
  t.equal(await credentials.resolve(token), null)
  t.equal(queries(), 2, 'and not for longer than five seconds')
})

t.test('refuses revoked and expired keys and disabled accounts, and applies a cached expiry to the millisecond', async (t) => {
  const clock = new SimulatedClock({ now: noon })
  for (const found of [
    createLiveKey({ revokedAt: 1 }),
    createLiveKey({ expiresAt: noon }),
    createLiveKey({}, { status: 'disabled' }),
    createLiveKey({}, { status: 'deleted' }),
  ]) {
    t.equal(await new Credentials(createFakeStore(found).store, names, clock).resolve(mint()), null)
  }
  const credentials = new Credentials(createFakeStore(createLiveKey({ expiresAt: noon + 1_000 })).store, names, clock)
  const token = mint()
  t.ok(await credentials.resolve(token))
  clock.setNow(noon + 999)
  t.ok(await credentials.resolve(token))
  clock.setNow(noon + 1_000)
  t.equal(await credentials.resolve(token), null)
})

t.test('writes the last use behind, once a minute per key', async (t) => {
  const clock = new SimulatedClock({ now: noon })
  const { store, touched } = createFakeStore(createLiveKey())
  const credentials = new Credentials(store, names, clock)
  const token = mint()
  for (let i = 0; i < 10; i++) await credentials.resolve(token)
  await credentials.flushLastUsed()
  t.same(
    touched.map((uses) => [...uses]),
    [[['key_1', noon]]],
  )
  await credentials.flushLastUsed()
  t.equal(touched.length, 1, 'writes nothing without a new use')
  clock.setNow(noon + 61_000)
  await credentials.resolve(token)
  await credentials.flushLastUsed()
  t.equal(touched.length, 2)
})

/** A store shared by several nodes: one key and a change log, each of which may hang. */
function createSharedFakeStore() {
  const state = { status: 'active', latest: 0, changed: [] as string[], queries: 0, polls: 0 }
  const hanging = { keys: false, changes: false }
  let waiting: (() => void)[] = []
  const held = (which: keyof typeof hanging): Promise<void> =>
    hanging[which] ? new Promise((resolve) => void waiting.push(resolve)) : Promise.resolve()
  const store = {
    cluster: { countNodes: () => 3 },
    apiKeys: {
      async findByHash() {
        state.queries++
        const found = createLiveKey({}, { status: state.status })
        await held('keys')
        return found
      },
    },
    credentialChanges: {
      async getLatestSeq() {
        state.polls++
        await held('changes')
        return state.latest
      },
      async listSince(seq: number) {
        state.polls++
        const accounts = state.changed
        state.changed = []
        await held('changes')
        return { seq: seq + accounts.length, accounts }
      },
    },
  } as unknown as Store
  const goOn = (): void => {
    Object.assign(hanging, { keys: false, changes: false })
    for (const resolve of waiting) resolve()
    waiting = []
  }
  return { store, state, hanging, goOn }
}

/** A node with a controlled clock and timers; or a single process. */
function createNode(isAlone = false) {
  const shared = createSharedFakeStore()
  if (isAlone) Object.assign(shared.store, { cluster: null })
  const clock = new SimulatedClock({ now: noon, monotonicMs: 0 })
  const credentials = new Credentials(shared.store, names, clock)
  const pass = async (ms: number): Promise<void> => {
    await clock.run(ms)
    await settled()
  }
  return { ...shared, credentials, pass, token: mint() }
}

/** Resolves when all pending microtasks have run. */
const settled = async (): Promise<void> => {
  for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve))
}

t.test('one process: caches a key for an hour while the change log is read', async (t) => {
  const { credentials, state, pass, token } = createNode(true)
  await credentials.pollChanges()
  for (let minute = 0; minute <= 60; minute++) {
    t.ok(await credentials.resolve(token))
    await pass(minute === 60 ? 1 : 30_000)
    await credentials.pollChanges()
    await pass(minute === 60 ? 0 : 30_000)
    if (minute < 60) await credentials.pollChanges()
  }
  t.equal(state.queries, 1)
  await credentials.resolve(token)
  t.equal(state.queries, 2, 'the key is queried again')
  Object.assign(state, { status: 'disabled', changed: ['acc_1'] })
  await credentials.pollChanges()
  t.equal(await credentials.resolve(token), null, 'a change in the log drops the key')
})

t.test('one process: caches a key for half a minute while the change log cannot be read', async (t) => {
  const { credentials, state, hanging, goOn, pass, token } = createNode(true)
  await credentials.pollChanges()
  hanging.changes = true
  void credentials.pollChanges()
  await credentials.resolve(token)
  await pass(30_000)
  await credentials.resolve(token)
  t.equal(state.queries, 1, 'the last millisecond of the entry')
  await pass(1)
  await credentials.resolve(token)
  t.equal(state.queries, 2)
  goOn()
  await pass(0)
  await credentials.pollChanges()
  await credentials.resolve(token)
  t.equal(state.queries, 3, 'all entries are dropped, because the log may have deleted changes')
})

t.test('one process: queries a session again after half a minute, because use moves its end', async (t) => {
  const clock = new SimulatedClock({ now: noon, monotonicMs: 0 })
  let queries = 0
  const session = { id: 'sess_1', kind: 'cli', lastUsedAt: noon, expiresAt: noon + 90 * 86_400_000 }
  const findByHash = async () => {
    queries++
    return { session, account: createLiveKey().account }
  }
  const credentialChanges = { getLatestSeq: async () => 0, listSince: async (seq: number) => ({ seq, accounts: [] }) }
  const store = { sessions: { findByHash }, credentialChanges, cluster: null } as unknown as Store
  const credentials = new Credentials(store, names, clock)
  const token = `${names.sessionPrefix}${'a'.repeat(43)}`
  await credentials.pollChanges()
  t.ok(await credentials.resolve(token))
  clock.advance(30_000)
  await credentials.pollChanges()
  t.ok(await credentials.resolve(token))
  t.equal(queries, 1)
  clock.advance(1)
  t.ok(await credentials.resolve(token))
  t.equal(queries, 2)
})

t.test('several nodes: caches a key while the change log is read and drops it on a change', async (t) => {
  const { credentials, state, pass, token } = createNode()
  t.ok(await credentials.resolve(token))
  await credentials.pollChanges()
  for (let i = 0; i < 5; i++) {
    t.ok(await credentials.resolve(token))
    await pass(300)
    await credentials.pollChanges()
  }
  t.equal(state.queries, 2, 'no entry counts before the first poll')
  Object.assign(state, { status: 'disabled', changed: ['acc_1'] })
  await pass(300)
  await credentials.pollChanges()
  t.equal(await credentials.resolve(token), null)
  t.equal(credentials.pollIntervalMs, 300)
})

t.test('several nodes: trusts a successful poll for 0.9 s, then queries the store', async (t) => {
  const { credentials, state, hanging, pass, token } = createNode()
  await credentials.pollChanges()
  await credentials.resolve(token)
  t.equal(state.queries, 1)
  hanging.changes = true
  state.status = 'disabled'
  const pending = credentials.pollChanges()
  void pending.catch(() => undefined)
  await pass(300)
  await t.rejects(pending, /no answer within 300 ms/)
  await pass(600)
  t.ok(await credentials.resolve(token), 'the last millisecond of the entry')
  t.equal(state.queries, 1)
  await pass(1)
  t.equal(await credentials.resolve(token), null, 'the store has the newer state')
  t.equal(state.queries, 2)
})

t.test('several nodes: logs once that the change log cannot be read, even if it never could be', async (t) => {
  const { credentials, hanging, pass, goOn } = createNode()
  const poll = async (): Promise<'logged' | 'silent'> => {
    const looking = credentials.pollChanges().then(
      () => 'silent' as const,
      () => 'logged' as const,
    )
    await pass(300)
    return looking
  }
  hanging.changes = true
  t.same([await poll(), await poll(), await poll()], ['logged', 'silent', 'silent'])
  goOn()
  await pass(0)
  t.equal(await poll(), 'silent')
  hanging.changes = true
  t.same([await poll(), await poll()], ['logged', 'silent'])
})

t.test('several nodes: counts a database as silent only while no answer arrives, however late', async (t) => {
  const { credentials, hanging, pass, goOn } = createNode()
  await credentials.pollChanges()
  hanging.changes = true
  const pending = credentials.pollChanges()
  void pending.catch(() => undefined)
  await pass(2_500)
  t.equal(credentials.databaseSilentMs, 2_500)
  goOn()
  await pass(0)
  await pass(100)
  t.equal(credentials.databaseSilentMs, 100, 'a late answer counts')
})

t.test('several nodes: accepts no cached key if the store does not answer either', async (t) => {
  const { credentials, hanging, goOn, pass, token } = createNode()
  await credentials.pollChanges()
  t.ok(await credentials.resolve(token))
  Object.assign(hanging, { keys: true, changes: true })
  await pass(901)
  const pending = Promise.resolve(credentials.resolve(token))
  void pending.catch(() => undefined)
  await pass(2_999)
  await pass(1)
  await t.rejects(pending, { code: 'temporarily_unavailable', details: { retryAfter: 1 } })
  goOn()
  t.ok(await credentials.resolve(token), 'accepted once it answers')
})

t.test('several nodes: repeats a query whose answer took too long', async (t) => {
  const { credentials, state, hanging, goOn, pass, token } = createNode()
  await credentials.pollChanges()
  hanging.keys = true
  const pending = credentials.resolve(token)
  await pass(800)
  // A later request must not get the older answer.
  const joined = credentials.resolve(token)
  state.status = 'disabled'
  await pass(200)
  t.equal(state.queries, 1)
  goOn()
  t.same(await Promise.all([pending, joined]), [null, null])
})

t.test('several nodes: drops all entries after a failed poll, and never runs two polls at once', async (t) => {
  const { credentials, state, hanging, goOn, pass, token } = createNode()
  await credentials.pollChanges()
  await credentials.resolve(token)
  hanging.changes = true
  // This poll consumes the change and answers too late.
  Object.assign(state, { status: 'disabled', changed: ['acc_1'] })
  const late = credentials.pollChanges()
  void late.catch(() => undefined)
  await pass(300)
  await t.rejects(late)
  const polls = state.polls
  await credentials.pollChanges()
  t.equal(state.polls, polls, 'no second poll beside it, and one log line')
  goOn()
  await settled()
  await credentials.pollChanges()
  t.equal(state.polls, polls + 1)
  t.equal(await credentials.resolve(token), null)
})
