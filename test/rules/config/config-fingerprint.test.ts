/** The fingerprint of a configuration: what it covers, and that it contains no secret. */
import t from 'tap'
import base from '../../../gateway.config.ts'
import { createConfigFingerprint } from '../../../src/config/config-fingerprint.ts'
import { checkConfig } from '../../../src/config/config.ts'
import { findDifferingSections } from '../../../src/domain/config-fingerprint.ts'

const upstream = { baseUrl: 'https://one.example/v1', apiKey: 'sk-secret-one' }
const config = {
  ...base,
  upstreams: { main: upstream },
  limits: { url: 'valkey://user:secret-one@valkey.internal:6379/0' },
}
const reference = createConfigFingerprint(checkConfig(config))

function findDifferences(change: object): readonly string[] {
  return findDifferingSections([reference, createConfigFingerprint(checkConfig({ ...config, ...change }))])
}

const free = base.plans['free']
const svc = base.products['svc']

t.test('names the section of each setting that nodes must share', async (t) => {
  for (const [change, section] of [
    [{ plans: { ...base.plans, free: { ...free, rpm: 1 } } }, 'plans'],
    [{ prices: { ...base.prices, light: { ...base.prices.light, input: 9 } } }, 'prices'],
    [{ prices: { ...base.prices, light: { ...base.prices.light, discountPercent: 1 } } }, 'prices'],
    [{ prices: { ...base.prices, light: { ...base.prices.light, cachedInput: 0.01 } } }, 'prices'],
    [{ products: { ...base.products, svc: { ...svc, defaultOutputTokens: 17 } } }, 'products'],
    [{ boosts: { checkin: { credits: 1, days: 1 } } }, 'boosts'],
    [{ timeZone: 'Asia/Shanghai' }, 'time zone'],
    [{ brand: { slug: 'other', name: 'svc' } }, 'brand'],
    [{ limits: { url: 'valkey://user:secret-one@elsewhere.internal:6379/0' } }, 'limits store'],
    [{ limits: { url: null } }, 'limits store'],
    [{ limits: { ...config.limits, addressRpm: 7 } }, 'limits'],
    [{ upstreams: { main: { ...upstream, baseUrl: 'https://two.example/v1' } } }, 'upstreams'],
    [{ upstreams: { main: { ...upstream, responses: true } } }, 'upstreams'],
    [{ store: { ...base.store, keepTurnsForDays: 7 } }, 'retention'],
    [{ listen: { ...base.listen, siteUrl: 'https://site.example' } }, 'site address'],
    [{ signIn: { signUp: 'closed' } }, 'sign-in'],
  ] as const)
    t.same(findDifferences(change), [section], JSON.stringify(change))
})

t.test('ignores secrets, settings of one machine, and the order of entries', async (t) => {
  for (const change of [
    {},
    { upstreams: { main: { ...upstream, apiKey: 'sk-secret-two' } } },
    { upstreams: { main: { ...upstream, connections: 7, maxPending: 7 } } },
    { limits: { url: 'valkey://user:secret-two@valkey.internal:6379/0' } },
    { listen: { ...base.listen, port: 9_999, host: '127.0.0.2' } },
    { workers: 3 },
    { store: { ...base.store, dataDir: '/elsewhere' } },
    { plans: Object.fromEntries(Object.entries(base.plans).toReversed()) },
  ])
    t.same(findDifferences(change), [], JSON.stringify(change))
})

t.test('contains hashes only', async (t) => {
  for (const hash of Object.values(reference)) t.match(hash, /^[0-9a-f]{16}$/)
})
