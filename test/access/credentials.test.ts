/** A known key costs no query, a wrong one at most one, and what was revoked is refused at once. */
import { mock } from 'node:test'
import type { Test } from 'tap'
import t from 'tap'
import { namesOf } from '../../src/config/brand.ts'
import { Credentials } from '../../src/access/credentials.ts'
import { mintApiKey } from '../../src/membership/api-key.ts'
import type { Store } from '../../src/membership/store.ts'
import { createIds } from '../../src/system/ids.ts'
import { noon } from '../support/exchange.ts'

const names = namesOf('svc')
const ids = createIds()
const mint = () => mintApiKey(names.keyPrefix, (size) => ids.bytes(size))

function aStore(found: Record<string, unknown> | undefined): {
  store: Store
  asked: () => number
  touched: Map<string, number>[]
} {
  let asked = 0
  const touched: Map<string, number>[] = []
  const keys = {
    findByHash: async () => {
      asked++
      await Promise.resolve()
      return found
    },
    touch: async (uses: Map<string, number>) => void touched.push(uses),
  }
  return { store: { keys, cluster: null } as unknown as Store, asked: () => asked, touched }
}

const live = (key: object = {}, account: object = {}) => ({
  key: { id: 'key_1', revokedAt: null, expiresAt: null, ...key },
  account: { id: 'acc_1', status: 'active', plan: 'free', ...account },
})

t.test('many requests with one new key ask the store once; later ones not at all', async (t) => {
  const { store, asked } = aStore(live())
  const credentials = new Credentials(store, names, { now: () => noon, ticks: () => 0 })
  const token = mint()
  const found = await Promise.all(Array.from({ length: 50 }, () => credentials.resolve(token)))
  t.ok(found.every((credential) => credential?.account.id === 'acc_1'))
  await credentials.resolve(token)
  t.equal(asked(), 1)
  credentials.forgetAccount('acc_1')
  await credentials.resolve(token)
  t.equal(asked(), 2, 'forgotten, asked again')
})

t.test('what cannot be a key is refused without a query; an unknown one costs one', async (t) => {
  const { store, asked } = aStore(undefined)
  const credentials = new Credentials(store, names, { now: () => noon, ticks: () => 0 })
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
  t.equal(asked(), 0)
  for (let i = 0; i < 5; i++) t.equal(await credentials.resolve(token), null)
  t.equal(asked(), 1, 'and is remembered as unknown')
})

t.test('revoked, expired, disabled: refused; an expiry is kept to the millisecond, also from memory', async (t) => {
  let now = noon
  const clock = { now: () => now, ticks: () => 0 }
  for (const found of [
    live({ revokedAt: 1 }),
    live({ expiresAt: noon }),
    live({}, { status: 'disabled' }),
    live({}, { status: 'deleted' }),
  ]) {
    t.equal(await new Credentials(aStore(found).store, names, clock).resolve(mint()), null)
  }
  const credentials = new Credentials(aStore(live({ expiresAt: noon + 1_000 })).store, names, clock)
  const token = mint()
  t.ok(await credentials.resolve(token))
  now = noon + 999
  t.ok(await credentials.resolve(token))
  now = noon + 1_000
  t.equal(await credentials.resolve(token), null)
})

t.test('uses are written behind, once a minute a key', async (t) => {
  let now = noon
  const { store, touched } = aStore(live())
  const credentials = new Credentials(store, names, { now: () => now, ticks: () => 0 })
  const token = mint()
  for (let i = 0; i < 10; i++) await credentials.resolve(token)
  await credentials.flushUses()
  t.same(
    touched.map((uses) => [...uses]),
    [[['key_1', noon]]],
  )
  await credentials.flushUses()
  t.equal(touched.length, 1, 'nothing new, nothing written')
  now += 61_000
  await credentials.resolve(token)
  await credentials.flushUses()
  t.equal(touched.length, 2)
})

/** A store that several nodes share: a key, and a book of changes, each of which may hang. */
function aSharedStore() {
  const state = { status: 'active', latest: 0, changed: [] as string[], asked: 0, looks: 0 }
  const hanging = { keys: false, changes: false }
  let waiting: (() => void)[] = []
  const held = (which: keyof typeof hanging): Promise<void> =>
    hanging[which] ? new Promise((resolve) => void waiting.push(resolve)) : Promise.resolve()
  const store = {
    cluster: { nodes: () => 3 },
    keys: {
      async findByHash() {
        state.asked++
        const found = live({}, { status: state.status })
        await held('keys')
        return found
      },
    },
    changes: {
      async latest() {
        state.looks++
        await held('changes')
        return state.latest
      },
      async since(seq: number) {
        state.looks++
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

/** A node on it whose time the test moves, timers and all; or the only process there is. */
function aNode(t: Test, isAlone = false) {
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  const shared = aSharedStore()
  if (isAlone) Object.assign(shared.store, { cluster: null })
  let ticks = 0
  const credentials = new Credentials(shared.store, names, { now: () => noon + ticks, ticks: () => ticks })
  const pass = async (ms: number): Promise<void> => {
    ticks += ms
    mock.timers.tick(ms)
    await settled()
  }
  return { ...shared, credentials, pass, token: mint() }
}

/** All that can go on has gone on. */
const settled = async (): Promise<void> => {
  for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve))
}

t.test('one process: a key is remembered for an hour while the book of changes is read', async (t) => {
  const { credentials, state, pass, token } = aNode(t, true)
  await credentials.followChanges()
  for (let minute = 0; minute <= 60; minute++) {
    t.ok(await credentials.resolve(token))
    await pass(minute === 60 ? 1 : 30_000)
    await credentials.followChanges()
    await pass(minute === 60 ? 0 : 30_000)
    if (minute < 60) await credentials.followChanges()
  }
  t.equal(state.asked, 1)
  await credentials.resolve(token)
  t.equal(state.asked, 2, 'then asked again')
  Object.assign(state, { status: 'disabled', changed: ['acc_1'] })
  await credentials.followChanges()
  t.equal(await credentials.resolve(token), null, 'forgotten with what stands there')
})

t.test('one process: while the book of changes cannot be read, a key is remembered for half a minute', async (t) => {
  const { credentials, state, hanging, goOn, pass, token } = aNode(t, true)
  await credentials.followChanges()
  hanging.changes = true
  void credentials.followChanges()
  await credentials.resolve(token)
  await pass(30_000)
  await credentials.resolve(token)
  t.equal(state.asked, 1, 'the last moment')
  await pass(1)
  await credentials.resolve(token)
  t.equal(state.asked, 2)
  goOn()
  await pass(0)
  await credentials.followChanges()
  await credentials.resolve(token)
  t.equal(state.asked, 3, 'what happened meanwhile may be in the book no more: all is forgotten')
})

t.test('one process: a session is asked for again after half a minute, because its use moves its end', async (t) => {
  let ticks = 0
  let asked = 0
  const session = { id: 'sess_1', kind: 'cli', lastUsedAt: noon, expiresAt: noon + 90 * 86_400_000 }
  const findByHash = async () => {
    asked++
    return { session, account: live().account }
  }
  const changes = { latest: async () => 0, since: async (seq: number) => ({ seq, accounts: [] }) }
  const store = { sessions: { findByHash }, changes, cluster: null } as unknown as Store
  const credentials = new Credentials(store, names, { now: () => noon, ticks: () => ticks })
  const token = `${names.sessionPrefix}${'a'.repeat(43)}`
  await credentials.followChanges()
  t.ok(await credentials.resolve(token))
  ticks = 30_000
  await credentials.followChanges()
  t.ok(await credentials.resolve(token))
  t.equal(asked, 1)
  ticks = 30_001
  t.ok(await credentials.resolve(token))
  t.equal(asked, 2)
})

t.test(
  'several nodes: a key is remembered while the book of changes is read, and forgotten with what stands there',
  async (t) => {
    const { credentials, state, pass, token } = aNode(t)
    t.ok(await credentials.resolve(token))
    await credentials.followChanges()
    for (let i = 0; i < 5; i++) {
      t.ok(await credentials.resolve(token))
      await pass(300)
      await credentials.followChanges()
    }
    t.equal(state.asked, 2, 'before the first look nothing is believed')
    Object.assign(state, { status: 'disabled', changed: ['acc_1'] })
    await pass(300)
    await credentials.followChanges()
    t.equal(await credentials.resolve(token), null)
    t.equal(credentials.followEveryMs, 300)
  },
)

t.test('several nodes: the last look that succeeded is good for nine tenths of a second, then the store is asked', async (t) => {
  const { credentials, state, hanging, pass, token } = aNode(t)
  await credentials.followChanges()
  await credentials.resolve(token)
  t.equal(state.asked, 1)
  hanging.changes = true
  state.status = 'disabled'
  const look = credentials.followChanges()
  void look.catch(() => undefined)
  await pass(300)
  await t.rejects(look, /no answer within 300 ms/)
  await pass(600)
  t.ok(await credentials.resolve(token), 'the last moment')
  t.equal(state.asked, 1)
  await pass(1)
  t.equal(await credentials.resolve(token), null, 'the store knows better')
  t.equal(state.asked, 2)
})

t.test('several nodes: that the book of changes cannot be read is said once, also where it never could be', async (t) => {
  const { credentials, hanging, pass, goOn } = aNode(t)
  const look = async (): Promise<'said' | 'silent'> => {
    const looking = credentials.followChanges().then(
      () => 'silent' as const,
      () => 'said' as const,
    )
    await pass(300)
    return looking
  }
  hanging.changes = true
  t.same([await look(), await look(), await look()], ['said', 'silent', 'silent'])
  goOn()
  await pass(0)
  t.equal(await look(), 'silent')
  hanging.changes = true
  t.same([await look(), await look()], ['said', 'silent'])
})

t.test('several nodes: a database is silent for as long as it answers nothing, however late', async (t) => {
  const { credentials, hanging, pass, goOn } = aNode(t)
  await credentials.followChanges()
  hanging.changes = true
  const look = credentials.followChanges()
  void look.catch(() => undefined)
  await pass(2_500)
  t.equal(credentials.silentMs, 2_500)
  goOn()
  await pass(0)
  await pass(100)
  t.equal(credentials.silentMs, 100, 'late is not silent')
})

t.test('several nodes: where the store does not answer either, nobody is let in on an old yes', async (t) => {
  const { credentials, hanging, goOn, pass, token } = aNode(t)
  await credentials.followChanges()
  t.ok(await credentials.resolve(token))
  Object.assign(hanging, { keys: true, changes: true })
  await pass(901)
  const asked = Promise.resolve(credentials.resolve(token))
  void asked.catch(() => undefined)
  await pass(2_999)
  await pass(1)
  await t.rejects(asked, { code: 'temporarily_unavailable', details: { retryAfter: 1 } })
  goOn()
  t.ok(await credentials.resolve(token), 'as soon as it answers')
})

t.test('several nodes: an answer that was long on its way is asked for again', async (t) => {
  const { credentials, state, hanging, goOn, pass, token } = aNode(t)
  await credentials.followChanges()
  hanging.keys = true
  const asked = credentials.resolve(token)
  await pass(800)
  // Who comes later gets no older answer by it.
  const joined = credentials.resolve(token)
  state.status = 'disabled'
  await pass(200)
  t.equal(state.asked, 1)
  goOn()
  t.same(await Promise.all([asked, joined]), [null, null])
})

t.test('several nodes: after a look that failed all is forgotten, and looks never overtake each other', async (t) => {
  const { credentials, state, hanging, goOn, pass, token } = aNode(t)
  await credentials.followChanges()
  await credentials.resolve(token)
  hanging.changes = true
  // This look takes what has changed along and comes back too late.
  Object.assign(state, { status: 'disabled', changed: ['acc_1'] })
  const late = credentials.followChanges()
  void late.catch(() => undefined)
  await pass(300)
  await t.rejects(late)
  const looks = state.looks
  await credentials.followChanges()
  t.equal(state.looks, looks, 'none beside it; and said once')
  goOn()
  await settled()
  await credentials.followChanges()
  t.equal(state.looks, looks + 1)
  t.equal(await credentials.resolve(token), null)
})
