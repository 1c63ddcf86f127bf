/**
 * The shipped configuration. It is checked at start; `src/config/schema/config-schema.ts` describes every field. To change parts of it, leave this
 * file alone: import it in a file of your own and name that file in GATEWAY_CONFIG.
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

// Without an upstream the built-in demo upstream answers, so that the first chat works.
const upstreamUrl = env.text('UPSTREAM_BASE_URL')
const demo = upstreamUrl === null

const light = [{ upstream: 'main', model: env.text('UPSTREAM_MODEL_LIGHT', demo ? 'demo-light' : null) }]
const flagship = [{ upstream: 'main', model: env.text('UPSTREAM_MODEL_FLAGSHIP', demo ? 'demo-flagship' : null) }]
const search = [{ upstream: 'main', model: env.text('UPSTREAM_MODEL_SEARCH', demo ? 'demo-search' : null) }]
const image = [{ upstream: 'main', model: env.text('UPSTREAM_MODEL_IMAGE', demo ? 'demo-image' : null) }]

const backupFolder = env.text('BACKUP_TO')
const backupBucket = env.text('BACKUP_BUCKET')

const notifyEmail = env.text('NOTIFY_EMAIL')

const pro = { day: 400_000, week: 1_600_000, month: 4_500_000 }
const times = (factor: number) => ({ day: pro.day * factor, week: pro.week * factor, month: pro.month * factor })

export default defineGateway({
  brand: { slug: 'svc', name: 'svc' },
  site: { contactUrl: env.text('CONTACT_URL') },

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
  backup:
    backupFolder === null && backupBucket === null
      ? null
      : {
          every: env.text('BACKUP_EVERY', '1d'),
          keep: {
            days: env.integer('BACKUP_KEEP_DAYS', 7),
            weeks: env.integer('BACKUP_KEEP_WEEKS', 4),
            months: env.integer('BACKUP_KEEP_MONTHS', 6),
          },
          to:
            backupBucket === null
              ? (backupFolder ?? '')
              : {
                  bucket: backupBucket,
                  endpoint: env.text('BACKUP_ENDPOINT', ''),
                  region: env.text('BACKUP_REGION', 'us-east-1'),
                  prefix: env.text('BACKUP_PREFIX', ''),
                  accessKeyId: env.text('BACKUP_ACCESS_KEY_ID', ''),
                  secretAccessKey: env.secret('BACKUP_SECRET_ACCESS_KEY') ?? '',
                  addressing: env.text('BACKUP_ADDRESSING', 'path'),
                },
          passphraseFile: env.text('BACKUP_PASSPHRASE_FILE'),
        },
  timeZone: 'UTC',
  log: { level: env.text('LOG_LEVEL', 'info') },
  limits: { url: env.secret('LIMITS_URL') },
  metrics: { port: env.integer('METRICS_PORT', null), token: env.secret('METRICS_TOKEN') },
  mail: { smtpUrl: env.secret('SMTP_URL'), from: env.text('MAIL_FROM', 'svc <no-reply@localhost>') },
  notifications: { people: notifyEmail === null ? {} : { operator: { kind: 'mail', to: notifyEmail } } },

  upstreams: {
    main: { baseUrl: upstreamUrl ?? 'demo', apiKey: env.secret('UPSTREAM_API_KEY') },
  },

  // The models that members request. A product's `tier` decides its price (`prices`) and its pool (`plans`): `light` uses the pool `fast`,
  // `flagship` the pool `premium`. With several targets, requests are shared by weight, and a failed target falls back to the next.
  products: {
    auto: {
      name: 'Auto',
      description: { en: 'Quick everyday questions at the lowest price.', zh: '日常提问，响应快，价格最低。' },
      tier: 'light',
      contextLength: 128_000,
      maxOutputTokens: 16_384,
      defaultOutputTokens: 4_096,
      targets: light,
      // Products that serve in its place, at its price: [{ when: 'images', use: 'svc' }, { when: 'long', longerThanTokens: 60_000, use:
      // 'svc' }].
      rules: [],
    },
    svc: {
      name: 'Svc',
      description: { en: 'The newest Premium model; it also reads pictures.', zh: '最新的高级模型，也能看图。' },
      tier: 'flagship',
      capabilities: ['chat', 'tools', 'vision'],
      contextLength: 128_000,
      maxOutputTokens: 32_768,
      defaultOutputTokens: 8_192,
      targets: flagship,
    },
    'svc-2.1': {
      name: 'Svc 2.1',
      description: {
        en: 'Svc pinned to version 2.1, for results that must not change.',
        zh: '固定为 2.1 版，适合要求结果稳定的场合。',
      },
      tier: 'flagship',
      capabilities: ['chat', 'tools', 'vision'],
      contextLength: 128_000,
      maxOutputTokens: 32_768,
      defaultOutputTokens: 8_192,
      targets: flagship,
    },
    'svc-2.1-fast': {
      name: 'Svc 2.1 Fast',
      description: { en: 'Version 2.1 for short tasks and many requests.', zh: '2.1 版的快速型，适合短任务和大量请求。' },
      tier: 'light',
      contextLength: 128_000,
      maxOutputTokens: 16_384,
      defaultOutputTokens: 4_096,
      targets: light,
    },
    'svc-2.1-pro': {
      name: 'Svc 2.1 Pro',
      description: { en: 'Version 2.1 for long and difficult work.', zh: '2.1 版的专业型，适合篇幅长、难度高的任务。' },
      tier: 'flagship',
      capabilities: ['chat', 'tools', 'vision'],
      contextLength: 128_000,
      maxOutputTokens: 32_768,
      defaultOutputTokens: 8_192,
      targets: flagship,
    },
    'svc-2.1-rev': {
      name: 'Svc 2.1 Rev',
      description: { en: 'Version 2.1 for reviewing code and texts.', zh: '2.1 版的审阅型，适合检查代码和文章。' },
      tier: 'flagship',
      capabilities: ['chat', 'tools', 'vision'],
      contextLength: 128_000,
      maxOutputTokens: 32_768,
      defaultOutputTokens: 8_192,
      targets: flagship,
    },
    'svc-2.1-search': {
      name: 'Svc 2.1 Search',
      description: { en: 'Searches the web and answers with its sources.', zh: '搜索网络，并附来源作答。' },
      tier: 'flagship',
      capabilities: ['search'],
      contextLength: 32_768,
      maxOutputTokens: 8_192,
      targets: search,
    },
    'svc-img': {
      name: 'Svc Image',
      description: { en: 'Draws a picture from a description.', zh: '根据描述生成图片。' },
      tier: 'flagship',
      capabilities: ['image'],
      contextLength: 32_768,
      maxOutputTokens: 8_192,
      // An image is thousands of tokens; a smaller cap would truncate it.
      defaultOutputTokens: 8_192,
      flatCredits: 2_000,
      targets: image,
    },
  },

  // Names of models that agents request by themselves, for side tasks or where nothing else is configured.
  apiFormats: {
    responses: { aliases: { 'gpt-*-luna': 'svc-2.1-fast', 'gpt-*-mini': 'svc-2.1-fast', 'gpt-*-nano': 'svc-2.1-fast' } },
    messages: { aliases: { 'claude-*haiku*': 'svc-2.1-fast', 'claude-*': 'svc-2.1' } },
    gemini: { aliases: { 'gemini-*flash*': 'svc-2.1-fast', 'gemini-*': 'svc-2.1' } },
  },

  // Dollars per million tokens. A changed discount does not affect turns that have been settled. `cachedInput` beside `input` is the price of
  // prompt tokens that the upstream reports as read from its cache.
  prices: {
    light: { input: 0.14, output: 0.28, discountPercent: 70 },
    flagship: { input: 0.435, output: 0.87, discountPercent: 75 },
  },

  // Credits per pool and period. A credit is a millionth of a dollar. The pool `fast` pays for `light` products, `premium` for `flagship`
  // products.
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

  // Who collects the money for plans and packs (docs/payments.md). PAYMENTS=demo lets you try a purchase on this machine.
  payments: { demo: env.text('PAYMENTS') ?? false },

  // Hooks run in list order. `plugins/README.md` describes each plugin and how to write your own.
  plugins: [
    requestId, // adopt the client's request id
    auth, // authenticate the account
    rateLimit, // limit requests per minute and concurrent turns
    modelAllowlist, // check the product and the request's fields
    quotaReserve, // hold the maximum cost, settle the actual cost
    upstreamMapping, // choose the targets and build the body
    errorEnvelope, // convert upstream failures to error codes
    refund, // return the hold of a failed turn
  ],
})
