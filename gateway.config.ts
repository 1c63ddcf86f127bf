/**
 * The way of a request, top to bottom. Everything here is checked at start; every field is described in `src/config/shape.ts`.
 * To change parts of it, leave this file alone: import it from one of your own and name that in GATEWAY_CONFIG.
 */
import { defineGateway, env } from './src/index.ts'
import { auth } from './plugins/auth.ts'
import { errorEnvelope } from './plugins/error-envelope.ts'
import { modelAllowlist } from './plugins/model-allowlist.ts'
import { quotaReserve } from './plugins/quota-reserve.ts'
import { rateLimit } from './plugins/rate-limit.ts'
import { refund } from './plugins/refund.ts'
import { requestId } from './plugins/request-id.ts'
import { upstreamMapping } from './plugins/upstream-mapping.ts'

// Until an upstream is named, a built-in demonstration answers, so that the first chat works.
const upstreamUrl = env.text('UPSTREAM_BASE_URL')
const demo = upstreamUrl === null

const light = [{ upstream: 'main', model: env.text('UPSTREAM_MODEL_LIGHT', demo ? 'demo-light' : null) }]
const flagship = [{ upstream: 'main', model: env.text('UPSTREAM_MODEL_FLAGSHIP', demo ? 'demo-flagship' : null) }]
const search = [{ upstream: 'main', model: env.text('UPSTREAM_MODEL_SEARCH', demo ? 'demo-search' : null) }]
const image = [{ upstream: 'main', model: env.text('UPSTREAM_MODEL_IMAGE', demo ? 'demo-image' : null) }]

const pro = { day: 400_000, week: 1_600_000, month: 4_500_000 }
const times = (factor: number) => ({ day: pro.day * factor, week: pro.week * factor, month: pro.month * factor })

export default defineGateway({
  brand: { slug: 'svc', name: 'svc' },

  listen: {
    host: env.text('HOST', '127.0.0.1'),
    port: env.integer('PORT', 8787),
    tls: null,
    siteUrl: env.text('SITE_URL'),
    baseUrl: env.text('BASE_URL'),
    trustedProxies: env.list('TRUSTED_PROXIES'),
  },

  workers: env.text('WORKERS', 'auto'),
  store: {
    dataDir: env.text('DATA_DIR', './data'),
    url: env.secret('STORE_URL'),
    secretKey: env.secret('SECRET_KEY'),
    keepTurnsForDays: 90,
  },
  timeZone: 'UTC',
  log: { level: env.text('LOG_LEVEL', 'info') },
  limits: { url: env.secret('LIMITS_URL') },
  metrics: { port: env.integer('METRICS_PORT', null), token: env.secret('METRICS_TOKEN') },
  mail: { smtpUrl: env.secret('SMTP_URL'), from: env.text('MAIL_FROM', 'svc <no-reply@localhost>') },

  upstreams: {
    main: { baseUrl: upstreamUrl ?? 'demo', apiKey: env.secret('UPSTREAM_API_KEY') },
  },

  // What members buy. A product may have several targets: shares go by weight, and a failed one falls back to the next.
  products: {
    auto: {
      name: 'Auto',
      tier: 'light',
      contextLength: 128_000,
      maxOutputTokens: 16_384,
      defaultOutputTokens: 4_096,
      targets: light,
      // Who serves in its place, at its price: [{ when: 'images', use: 'svc' }, { when: 'long', longerThanTokens: 60_000, use: 'svc' }].
      rules: [],
    },
    svc: {
      name: 'Svc',
      tier: 'flagship',
      capabilities: ['chat', 'tools', 'vision'],
      contextLength: 128_000,
      maxOutputTokens: 32_768,
      defaultOutputTokens: 8_192,
      targets: flagship,
    },
    'svc-2.1': {
      name: 'Svc 2.1',
      tier: 'flagship',
      capabilities: ['chat', 'tools', 'vision'],
      contextLength: 128_000,
      maxOutputTokens: 32_768,
      defaultOutputTokens: 8_192,
      targets: flagship,
    },
    'svc-2.1-fast': {
      name: 'Svc 2.1 Fast',
      tier: 'light',
      contextLength: 128_000,
      maxOutputTokens: 16_384,
      defaultOutputTokens: 4_096,
      targets: light,
    },
    'svc-2.1-pro': {
      name: 'Svc 2.1 Pro',
      tier: 'flagship',
      capabilities: ['chat', 'tools', 'vision'],
      contextLength: 128_000,
      maxOutputTokens: 32_768,
      defaultOutputTokens: 8_192,
      targets: flagship,
    },
    'svc-2.1-rev': {
      name: 'Svc 2.1 Rev',
      tier: 'flagship',
      capabilities: ['chat', 'tools', 'vision'],
      contextLength: 128_000,
      maxOutputTokens: 32_768,
      defaultOutputTokens: 8_192,
      targets: flagship,
    },
    'svc-2.1-search': {
      name: 'Svc 2.1 Search',
      tier: 'flagship',
      capabilities: ['search'],
      contextLength: 32_768,
      maxOutputTokens: 8_192,
      targets: search,
    },
    'svc-img': {
      name: 'Svc Image',
      tier: 'flagship',
      capabilities: ['image'],
      contextLength: 32_768,
      maxOutputTokens: 8_192,
      // A picture is thousands of tokens; a smaller cap would cut it off.
      defaultOutputTokens: 8_192,
      flatCredits: 2_000,
      targets: image,
    },
  },

  // Dollars a million tokens. Changing a discount here rewrites no turn that has been settled.
  prices: {
    light: { input: 0.14, output: 0.28, discountPercent: 70 },
    flagship: { input: 0.435, output: 0.87, discountPercent: 75 },
  },

  // Pools are credits: a credit is a millionth of a dollar.
  plans: {
    free: {
      name: 'Free',
      prices: [{ amount: 0 }],
      rpm: 10,
      concurrency: 2,
      pools: { fast: { day: 20_000, week: 80_000, month: 200_000 }, premium: { day: 5_000, week: 20_000, month: 50_000 } },
    },
    pro: { name: 'Pro', prices: [{ amount: 9, multiplier: 1 }], rpm: 60, concurrency: 8, pools: { fast: pro, premium: pro } },
    max: {
      name: 'Max',
      prices: [{ amount: 19, multiplier: 5 }],
      rpm: 120,
      concurrency: 16,
      pools: { fast: times(5), premium: times(5) },
    },
    'max-20x': {
      name: 'Max',
      prices: [{ amount: 39, multiplier: 20 }],
      rpm: 240,
      concurrency: 32,
      pools: { fast: times(20), premium: times(20) },
    },
  },
  defaultPlan: 'free',

  // List order is time order. `plugins/README.md` has the table, and how to write your own.
  plugins: [
    requestId, // adopt the caller's id, or keep the one it was born with
    auth, // whose request is it
    rateLimit, // how fast may they
    modelAllowlist, // a product of theirs
    quotaReserve, // hold the most it can cost; settle what it did cost
    upstreamMapping, // product → target, secret, body
    errorEnvelope, // what the upstream said → what the caller is told
    refund, // failed → the hold is given back
  ],
})
