/** A reload takes over what nothing keeps from the start, and names everything else. */
import t from 'tap'
import base from '../../../../gateway.config.ts'
import { checkConfig } from '../../../../src/config/config.ts'
import { describePlugins } from '../../../../src/server/reload/describe-plugins.ts'
import { findReloadErrors, mergeReloadedConfig } from '../../../../src/server/reload/merge-reloaded-config.ts'

const listen = { host: '127.0.0.1', port: 0 }
const running = checkConfig(base)
const prices = { ...base.prices, light: { ...base.prices.light, input: 0.2 } }
const plans = { ...base.plans, trial: { ...base.plans['free']!, name: 'Trial' } }
const upstreams = { main: { baseUrl: 'https://api.example.com/v1', apiKey: 'sk-new' } }
const extraPlugin = { name: 'extra', onRequest: () => undefined }

function merge(changes: object) {
  const { plugins, ...values } = checkConfig({ ...base, ...changes })
  // As another process sends it.
  return mergeReloadedConfig(running, { values: structuredClone(values), plugins: describePlugins(plugins) })
}

const cases: readonly [name: string, changes: object, changed: readonly string[], needsRestart: readonly string[]][] = [
  ['nothing', {}, [], []],
  ['prices', { prices }, ['prices'], []],
  ['products', { products: { ...base.products, auto: { ...base.products['auto']!, name: 'A' } } }, ['products'], []],
  ['an upstream', { upstreams }, ['upstreams'], []],
  ['texts of the site', { site: { contactUrl: 'mailto:a@example.com' } }, ['site'], []],
  ['aliases', { apiFormats: {} }, ['apiFormats'], []],
  ['a search engine', { search: { backend: 'searxng', searxngUrl: 'https://search.example.com' } }, ['search'], []],
  ['a limit', { limits: { addressRpm: 9 } }, ['limits.addressRpm'], []],
  ['a limit that is kept from the start', { limits: { keysPerAccount: 3 } }, [], ['limits.keysPerAccount']],
  [
    'both kinds of limits',
    { limits: { imageTokens: 3, concurrencyWaitMs: 0 } },
    ['limits.imageTokens'],
    ['limits.concurrencyWaitMs'],
  ],
  ['plans', { plans }, [], ['plans']],
  ['the default plan', { defaultPlan: 'pro' }, [], ['defaultPlan']],
  ['an address', { listen: { ...base.listen, port: 1 } }, [], ['listen.port']],
  ['the data folder', { store: { ...base.store, dataDir: '/elsewhere' } }, [], ['store.dataDir']],
  ['a time zone', { timeZone: 'Asia/Shanghai' }, [], ['timeZone']],
  ['the number of threads', { workers: 3 }, [], ['workers']],
  ['mail', { mail: { smtpUrl: 'smtp://mail.example.com' } }, [], ['mail.smtpUrl', 'mail.from']],
  ['sign-in', { signIn: { signUp: 'closed' } }, [], ['signIn.signUp']],
  ['a plugin', { plugins: [...base.plugins, extraPlugin] }, [], ['plugins']],
]
for (const [name, changes, changed, needsRestart] of cases)
  t.test(`a reload with ${name}`, async (t) => {
    const merged = merge(changes)
    t.same(merged.changed, changed)
    t.same(merged.needsRestart, needsRestart)
    const whole = checkConfig({ ...base, ...changes })
    for (const path of changed) t.same(read(merged.config, path), read(whole, path), `${path} is new`)
    for (const path of needsRestart) t.same(read(merged.config, path), read(running, path), `${path} is as before`)
  })

t.test('a plugin is described by its settings and its code', async (t) => {
  const other = { ...extraPlugin, onRequest: () => void 0 }
  t.not(describePlugins([extraPlugin]), describePlugins([other]))
  t.not(describePlugins([extraPlugin]), describePlugins([{ ...extraPlugin, needs: ['caller'] }]))
  t.equal(describePlugins([extraPlugin]), describePlugins([{ ...extraPlugin }]))
})

t.test('a list stays a list', async (t) => {
  const pack = { id: 'small', credits: 500, pool: 'premium', prices: [{ amount: 5 }] } as const
  const selling = checkConfig({ ...base, listen, packs: [{ ...pack, prices: [...pack.prices] }], payments: { demo: true } })
  const { plugins, ...values } = selling
  const merged = mergeReloadedConfig(selling, { values: { ...values, packs: [] }, plugins: describePlugins(plugins) })
  t.same(merged.config.packs, selling.packs, 'as before')
  t.same(merged.needsRestart, ['packs'])
})

t.test('what a running server cannot use is refused', async (t) => {
  const server = { workers: 1, hasDemo: true }
  t.same(findReloadErrors(merge({ prices }).config, server), [])
  t.match(findReloadErrors(running, { workers: 1, hasDemo: false }), [/upstreams\.main\.baseUrl: the demo upstream/])
  const narrow = merge({ upstreams: { main: { baseUrl: 'demo', connections: 2 } } }).config
  t.match(findReloadErrors(narrow, { workers: 3, hasDemo: true }), [/3 are more than upstreams\.main\.connections \(2\)/])
  // The plans stay, and one of them names a product that is gone.
  const withModels = checkConfig({ ...base, plans: { free: { ...base.plans['free']!, models: ['svc'] } } })
  const { svc: _svc, ...products } = base.products
  const { plugins, ...values } = checkConfig({ ...base, products })
  const merged = mergeReloadedConfig(withModels, { values, plugins: describePlugins(plugins) })
  t.match(findReloadErrors(merged.config, server), [/plans\.free\.models: there is no product 'svc'/])
})

function read(config: object, path: string): unknown {
  return path.split('.').reduce<unknown>((at, key) => Reflect.get(Object(at), key), config)
}
