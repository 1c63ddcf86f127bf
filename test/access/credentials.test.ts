/** A known key costs no query, a wrong one at most one, and what was revoked is refused at once. */
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
  return { store: { keys } as unknown as Store, asked: () => asked, touched }
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
