/** A configuration that cannot work stops the server with one clear sentence, which contains no secret. */
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { Test } from 'tap'
import t from 'tap'
import base from '../../../gateway.config.ts'
import { checkConfig, ConfigError, env, loadConfig } from '../../../src/config/config.ts'
import type { AnyPlugin } from '../../../src/exchange/plugins/plugin.ts'
import { parseNetworks } from '../../../src/system/cidr.ts'
import { compileCacheEnvironment } from '../../runner/clean-command.ts'
import { createTemporaryFolder } from '../../support/gateway/test-gateway.ts'

const plugins = base.plugins as AnyPlugin[]
const secret = 'sk-very-secret-0123456789'
const main = { baseUrl: 'https://api.example.com/v1', apiKey: secret }
const product = base.products['svc']
const plan = base.plans['free']
const pools = (day: number, week: number, month: number) => ({
  ...plan,
  pools: { fast: { day, week, month }, premium: plan?.pools.premium },
})

/** Each error, the field that its sentence names, and what the sentence says. */
const broken: readonly [string, Record<string, unknown>, RegExp][] = [
  ['an unknown key', { listne: {} }, /The configuration: unknown key 'listne'/],
  ['an unknown key further in', { listen: { ...base.listen, hots: 'x' } }, /listen: unknown key 'hots'/],
  ['a former top-level key', { connect: {} }, /The configuration: unknown key 'connect' \(it is now called 'oauth'\)/],
  [
    'a former key of the OAuth server',
    { oauth: { appSchemes: [] } },
    /oauth: unknown key 'appSchemes' \(it is now called 'redirectSchemes'\)/,
  ],
  ...(
    [
      ['queue', 1, 'maxPending'],
      ['queueMs', 1, 'maxPendingMs'],
      ['answerFields', [], 'passResponseFields'],
      ['passFields', [], 'passRequestFields'],
    ] as const
  ).map(([former, value, current]): [string, Record<string, unknown>, RegExp] => [
    `the former key ${former} of an upstream`,
    { upstreams: { main: { baseUrl: 'demo', [former]: value } } },
    new RegExp(`upstreams\\.main: unknown key '${former}' \\(it is now called '${current}'\\)`),
  ]),
  ['a former timeout', { timeouts: { noticeMs: 1 } }, /timeouts: unknown key 'noticeMs' \(it is now called 'drainNoticeMs'\)/],
  ['an unknown limit', { limits: { chatBodyByte: 1 } }, /limits: unknown key 'chatBodyByte'/],
  ['an unknown key of a plan', { plans: { ...base.plans, free: { ...plan, rpn: 1 } } }, /plans\.free: unknown key 'rpn'/],
  ['no port', { listen: { ...base.listen, port: 70_000 } }, /listen\.port/],
  ['half a port', { listen: { ...base.listen, port: 80.5 } }, /listen\.port/],
  ['an empty host', { listen: { ...base.listen, host: '' } }, /listen\.host/],
  ['a network of the console that is none', { console: { networks: ['10.0.0.0/99'] } }, /console\.networks: '10\.0\.0\.0\/99'/],
  [
    'a console without a members’ address',
    { console: { origin: 'https://c.example.com' } },
    /console\.origin needs listen\.siteUrl/,
  ],
  [
    'a console on the members’ host',
    {
      listen: { ...base.listen, siteUrl: 'https://example.com', baseUrl: 'https://api.example.com' },
      console: { origin: 'https://api.example.com' },
    },
    /console\.origin: api\.example\.com is the host of/,
  ],
  [
    'a console in the clear',
    { listen: { ...base.listen, siteUrl: 'https://example.com' }, console: { origin: 'http://c.example.com' } },
    /console\.origin must be https/,
  ],
  [
    'a console below a path',
    { listen: { ...base.listen, siteUrl: 'https://example.com' }, console: { origin: 'https://c.example.com/console' } },
    /console\.origin: .* without a path/,
  ],
  ['a site that is no address', { listen: { ...base.listen, siteUrl: 'example.com' } }, /listen\.siteUrl/],
  ['a site of another kind', { listen: { ...base.listen, baseUrl: 'ftp://example.com' } }, /listen\.baseUrl/],
  [
    'a proxy that is no network',
    { listen: { ...base.listen, trustedProxies: ['proxy.local'] } },
    /trustedProxies: 'proxy\.local' is neither/,
  ],
  [
    'a network with too many bits',
    { listen: { ...base.listen, trustedProxies: ['10.0.0.0/33'] } },
    /'10\.0\.0\.0\/33' is neither/,
  ],
  ['a brand that cannot be a name', { brand: { slug: 'Svc!', name: 'x' } }, /brand\.slug/],
  ['no folder', { store: { ...base.store, dataDir: '' } }, /store\.dataDir/],
  ['turns kept for no time', { store: { ...base.store, keepTurnsForDays: 0 } }, /store\.keepTurnsForDays/],
  ['a time zone that is none', { timeZone: 'Mars/Olympus' }, /timeZone: is not a time zone/],
  ['a log level that is none', { log: { level: 'loud' } }, /log\.level/],
  ['an empty secret', { upstreams: { main: { ...main, apiKey: '' } } }, /upstreams\.main\.apiKey: is empty/],
  [
    'an upstream that is no address',
    { upstreams: { main: { ...main, baseUrl: 'api.example.com' } } },
    /upstreams\.main\.baseUrl/,
  ],
  [
    'plain http over the internet',
    { upstreams: { main: { ...main, baseUrl: 'http://api.example.com/v1' } } },
    /plain http to api\.example\.com/,
  ],
  ['an upstream with a name that is none', { upstreams: { 'Main One': main, main } }, /upstreams/],
  ['no connections', { upstreams: { main: { ...main, connections: 0 } } }, /upstreams\.main\.connections/],
  ['no products', { products: {} }, /products: there is none/],
  [
    "images of Anthropic's API",
    {
      upstreams: { ...base.upstreams, claude: { baseUrl: 'https://api.anthropic.com/v1', kind: 'anthropic' as const } },
      products: { svc: { ...product, capabilities: ['image' as const], targets: [{ upstream: 'claude', model: 'm' }] } },
    },
    /products\.svc\.targets: 'claude' is Anthropic's API, which has no images/,
  ],
  [
    "the Responses API of Anthropic's API",
    { upstreams: { ...base.upstreams, main: { ...main, kind: 'anthropic' as const, responses: true } } },
    /upstreams\.main\.responses: kind 'anthropic' has no Responses API/,
  ],
  [
    'the Responses API of the Gemini API',
    { upstreams: { ...base.upstreams, main: { ...main, kind: 'gemini' as const, responses: true } } },
    /upstreams\.main\.responses: kind 'gemini' has no Responses API/,
  ],
  [
    'embeddings of the Gemini API',
    {
      upstreams: {
        ...base.upstreams,
        google: { baseUrl: 'https://generativelanguage.googleapis.com/v1beta', kind: 'gemini' as const },
      },
      products: { svc: { ...product, capabilities: ['embedding' as const], targets: [{ upstream: 'google', model: 'm' }] } },
    },
    /products\.svc\.targets: embeddings of 'google' are not offered/,
  ],
  [
    'the Responses API of the demo',
    { upstreams: { main: { ...main, baseUrl: 'demo' as const, responses: true } } },
    /upstreams\.main\.responses: the demo upstream has no Responses API/,
  ],
  ['a product without targets', { products: { svc: { ...product, targets: [] } } }, /products\.svc\.targets/],
  ['a product of a tier that is none', { products: { svc: { ...product, tier: 'gold' } } }, /products\.svc\.tier/],
  [
    'a target that points nowhere',
    { products: { ...base.products, svc: { ...product, targets: [{ upstream: 'mian', model: 'm' }] } } },
    /products\.svc\.targets: there is no upstream 'mian'/,
  ],
  [
    'targets that would never be used',
    { products: { ...base.products, svc: { ...product, targets: [{ upstream: 'main', model: 'm', weight: 0 }] } } },
    /all weights are 0/,
  ],
  [
    'a negative weight',
    { products: { ...base.products, svc: { ...product, targets: [{ upstream: 'main', model: 'm', weight: -1 }] } } },
    /weight/,
  ],
  [
    'more output than fits',
    { products: { ...base.products, svc: { ...product, maxOutputTokens: 999_999 } } },
    /maxOutputTokens is above contextLength/,
  ],
  [
    'a default above the maximum',
    { products: { ...base.products, svc: { ...product, maxOutputTokens: 100, defaultOutputTokens: 200 } } },
    /defaultOutputTokens is above maxOutputTokens/,
  ],
  [
    'a rule that points nowhere',
    { products: { ...base.products, auto: { ...base.products['auto'], rules: [{ when: 'images', use: 'svc-9' }] } } },
    /there is no product 'svc-9'/,
  ],
  [
    'a long rule without a length',
    { products: { ...base.products, auto: { ...base.products['auto'], rules: [{ when: 'long', use: 'svc' }] } } },
    /'long' needs longerThanTokens/,
  ],
  ['a date that is none', { products: { ...base.products, svc: { ...product, shutdownDate: 'next year' } } }, /shutdownDate/],
  [
    'a negative price',
    { prices: { ...base.prices, light: { input: -1, output: 1, discountPercent: 0 } } },
    /prices\.light\.input/,
  ],
  [
    'a discount above all',
    { prices: { ...base.prices, light: { input: 1, output: 1, discountPercent: 101 } } },
    /prices\.light\.discountPercent/,
  ],
  [
    'a price finer than is charged',
    { prices: { ...base.prices, light: { input: 0.0375, output: 1, discountPercent: 0 } } },
    /prices\.light\.input: has more than three decimal places/,
  ],
  [
    'a price of cached tokens above that of others',
    { prices: { ...base.prices, flagship: { input: 1, cachedInput: 1.001, output: 1, discountPercent: 0 } } },
    /prices\.flagship\.cachedInput: is above `input`/,
  ],
  [
    'a negative price of cached tokens',
    { prices: { ...base.prices, light: { input: 1, cachedInput: -1, output: 1, discountPercent: 0 } } },
    /prices\.light\.cachedInput/,
  ],
  [
    'a price of cached tokens finer than is charged',
    { prices: { ...base.prices, light: { input: 1, cachedInput: 0.0375, output: 1, discountPercent: 0 } } },
    /prices\.light\.cachedInput: has more than three decimal places/,
  ],
  ['a price missing', { prices: { light: base.prices.light } }, /prices\.flagship/],
  ['a plan without requests', { plans: { ...base.plans, free: { ...plan, rpm: 0 } } }, /plans\.free\.rpm/],
  ['a plan without turns', { plans: { ...base.plans, free: { ...plan, concurrency: 0 } } }, /plans\.free\.concurrency/],
  ['a negative pool', { plans: { ...base.plans, free: pools(-1, 1, 1) } }, /pools\.fast\.day/],
  [
    'a day above its week',
    { plans: { ...base.plans, free: pools(3, 2, 4) } },
    /a day's limit above the week's could never take effect/,
  ],
  [
    'a week above its month',
    { plans: { ...base.plans, free: pools(1, 3, 2) } },
    /a week's limit above the month's could never take effect/,
  ],
  [
    'a plan with a product that is none',
    { plans: { ...base.plans, free: { ...plan, models: ['svc-9'] } } },
    /plans\.free\.models: there is no product 'svc-9'/,
  ],
  ['a default plan that is none', { defaultPlan: 'gold' }, /defaultPlan: there is no plan 'gold'/],
  [
    'a default plan that is a word of the language',
    { defaultPlan: 'constructor' },
    /defaultPlan: there is no plan 'constructor'/,
  ],
  [
    'a price beyond counting',
    { prices: { ...base.prices, light: { input: 1e15, output: 1, discountPercent: 0 } } },
    /prices\.light\.input/,
  ],
  ['a wait of no time', { timeouts: { idleMs: 0 } }, /timeouts\.idleMs/],
  [
    'an upstream that may be silent for no time',
    { upstreams: { main: { ...base.upstreams['main'], idleMs: 0 } } },
    /upstreams\.main\.idleMs/,
  ],
  [
    'an upstream that may begin after the whole time',
    { upstreams: { main: { ...base.upstreams['main'], firstByteMs: 900_001 } } },
    /upstreams\.main\.firstByteMs is above timeouts\.totalMs/,
  ],
  [
    'an upstream that may be silent beyond the whole time',
    {
      upstreams: { main: { ...base.upstreams['main'], idleMs: 2_000 } },
      timeouts: { firstByteMs: 500, totalMs: 1_000, connectMs: 500, idleMs: 500 },
    },
    /upstreams\.main\.idleMs is above timeouts\.totalMs/,
  ],
  [
    'a wait longer than all',
    { timeouts: { firstByteMs: 2_000, totalMs: 1_000, connectMs: 500, idleMs: 500 } },
    /timeouts\.firstByteMs is above totalMs/,
  ],
  ['a search without its address', { search: { backend: 'searxng' } }, /search\.searxngUrl is needed/],
  ['a search without its key', { search: { backend: 'tavily' } }, /search\.apiKey is needed/],
  [
    'an issuer whose plan is none',
    {
      signIn: { jwtIssuers: [{ issuer: 'https://id.example', audience: 'a', jwksUrl: 'https://id.example/keys', plan: 'gold' }] },
    },
    /there is no plan 'gold'/,
  ],
  [
    'groups whose plan is none, or gives nothing',
    {
      signIn: {
        providers: {
          acme: { name: 'Acme', issuer: 'https://id.example', clientId: 'c', groups: { plans: { team: 'gold', all: 'free' } } },
        },
      },
    },
    /groups\.plans\.team: there is no plan 'gold'\.\n.*groups\.plans\.all: 'free' is no higher than the default plan 'free'/,
  ],
  ['an empty metrics token', { metrics: { token: '' } }, /metrics\.token: is empty/],
  [
    'a scraper for a listener that is not there',
    { metrics: { allow: ['10.0.0.0/8'] } },
    /metrics\.allow could never take effect/,
  ],
  ['a scraper that is no network', { metrics: { allow: ['prometheus'] } }, /metrics\.allow: 'prometheus' is neither/],
  [
    'domains as no address has them',
    { signIn: { allowedDomains: ['@example.com'], blockedDomains: ['Example.org', '*.spam.example'] } },
    /^signIn\.allowedDomains: '@example\.com' is no domain.*\nsignIn\.blockedDomains: '\*\.spam\.example' is no domain.*\.$/,
  ],
  [
    'a currency that no amount can be written in',
    { plans: { ...base.plans, free: { ...plan, prices: [{ amount: 9, currency: 'US$' }] } } },
    /plans\.free\.prices\.0\.currency: is no currency code such as USD/,
  ],
  [
    'three letters that are no currency',
    { plans: { ...base.plans, free: { ...plan, prices: [{ amount: 9, currency: 'UDS' }] } } },
    /plans\.free\.prices\.0\.currency: is no currency code such as USD/,
  ],
  [
    'a boost that ends when there are no dates any more',
    { boosts: { checkin: { credits: 5, days: 999_999_999 } } },
    /boosts\.checkin\.days: Too big/,
  ],
  ['plugins in the wrong order', { plugins: [...plugins].toReversed() }, /list '[a-z-]+' before it/],
  ['a plugin listed twice', { plugins: [...plugins, plugins[0]] }, /listed twice/],
  ['a plugin that is none', { plugins: ['auth'] }, /plugins\.0/],
]

t.test('accepts the shipped configuration', async (t) => {
  const config = checkConfig(base)
  t.same(Object.keys(config.products), [
    'auto',
    'svc',
    'svc-2.1',
    'svc-2.1-fast',
    'svc-2.1-pro',
    'svc-2.1-rev',
    'svc-2.1-search',
    'svc-img',
  ])
  t.equal(config.limits.chatBodyBytes, 10 * 1024 * 1024)
})

t.test(`refuses each of ${broken.length} invalid configurations with a sentence that names the field`, async (t) => {
  for (const [name, change, sentence] of broken) {
    try {
      checkConfig({ ...base, upstreams: { main }, ...change })
      t.fail(`${name}: it was accepted`)
    } catch (error) {
      t.ok(error instanceof ConfigError, name)
      const { message } = error as Error
      t.match(message, sentence, name)
      t.notOk(message.includes(secret), `${name}: no secret`)
      t.notMatch(message, /\n\s+at |\[object|undefined\b.*undefined/, `${name}: no stack trace`)
      for (const line of message.split('\n')) t.match(line, /[.!]$/, `${name}: a whole sentence: ${line}`)
    }
  }
})

t.test('names a file that cannot be read or exports nothing', async (t) => {
  const folder = createTemporaryFolder(t)
  const file = (name: string, text: string) => {
    writeFileSync(join(folder, name), text)
    return join(folder, name)
  }
  await t.rejects(loadConfig(join(folder, 'none.ts')), { name: 'ConfigError', message: /none\.ts cannot be read/ })
  await t.rejects(loadConfig(file('syntax.ts', 'export default {')), {
    name: 'ConfigError',
    message: /syntax\.ts cannot be read/,
  })
  await t.rejects(loadConfig(file('silent.ts', 'export const config = {}')), {
    name: 'ConfigError',
    message: /must have a default export/,
  })
  await t.rejects(loadConfig(file('wrong.ts', 'export default 7')), { name: 'ConfigError', file: join(folder, 'wrong.ts') })
  for (const [i, [thrown, message]] of [
    [`{ message: 'no such team', token: 'sk-0123' }`, 'no such team'],
    [`{ token: 'sk-0123' }`, 'an object without a message was thrown; throw an Error'],
    ['null', 'null'],
    [`'no such team'`, 'no such team'],
    ['new TypeError()', 'TypeError'],
  ].entries())
    await t.rejects(loadConfig(file(`thrown${i}.ts`, `throw ${thrown}`)), {
      message: `${join(folder, `thrown${i}.ts`)} cannot be read: ${message}`,
    })
  const shipped = pathToFileURL(join(import.meta.dirname, '../../../gateway.config.ts')).href
  const other = await loadConfig(
    file('other.ts', `import base from '${shipped}'\nexport default { ...base, defaultPlan: 'pro' }`),
  )
  t.equal(other.defaultPlan, 'pro')
})

t.test('lets a file anywhere import the shipped configuration by package name and change parts of it', async (t) => {
  const file = join(createTemporaryFolder(t), 'my.config.ts')
  writeFileSync(
    file,
    `import base from 'svc-gateway/gateway.config.js'
     import { defineGateway } from 'svc-gateway'
     export default defineGateway({ ...base, plans: { ...base.plans, free: { ...base.plans['free']!, rpm: 5 } } })`,
  )
  const config = await loadConfig(file)
  t.equal(config.plans['free']?.rpm, 5)
  t.equal(config.plans['pro']?.rpm, checkConfig(base).plans['pro']?.rpm)
  // Objects of another copy of the program would look the same without being the same.
  t.equal(config.plugins[0], plugins[0])
})

/** Output of the command for the shipped configuration with these variables. */
function checked(t: Test, variables: Readonly<Record<string, string>>): string {
  const { stdout } = spawnSync(
    process.execPath,
    [fileURLToPath(new URL('../../../src/operator/main.ts', import.meta.url)), 'check'],
    {
      env: {
        PATH: process.env['PATH'] ?? '',
        GATEWAY_CONFIG: fileURLToPath(new URL('../../../gateway.config.ts', import.meta.url)),
        DATA_DIR: join(createTemporaryFolder(t), 'data'),
        ...compileCacheEnvironment,
        ...variables,
      },
      encoding: 'utf8',
    },
  )
  return stdout
}

t.test('names the variable that an invalid value came from, never the value', async (t) => {
  const told = checked(t, {
    SITE_URL: 'https://gate.example.com/v1',
    MAIL_FROM: 'unknown',
    TRUSTED_PROXIES: '192.0.2.1, proxy.local',
    SMTP_URL: 'http://gate:secret-0123@mail.example.com',
    LIMITS_URL: 'http://:secret-0123@cache.example.com',
  })
  t.match(told, /listen\.siteUrl must be an origin alone, as in https:\/\/gate\.example\.com.* \(it comes from SITE_URL\)\./)
  t.match(told, /mail\.from must be one email address.* \(it comes from MAIL_FROM\)\./)
  t.match(told, /trustedProxies: 'proxy\.local' .* \(it comes from TRUSTED_PROXIES\)\./)
  t.match(told, /mail\.smtpUrl must look like .* \(it comes from SMTP_URL\)\./)
  t.match(told, /limits\.url must look like .* \(it comes from LIMITS_URL\)\./)
  t.notMatch(told, /secret-0123/)
  t.match(checked(t, { WORKERS: 'many' }), /workers: must be 'auto' or a whole number from 1 to 64 \(it comes from WORKERS\)\./)
  t.match(checked(t, { PORT: '70000' }), /listen\.port: .* \(it comes from PORT\)\./)
})

t.test('finds at start what could not be sent, and never shows it', (t) => {
  for (const url of [
    'smtp://u:p#secret-0123@host:587',
    'smtp://u:p/secret-0123@host',
    'smtp://u:p%secret-0123@host',
    'smtp://host:abc',
  ])
    t.match(
      checked(t, { SMTP_URL: url }),
      /mail\.smtpUrl must look like .* are written as %23 .* \(it comes from SMTP_URL\)\./,
      url,
    )
  for (const url of ['smtp://u:p%23a@host:587', 'smtps://host/', 'smtp://[::1]:25', 'smtp://u%40x.org:p@host:587?name=x'])
    t.match(checked(t, { SMTP_URL: url }), /is fine\./, url)
  const told = checked(t, { UPSTREAM_BASE_URL: 'https://user:p%ZZ@host/v1' })
  t.match(told, /baseUrl: write a % in its user or password as %25/)
  const copied = checked(t, { UPSTREAM_BASE_URL: 'https://host/v1', UPSTREAM_API_KEY: 'secret-0123…' })
  t.match(copied, /apiKey has a character that a header cannot contain.* \(it comes from UPSTREAM_API_KEY\)\./)
  t.notMatch(told + copied, /p%ZZ|secret-0123/)
  t.end()
})

t.test('names every header, key and address that a request could not contain', (t) => {
  const { main } = base.upstreams
  for (const [change, told] of [
    [{ search: { apiKey: 'key-…' } }, /search\.apiKey has a character that a header cannot contain/],
    [{ metrics: { token: '令牌' } }, /metrics\.token has a character that a header cannot contain/],
    [
      { upstreams: { main: { ...main, headers: { 'Content-Length': '1' } } } },
      /main\.headers: "Content-Length" belongs to each request/,
    ],
    [{ upstreams: { main: { ...main, baseUrl: 'https://host/v1#a' } } }, /main\.baseUrl: must not have a query or a fragment/],
  ] as const)
    t.throws(() => checkConfig({ ...base, ...change }), told)
  t.end()
})

t.test('normalizes the public origins as browsers do', (t) => {
  const { listen } = checkConfig({
    ...base,
    listen: { ...base.listen, siteUrl: 'http://Gate.Example.com:80/', baseUrl: 'https://API.example.com:443' },
  })
  t.equal(listen.siteUrl, 'http://gate.example.com', 'a page sends no more than this as its origin')
  t.equal(listen.baseUrl, 'https://api.example.com')
  t.end()
})

t.test('refuses settings of a single node with a shared store, and an ignored STORE_URL', async (t) => {
  const shared = { STORE_URL: 'postgres://svc:secret-0123@db1,db2/svc', SMTP_URL: 'smtp://mail.example.org' }
  t.match(checked(t, shared), /is fine\./)
  t.match(checked(t, { STORE_URL: shared.STORE_URL }), /mail\.smtpUrl is needed with store\.url/)
  t.match(checked(t, { ...shared, WORKERS: '3' }), /workers: 3 worker threads .*start more nodes/)
  t.match(checked(t, { SECRET_KEY: 'a2V5' }), /store\.secretKey could never take effect/)
  const wrong = checked(t, { ...shared, STORE_URL: 'mysql://svc:secret-0123@db/svc' })
  t.match(wrong, /store\.url must look like postgres:.* \(it comes from STORE_URL\)\./)
  t.notMatch(wrong, /secret-0123/)
  process.env['STORE_URL'] = shared.STORE_URL
  t.teardown(() => delete process.env['STORE_URL'])
  const file = join(createTemporaryFolder(t), 'gateway.config.mjs')
  writeFileSync(
    file,
    `import config from 'svc-gateway/gateway.config.js'
    export default { ...config, store: { dataDir: './data' } }`,
  )
  await t.rejects(loadConfig(file), { name: 'ConfigError', message: /^STORE_URL is set, but this configuration/ })
})

t.test('treats a blank variable as unset, and a blank secret as an error', async (t) => {
  const set = (value: string | undefined) => {
    if (value === undefined) delete process.env['SVC_TEST_VALUE']
    else process.env['SVC_TEST_VALUE'] = value
  }
  t.teardown(() => set(undefined))
  for (const value of [undefined, '', '  ']) {
    set(value)
    t.equal(env.text('SVC_TEST_VALUE', 'fallback'), 'fallback')
    t.equal(env.integer('SVC_TEST_VALUE', 7), 7)
    t.same(env.list('SVC_TEST_VALUE'), [])
  }
  set(undefined)
  t.equal(env.secret('SVC_TEST_VALUE'), null)
  set(' ')
  t.throws(() => env.secret('SVC_TEST_VALUE'), { name: 'ConfigError', message: /SVC_TEST_VALUE is set but empty/ })
  set(' a , b,,')
  t.same(env.list('SVC_TEST_VALUE'), ['a', 'b'])
  for (const value of ['-1', '1.5', '0x10', 'ten', '1e3']) {
    set(value)
    t.throws(() => env.integer('SVC_TEST_VALUE', 7), { name: 'ConfigError', message: /must be a whole number/ })
  }
})

t.test('reads a secret from a file, each time that it is asked for', async (t) => {
  const file = join(createTemporaryFolder(t), 'secret')
  t.teardown(() => {
    delete process.env['SVC_TEST_VALUE']
    delete process.env['SVC_TEST_VALUE_FILE']
  })
  process.env['SVC_TEST_VALUE_FILE'] = file
  const refuse = (message: RegExp): void => {
    t.throws(() => env.secret('SVC_TEST_VALUE'), { name: 'ConfigError', message })
  }
  refuse(/SVC_TEST_VALUE_FILE: .* cannot be read \(ENOENT\)/)
  writeFileSync(file, `${secret}\n`)
  t.equal(env.secret('SVC_TEST_VALUE'), secret)
  t.same(env.findVariables(secret), ['SVC_TEST_VALUE_FILE'])
  writeFileSync(file, 'another\r\n')
  t.equal(env.secret('SVC_TEST_VALUE'), 'another')
  writeFileSync(file, ' \n')
  refuse(/SVC_TEST_VALUE_FILE: .* is empty/)
  writeFileSync(file, 'one\ntwo\n')
  refuse(/SVC_TEST_VALUE_FILE: .* has more than one line/)
  process.env['SVC_TEST_VALUE'] = secret
  refuse(/^SVC_TEST_VALUE and SVC_TEST_VALUE_FILE are both set/)
})

t.test('parses networks as written', async (t) => {
  const list = parseNetworks(['10.0.0.0/8', '192.0.2.1', 'fd00::/8', '::1'])
  t.ok(
    list.check('10.1.2.3', 'ipv4') &&
      list.check('192.0.2.1', 'ipv4') &&
      list.check('fd00::7', 'ipv6') &&
      list.check('::1', 'ipv6'),
  )
  t.notOk(list.check('11.0.0.1', 'ipv4') || list.check('192.0.2.2', 'ipv4') || list.check('2001:db8::1', 'ipv6'))
})

t.test('refuses proxies that cover half of the Internet, in any pieces', async (t) => {
  const listening = (trustedProxies: string[]) => checkConfig({ ...base, listen: { ...base.listen, trustedProxies } })
  for (const everybody of [
    ['0.0.0.0/0'],
    ['::/0'],
    ['0.0.0.0/1'],
    ['0.0.0.0/2', '64.0.0.0/2', '128.0.0.0/2'],
    ['::ffff:0:0/96'],
    ['2000::/3'],
    ['10.0.0.0/8', '0.0.0.0/0'],
  ])
    t.throws(() => listening(everybody), { message: /listen\.trustedProxies covers the whole Internet/ }, everybody.join())
  for (const ours of [
    ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '127.0.0.1', '::1', 'fc00::/7'],
    ['240.0.0.0/4'],
    ['2400:cb00::/32'],
  ])
    t.doesNotThrow(() => listening(ours), ours.join())
})
