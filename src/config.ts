/**
 * The shape, defaults and checks of `gateway.config.ts`, and the only reader of the server's environment.
 *
 * A configuration is checked once, at start. What is wrong stops the server with one sentence that names the place and the mend;
 * an unknown key is wrong, because a misspelt limit would otherwise be no limit.
 */
import { BlockList, isIP } from 'node:net'
import { resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { z } from 'zod'
import { orderFaults } from './exchange/order.ts'
import type { AnyPlugin } from './exchange/plugin.ts'
import { allowanceNames } from './membership/allowances.ts'

/** A configuration that cannot work. The message is for the operator and never quotes a secret. */
export class ConfigError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'ConfigError'
  }
}

/** Reads the environment for `gateway.config.ts`. Blank means not set, except for a secret, where blank is a mistake. */
export const env = {
  text<Fallback extends string | null = null>(name: string, fallback: Fallback = null as Fallback): string | Fallback {
    const value = process.env[name]?.trim()
    return value === undefined || value === '' ? fallback : value
  },
  secret(name: string): string | null {
    const value = process.env[name]
    if (value === undefined) return null
    if (value.trim() === '') throw new ConfigError(`${name} is set but empty. Give it a value, or unset it.`)
    return value.trim()
  },
  integer(name: string, fallback: number): number {
    const value = env.text(name)
    if (value === null) return fallback
    if (!/^\d{1,9}$/.test(value)) throw new ConfigError(`${name} must be a whole number, not '${value}'.`)
    return Number(value)
  },
  list(name: string): string[] {
    return (env.text(name) ?? '')
      .split(',')
      .map((item) => item.trim())
      .filter((item) => item !== '')
  },
}

const credits = z.int().min(0)
const poolLimits = z.strictObject({ day: credits, week: credits, month: credits })
const milliseconds = z.int().min(1).max(86_400_000)
const url = z.url({ protocol: /^https?$/ }).transform((text) => text.replace(/\/+$/, ''))
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
  /** Plain HTTP to a public address sends keys and prompts in the clear. */
  allowPlaintext: z.boolean().default(false),
  /** Connections kept to it at most. */
  connections: z.int().min(1).max(4096).default(256),
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
        currency: z.string().length(3).default('USD'),
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

const boost = z.strictObject({ pool: z.enum(['fast', 'premium']).default('fast'), credits, days: z.int().min(1) })

const shape = z.strictObject({
  brand: z
    .strictObject({ slug: z.string().regex(/^[a-z][a-z0-9]{1,15}$/), name: z.string().min(1) })
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
    siteUrl: url.nullable().default(null),
    /** The origin of the API; null: the same. */
    baseUrl: url.nullable().default(null),
    /** Addresses and CIDRs whose X-Forwarded-For is believed. */
    trustedProxies: z.array(z.string()).default([]),
    /** Server processes sharing the port. Limits are kept in one process's memory, so there is one. */
    workers: z.int().min(1).max(1, 'must be 1: one process serves, and limits are exact because of it').default(1),
  }),
  store: z.strictObject({
    /** A directory that is ours alone: database, images, outgoing mail. */
    dataDir: z.string().min(1),
    /** Another database than SQLite in `dataDir`: none is supported, and a wish for one must not be ignored. */
    url: z.null('another database than SQLite is not supported; unset STORE_URL').default(null),
    /** Ended turns are kept in the log this long. Their ledger entries stay for ever. */
    keepTurnsForDays: z.int().min(1).default(90),
  }),
  /** Calendar in which days, weeks and months begin. */
  timeZone: z.string().default('UTC').refine(isTimeZone, 'is not a time zone; use one such as UTC or Asia/Shanghai'),
  upstreams: z.record(z.string().regex(/^[a-z][a-z0-9-]{0,31}$/), upstream),
  products: z.record(z.string().min(1), product),
  /** Dollars a million tokens, and the discount on them, of each tier. */
  prices: z.strictObject({
    light: z.strictObject({ input: z.number().min(0), output: z.number().min(0), discountPercent: z.int().min(0).max(100) }),
    flagship: z.strictObject({ input: z.number().min(0), output: z.number().min(0), discountPercent: z.int().min(0).max(100) }),
  }),
  plans: z.record(z.string().regex(/^[a-z][a-z0-9-]{0,31}$/), plan),
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
        .array(z.strictObject({ issuer: url, audience: z.string().min(1), jwksUrl: url, plan: z.string() }))
        .default([]),
      /** Mail addresses: whether `a+b@x` and `a@x` are one person, and domains that may not sign up. */
      mergeAliases: z.boolean().default(true),
      blockedDomains: z.array(z.string()).default([]),
      blockDisposable: z.boolean().default(true),
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
      /** Networks that may read `/metrics`; loopback always may. */
      allow: z.array(z.string()).default([]),
      token: secret.nullable().default(null),
    })
    .prefault({}),
  /** Whether an envelope names the upstream's host in `debug`. */
  exposeUpstreamHost: z.boolean().default(true),
  /** The built-in demonstration upstream. `scripted` lets a message order failures from it, for trying things out. */
  demo: z.strictObject({ scripted: z.boolean().default(false) }).prefault({}),
  log: z.strictObject({ level: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'silent']).default('info') }).prefault({}),
  /** The way of a request, top to bottom. */
  plugins: z.array(z.custom<AnyPlugin>((value) => typeof value === 'object' && value !== null && 'name' in value)),
})

/** What `gateway.config.ts` says. */
export type GatewayInput = z.input<typeof shape>

/** What the service works with: defaults filled in, checked. */
export type GatewayConfig = z.output<typeof shape>

/** Types a configuration. It is checked when the service starts, so that another file may import it and change parts first. */
export function defineGateway(input: GatewayInput): GatewayInput {
  return input
}

/** The file to read: `GATEWAY_CONFIG`, else the one this package ships. */
export function configFile(): string {
  const chosen = env.text('GATEWAY_CONFIG')
  if (chosen !== null) return resolve(chosen)
  // Beside `src/` in a checkout, beside the compiled `src/` in the published package.
  return fileURLToPath(
    new URL(import.meta.url.endsWith('.ts') ? '../gateway.config.ts' : '../gateway.config.js', import.meta.url),
  )
}

/** Imports and checks a configuration file. @throws ConfigError */
export async function loadConfig(file = configFile()): Promise<GatewayConfig> {
  let module: { default?: unknown }
  try {
    module = (await import(pathToFileURL(file).href)) as { default?: unknown }
  } catch (error) {
    if (error instanceof ConfigError) throw error
    throw new ConfigError(`${file} cannot be read: ${error instanceof Error ? error.message : String(error)}`)
  }
  if (module.default === undefined)
    throw new ConfigError(`${file} must have a default export: export default defineGateway({ … })`)
  return checkConfig(module.default)
}

/** Checks a configuration. @throws ConfigError with one sentence for each fault */
export function checkConfig(input: unknown): GatewayConfig {
  const parsed = shape.safeParse(input)
  if (!parsed.success) throw new ConfigError(parsed.error.issues.map(sentenceOf).join('\n'))
  const faults = crossFaults(parsed.data)
  if (faults.length > 0) throw new ConfigError(faults.join('\n'))
  return parsed.data
}

function sentenceOf(issue: z.core.$ZodIssue): string {
  const place = issue.path.length === 0 ? 'The configuration' : issue.path.join('.')
  if (issue.code === 'unrecognized_keys') return `${place}: unknown key ${issue.keys.map((key) => `'${key}'`).join(', ')}.`
  if (issue.code === 'invalid_union')
    return `${place}: ${issue.errors.map((branch) => branch[0]?.message ?? issue.message).join('; or ')}.`
  return `${place}: ${issue.message}.`
}

/** What single fields cannot tell: names that point nowhere, and limits that could never take effect. */
function crossFaults(config: GatewayConfig): string[] {
  return [
    ...orderFaults(config.plugins).map((fault) => `${fault}.`),
    ...productFaults(config),
    ...planFaults(config),
    ...upstreamFaults(config),
    ...limitFaults(config),
    ...signInFaults(config),
  ]
}

function productFaults({ products, upstreams }: GatewayConfig): string[] {
  const faults: string[] = []
  if (Object.keys(products).length === 0) faults.push('products: there is none; a gateway without products sells nothing.')
  for (const [id, product] of Object.entries(products)) {
    for (const { upstream } of product.targets) {
      if (!(upstream in upstreams)) faults.push(`products.${id}.targets: there is no upstream '${upstream}'.`)
    }
    for (const rule of product.rules) {
      if (!(rule.use in products)) faults.push(`products.${id}.rules: there is no product '${rule.use}'.`)
      else if (products[rule.use]?.capabilities.includes('chat') !== true)
        faults.push(`products.${id}.rules: '${rule.use}' is no chat product and could not answer in its place.`)
      if (rule.when === 'long' && rule.longerThanTokens === undefined)
        faults.push(`products.${id}.rules: 'long' needs longerThanTokens.`)
    }
    if (product.targets.every(({ weight }) => weight === 0))
      faults.push(`products.${id}.targets: all weights are 0, so none would be used.`)
    if (product.maxOutputTokens > product.contextLength) {
      faults.push(`products.${id}: maxOutputTokens is above contextLength and could never take effect.`)
    }
    if (product.defaultOutputTokens > product.maxOutputTokens) {
      faults.push(`products.${id}: defaultOutputTokens is above maxOutputTokens and could never take effect.`)
    }
  }
  return faults
}

function planFaults({ plans, products, defaultPlan, signIn }: GatewayConfig): string[] {
  const faults: string[] = []
  if (!(defaultPlan in plans)) faults.push(`defaultPlan: there is no plan '${defaultPlan}'.`)
  for (const { issuer, plan } of signIn.jwtIssuers) {
    if (!(plan in plans)) faults.push(`signIn.jwtIssuers (${issuer}): there is no plan '${plan}'.`)
  }
  for (const [id, plan] of Object.entries(plans)) {
    for (const [pool, { day, week, month }] of Object.entries(plan.pools)) {
      if (day > week) faults.push(`plans.${id}.pools.${pool}: a day's limit above the week's could never take effect.`)
      if (week > month) faults.push(`plans.${id}.pools.${pool}: a week's limit above the month's could never take effect.`)
    }
    if (plan.models !== 'all') {
      for (const model of plan.models)
        if (!(model in products)) faults.push(`plans.${id}.models: there is no product '${model}'.`)
    }
  }
  return faults
}

function upstreamFaults({ upstreams }: GatewayConfig): string[] {
  const faults: string[] = []
  for (const [name, { baseUrl, allowPlaintext }] of Object.entries(upstreams)) {
    if (baseUrl === 'demo' || baseUrl.startsWith('https:') || allowPlaintext) continue
    const { hostname } = new URL(baseUrl)
    if (!isPrivateHost(hostname)) {
      faults.push(
        `upstreams.${name}.baseUrl: plain http to ${hostname} would send keys and prompts in the clear; use https, or set allowPlaintext: true.`,
      )
    }
  }
  return faults
}

function limitFaults({ listen, metrics, timeouts, search }: GatewayConfig): string[] {
  const faults: string[] = []
  for (const [place, list] of [
    ['listen.trustedProxies', listen.trustedProxies],
    ['metrics.allow', metrics.allow],
  ] as const) {
    for (const entry of list)
      if (!isNetwork(entry)) faults.push(`${place}: '${entry}' is neither an address nor a CIDR such as 10.0.0.0/8.`)
  }
  for (const name of ['connectMs', 'firstByteMs', 'idleMs'] as const) {
    if (timeouts[name] > timeouts.totalMs) faults.push(`timeouts.${name} is above totalMs and could never take effect.`)
  }
  if (search.backend === 'searxng' && search.searxngUrl === null)
    faults.push("search.searxngUrl is needed for the backend 'searxng'.")
  if ((search.backend === 'tavily' || search.backend === 'brave') && search.apiKey === null) {
    faults.push(`search.apiKey is needed for the backend '${search.backend}'.`)
  }
  return faults
}

function signInFaults({ signIn, mail }: GatewayConfig): string[] {
  const faults: string[] = []
  for (const [name, { issuer }] of Object.entries(signIn.providers)) {
    const { protocol, hostname } = new URL(issuer)
    if (protocol !== 'https:' && hostname !== 'localhost' && hostname !== '[::1]' && !hostname.startsWith('127.'))
      faults.push(`signIn.providers.${name}.issuer: plain http is for a provider on this machine only; use https.`)
  }
  if (mail.smtpUrl !== null && !/^smtps?:\/\/[^/]/.test(mail.smtpUrl))
    faults.push('mail.smtpUrl must look like smtp://user:password@host:587 or smtps://host.')
  return faults
}

function isTimeZone(name: string): boolean {
  try {
    return Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== ''
  } catch {
    return false
  }
}

function isNetwork(entry: string): boolean {
  const [address = '', bits] = entry.split('/')
  const family = isIP(address)
  if (family === 0) return false
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128))
}

/** A list of networks to look addresses up in. Entries have been checked. */
export function networks(entries: readonly string[]): BlockList {
  const list = new BlockList()
  for (const entry of entries) {
    const [address = '', bits] = entry.split('/')
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4'
    if (bits === undefined) list.addAddress(address, family)
    else list.addSubnet(address, Number(bits), family)
  }
  return list
}

/** Loopback, private ranges, and names that only resolve inside a network of one's own. */
function isPrivateHost(hostname: string): boolean {
  const bare = hostname.replace(/^\[|\]$/g, '')
  const family = isIP(bare)
  if (family === 0) return !bare.includes('.') || /\.(local|internal|lan|home|localhost)$/.test(bare)
  return privateNetworks().check(bare, family === 6 ? 'ipv6' : 'ipv4')
}

function privateNetworks(): BlockList {
  return networks([
    '127.0.0.0/8',
    '10.0.0.0/8',
    '172.16.0.0/12',
    '192.168.0.0/16',
    '169.254.0.0/16',
    '100.64.0.0/10',
    '::1',
    'fc00::/7',
    'fe80::/10',
  ])
}
