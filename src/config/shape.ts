/** The shape of `gateway.config.ts`: every field with its default and what it does. An unknown key is refused. */
import { z } from 'zod'
import type { AnyPlugin } from '../exchange/plugin.ts'
import { allowanceNames } from '../membership/allowances.ts'
import { signUpModes } from '../membership/sign-up.ts'

const credits = z.int().min(0)
const poolLimits = z.strictObject({ day: credits, week: credits, month: credits })
const milliseconds = z.int().min(1).max(86_400_000)
const url = z.url({ protocol: /^https?$/ }).transform((text) => text.replace(/\/+$/, ''))
/** To the last character: of an address that is asked as it is, a slash at its end is a part. */
const asWritten = z.url({ protocol: /^https?$/ })
/** As browsers write it, in small letters and without the usual port, because it is compared with theirs. What is more than one stays, to be refused. */
const origin = url.transform((text) => (new URL(text).href === `${new URL(text).origin}/` ? new URL(text).origin : text))
const secret = z.string().min(1, 'is empty')
const host = z.string().min(1)

const upstream = z.strictObject({
  /** Where its OpenAI-compatible API begins, as in `https://api.example.com/v1`; `'demo'` is the built-in demonstration upstream. */
  baseUrl: z.union([z.literal('demo'), url]),
  apiKey: secret.nullable().default(null),
  /** More headers for each request to it. */
  headers: z.record(z.string(), z.string()).default({}),
  /** The field it reads the answer's cap from. */
  maxTokensField: z.enum(['max_tokens', 'max_completion_tokens']).default('max_tokens'),
  /** Some upstreams refuse the role `developer`; it is renamed to this for them. */
  developerRole: z.enum(['developer', 'system']).default('system'),
  /** Lets `service_tier` and `store` through. They change what the operator pays. */
  passCostFields: z.boolean().default(false),
  /** Which fields of a request it may be sent: OpenAI's own, or besides them the usual ones of servers that speak the same API. */
  kind: z.enum(['openai', 'compatible']).default('compatible'),
  /** More fields that may pass to it (`exchange/fields.ts` has the usual ones). Danger: some of them choose other models, or buy extras. */
  passFields: z.array(z.string().min(1)).default([]),
  /**
   * Whether its answers are asked for as streams also where a member wants the whole answer: what is made is then seen and counted as it is
   * made, and given up at once when the member leaves. `'auto'`: it is asked, and what it is seen to do decides what leaving costs. `true`:
   * it is known to stream. `false`: it is never asked, because it cannot or because streams cost more; members who want one get it in one
   * piece, and those who leave are charged for the whole.
   */
  streams: z.union([z.boolean(), z.literal('auto')]).default('auto'),
  /** More fields of its answers that members may see beside those that are known (`src/upstream/shown.ts`). */
  answerFields: z.array(z.string().min(1)).default([]),
  /** Plain HTTP to a public address sends keys and prompts in the clear. */
  allowPlaintext: z.boolean().default(false),
  /** Calls to it at once at most, each on a connection of its own over HTTP/1.1. */
  connections: z.int().min(1).max(65_535).default(20_000),
  /** Calls that wait where all places are taken, and how long; then they are refused as busy, and refunded. */
  queue: z.int().min(0).default(1_000),
  queueMs: milliseconds.default(5_000),
})

const target = z.strictObject({ upstream: z.string(), model: z.string().min(1).nullable(), weight: z.number().min(0).default(1) })

const product = z.strictObject({
  name: z.string().min(1),
  tier: z.enum(['light', 'flagship']),
  capabilities: z.array(z.enum(['chat', 'tools', 'vision', 'search', 'image'])).default(['chat', 'tools']),
  /** Tokens of prompt and answer together. */
  contextLength: z.int().min(1024),
  maxOutputTokens: z.int().min(16),
  /** Reserved for an answer when the request names no cap. */
  defaultOutputTokens: z.int().min(16).default(2048),
  /** A turn whose upstream reports no tokens at all costs this many credits (images). */
  flatCredits: credits.nullable().default(null),
  /** ISO date from which it is gone. */
  shutdownDate: z.iso.date().nullable().default(null),
  targets: z.array(target).min(1),
  /** For `auto`: the first rule that fits decides whose targets serve the turn; none fits, its own. */
  rules: z
    .array(z.strictObject({ when: z.enum(['images', 'long']), longerThanTokens: z.int().min(1).optional(), use: z.string() }))
    .default([]),
})

const plan = z.strictObject({
  name: z.string().min(1),
  prices: z
    .array(
      z.strictObject({
        amount: z.number().min(0),
        /** What amounts are written with: a currency's code (ISO 4217). */
        currency: z
          .string()
          .regex(/^[A-Za-z]{3}$/, 'is no currency, which is three letters such as USD')
          .default('USD'),
        interval: z.enum(['month', 'year']).default('month'),
        multiplier: z.number().positive().nullable().default(null),
      }),
    )
    .min(1),
  /** Requests a minute, over all credentials of an account. */
  rpm: z.int().min(1),
  /** Turns running at once. */
  concurrency: z.int().min(1),
  pools: z.strictObject({ fast: poolLimits, premium: poolLimits }),
  models: z.union([z.literal('all'), z.array(z.string())]).default('all'),
})

/** Above it a turn of a million tokens might cost more than can be counted exactly. */
const mostDollars = 10_000
/** Turns keep their price in nano-dollars a token: what is finer would be charged as something else than what members are shown. */
const dollars = z
  .number()
  .min(0)
  .max(mostDollars)
  .refine(isWholeInThousandths, 'is finer than a thousandth of a dollar a million tokens; round it to three decimal places')
const tier = z.strictObject({ input: dollars, output: dollars, discountPercent: z.int().min(0).max(100) })

/** A hundred years at most: much later there are no dates, and a pack's end could not be told. */
const boost = z.strictObject({ pool: z.enum(['fast', 'premium']).default('fast'), credits, days: z.int().min(1).max(36_500) })

export const shape = z.strictObject({
  brand: z
    .strictObject({
      slug: z.string().regex(/^[a-z][a-z0-9]{1,15}$/),
      name: z.string().min(1),
      /** Where members get the command line from: a tarball of this package (`npm pack`) that npm can install, named on the pages. */
      cliPackageUrl: url.nullable().default(null),
    })
    .prefault({ slug: 'svc', name: 'svc' }),
  listen: z.strictObject({
    host,
    port: z.int().min(0).max(65_535),
    /** A certificate and its key (files) bring HTTPS with HTTP/2; null is plain HTTP/1.1, for behind a proxy of your own. */
    tls: z
      .strictObject({ cert: z.string().min(1), key: z.string().min(1) })
      .nullable()
      .default(null),
    /** The origin members see; null: the address the server listens on. Never taken from a request. */
    siteUrl: origin.nullable().default(null),
    /** The origin of the API; null: the same. */
    baseUrl: origin.nullable().default(null),
    /** Addresses and CIDRs whose X-Forwarded-For is believed. */
    trustedProxies: z.array(z.string()).default([]),
  }),
  /**
   * Threads that serve, around one ledger; `'auto'` goes by the cores: one on two or fewer. Limits, quotas and turns at once are exact over
   * all of them. An upstream's places and its line, and connections, are shared out among them.
   */
  workers: z
    // Any text as far as types go, so that one from the environment needs no cast.
    .union([z.int(), z.string()])
    .refine(
      (value) => value === 'auto' || /^(?:[1-9]|[1-5]\d|6[0-4])$/.test(String(value)),
      "must be 'auto' or a whole number from 1 to 64",
    )
    .transform((value): number | 'auto' => (value === 'auto' ? value : Number(value)))
    .default('auto'),
  store: z.strictObject({
    /** A directory that is ours alone: database, images, outgoing mail; with `url`, what this node may lose. */
    dataDir: z.string().min(1),
    /**
     * A PostgreSQL database that any number of nodes share: `postgres://user:password@host,other-host/database`. The host that takes writes is
     * looked for among those named. Null: one SQLite file in `dataDir`, and one server.
     */
    url: secret.nullable().default(null),
    /** With `url`: the installation's secret, 32 bytes in base64, where it is to be kept out of the database; every node has the same. */
    secretKey: secret.nullable().default(null),
    /** Ended turns are kept in the log this long. Their ledger entries stay for ever. */
    keepTurnsForDays: z.int().min(1).default(90),
  }),
  /** Calendar in which days, weeks and months begin. */
  timeZone: z.string().default('UTC').refine(isTimeZone, 'is not a time zone; use one such as UTC or Asia/Shanghai'),
  upstreams: z.record(z.string().regex(/^[a-z][a-z0-9-]{0,31}$/), upstream),
  products: z.record(z.string().min(1), product),
  /** Dollars a million tokens, and the discount on them, of each tier. */
  prices: z.strictObject({
    light: tier,
    flagship: tier,
  }),
  /** Each knows its id. */
  plans: z.record(z.string().regex(/^[a-z][a-z0-9-]{0,31}$/), plan).transform(named),
  /** The plan of a new account. */
  defaultPlan: z.string().default('free'),
  boosts: z
    .strictObject({
      checkin: boost.prefault({ credits: 5_000, days: 7 }),
      invite: boost.extend({ perMonth: z.int().min(0) }).prefault({ credits: 50_000, days: 30, perMonth: 10 }),
      rush: boost.prefault({ credits: 20_000, days: 3 }),
    })
    .prefault({}),
  limits: z
    .strictObject({
      /**
       * A Valkey or Redis server where requests a minute are counted, so that they are exact over several nodes: `valkey://`, `redis://`, or
       * encrypted `valkeys://`, `rediss://`. Null: each node counts its own. Where it is lost, each node allows its share.
       */
      url: secret.nullable().default(null),
      /** Requests a minute of one address (IPv6: one /64), before anybody is known. */
      addressRpm: z.int().min(1).default(300),
      chatBodyBytes: z
        .int()
        .min(1024)
        .default(10 * 1024 * 1024),
      otherBodyBytes: z
        .int()
        .min(1024)
        .default(256 * 1024),
      mcpBodyBytes: z
        .int()
        .min(1024)
        .default(4 * 1024 * 1024),
      /** An upstream's whole answer at most. */
      answerBytes: z
        .int()
        .min(1024)
        .default(64 * 1024 * 1024),
      keysPerAccount: z.int().min(1).default(20),
      /** How often members and strangers may try what could be guessed or flooded; unnamed ones keep their defaults (`membership/allowances.ts`). */
      attempts: z
        .partialRecord(z.enum(allowanceNames), z.strictObject({ times: z.int().min(1), withinMs: milliseconds }))
        .default({}),
      /** Tokens assumed for one image in a prompt. */
      imageTokens: z.int().min(0).default(1_100),
      /** Live connections at most; more are refused. */
      connections: z.int().min(1).default(20_000),
    })
    .prefault({}),
  timeouts: z
    .strictObject({
      connectMs: milliseconds.default(10_000),
      firstByteMs: milliseconds.default(120_000),
      /** Between two events of a stream; comments do not count. */
      idleMs: milliseconds.default(120_000),
      totalMs: milliseconds.default(900_000),
      /** A client that takes nothing for so long has left. */
      slowReaderMs: milliseconds.default(60_000),
      /** Silence after which a stream is opened with a comment, and the time between comments. */
      heartbeatAfterMs: milliseconds.default(10_000),
      heartbeatEveryMs: milliseconds.default(15_000),
      /** On SIGTERM: how long running turns may go on. */
      drainMs: milliseconds.default(30_000),
      /**
       * Of that, how long at most new connections are still taken, so that clients and balancers learn of the end before it comes. Half of
       * it without a word from anybody is enough; a balancer that asks less often needs more.
       */
      noticeMs: milliseconds.default(2_000),
    })
    .prefault({}),
  mail: z
    .strictObject({ smtpUrl: secret.nullable().default(null), from: z.string().default('svc-gateway <no-reply@localhost>') })
    .prefault({}),
  signIn: z
    .strictObject({
      /** OpenID Connect providers, by the name in their address. */
      providers: z
        .record(
          z.string().regex(/^[a-z][a-z0-9-]{0,31}$/),
          z.strictObject({
            name: z.string().min(1),
            issuer: url,
            clientId: z.string().min(1),
            clientSecret: secret.nullable().default(null),
            scopes: z.array(z.string()).default(['openid', 'email', 'profile']),
          }),
        )
        .default({}),
      /** Issuers whose JWTs the API accepts as Bearer, for an identity provider of your own. `plan` is given to accounts made so. */
      jwtIssuers: z
        .array(z.strictObject({ issuer: url, audience: z.string().min(1), jwksUrl: asWritten, plan: z.string() }))
        .default([]),
      /** Mail addresses: whether `a+b@x` and `a@x` are one person, and domains that may not sign up. */
      mergeAliases: z.boolean().default(true),
      /** Who may make an account by themselves: anybody, who has a member's invitation, or nobody. Those who have one always get in. */
      signUp: z.enum(signUpModes).default('open'),
      /** Only addresses of these domains may sign up; empty for any. */
      allowedDomains: z.array(z.string()).default([]),
      blockedDomains: z.array(z.string()).default([]),
      blockDisposable: z.boolean().default(true),
    })
    .prefault({}),
  /** Programs that sign in to the tool server for a member (OAuth). */
  connect: z
    .strictObject({
      /** Schemes of desktop programs to which an answer may be sent, besides domains turned round as in `com.example.app:`. */
      appSchemes: z
        .array(z.string().regex(/^(?!(?:https?|javascript|data|file|blob|about|vbscript)$)[a-z][a-z0-9+.-]*$/))
        .default([
          'cursor',
          'vscode',
          'vscode-insiders',
          'vscodium',
          'windsurf',
          'zed',
          'claude',
          'goose',
          'jetbrains',
          'raycast',
        ]),
    })
    .prefault({}),
  search: z
    .strictObject({
      backend: z.enum(['upstream', 'searxng', 'tavily', 'brave']).default('upstream'),
      /** SearXNG's address; it needs `formats: [html, json]`. */
      searxngUrl: url.nullable().default(null),
      apiKey: secret.nullable().default(null),
      /** The address of the backend's API, where it is not the vendor's own. */
      endpoint: url.nullable().default(null),
      /** Asked of a search engine; a model that searches by itself decides alone. */
      maxResults: z.int().min(1).max(20).default(10),
      /** Within which a search engine must have answered. */
      timeoutMs: milliseconds.default(15_000),
      /** Origins of web pages that may call the tool server, besides our own. */
      allowedOrigins: z.array(url).default([]),
    })
    .prefault({}),
  images: z
    .strictObject({
      style: z.enum(['chat', 'generations']).default('chat'),
      maxBytes: z
        .int()
        .min(1024)
        .default(20 * 1024 * 1024),
      linkDays: z.int().min(1).default(7),
      keepForDays: z.int().min(1).default(30),
      keepBytes: z
        .int()
        .min(1024 * 1024)
        .default(10 * 1024 ** 3),
    })
    .prefault({}),
  metrics: z
    .strictObject({
      /** A listener of its own for `/metrics`; null: there is none. 0 is any free port. */
      port: z.int().min(0).max(65_535).nullable().default(null),
      /** Where that listener is reached; another than loopback needs `allow`. */
      host: host.default('127.0.0.1'),
      /** Networks that may read there besides loopback, by the address that connects: no header is believed. */
      allow: z.array(z.string()).default([]),
      /** With it as Bearer `/metrics` may be read from anywhere, also on the public listener, which has none without. */
      token: secret.nullable().default(null),
    })
    .prefault({}),
  /** Whether an envelope names the upstream's host in `debug`. */
  exposeUpstreamHost: z.boolean().default(true),
  /** The built-in demonstration upstream. `scripted` lets a message order failures from it, for trying things out. */
  demo: z.strictObject({ scripted: z.boolean().default(false) }).prefault({}),
  log: z
    // Any text as far as types go, so that one from the environment needs no cast.
    .strictObject({
      level: z
        .string()
        .pipe(z.enum(['trace', 'debug', 'info', 'warn', 'error', 'silent']))
        .default('info'),
    })
    .prefault({}),
  /** The way of a request, top to bottom. */
  plugins: z.array(
    z.custom<AnyPlugin>(
      (value) => typeof value === 'object' && value !== null && 'name' in value,
      'is no plugin, which is an object with a name; a function that makes one has to be called',
    ),
  ),
})
/** What `gateway.config.ts` says. */
export type GatewayInput = z.input<typeof shape>

/** What the service works with: defaults filled in, checked. */
export type GatewayConfig = z.output<typeof shape>

function isWholeInThousandths(price: number): boolean {
  const thousandths = price * 1000
  return Math.abs(thousandths - Math.round(thousandths)) < 1e-6
}

function isTimeZone(name: string): boolean {
  // The usual one needs no look into the tables of all others, which take longer to load than everything else here.
  if (name === 'UTC') return true
  try {
    return Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== ''
  } catch {
    return false
  }
}

function named<Item>(items: Readonly<Record<string, Item>>): Record<string, Item & { readonly id: string }> {
  return Object.fromEntries(Object.entries(items).map(([id, item]) => [id, { ...item, id }]))
}
