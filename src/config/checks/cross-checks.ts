/** Checks across fields of a configuration: references to missing names, and limits that could never take effect. */
import { existsSync } from 'node:fs'
import { isIP } from 'node:net'
import { resolve, sep } from 'node:path'
import type { GatewayConfig } from '../schema/config-schema.ts'
import { findHeaderErrors, isHeaderValue } from './header-checks.ts'
import { findNotificationErrors } from './notification-checks.ts'
import { findPaymentErrors } from './payment-checks.ts'
import { findOrderErrors } from './plugin-order.ts'
import { comparePlans } from '../../domain/billing/subscriptions/terms.ts'
import { anyEmailDomain, isEmailDomain, parseEmail } from '../../domain/identity/email/email-address.ts'
import { isPrivateHost } from '../private-host.ts'
import { redactUrl } from '../redact-url.ts'
import { isLoopbackHost } from '../../system/loopback.ts'
import { coversInternet, parseNetworks } from '../../system/cidr.ts'

/** One sentence per error; empty if the configuration can work. */
export function findCrossFieldErrors(config: GatewayConfig): string[] {
  return [
    ...findOrderErrors(config.plugins).map((fault) => `${fault}.`),
    ...findProductErrors(config),
    ...findAliasErrors(config),
    ...findPlanErrors(config),
    ...findOriginErrors(config),
    ...findConsoleErrors(config),
    ...findCredentialErrors(config),
    ...findUpstreamErrors(config),
    ...findLimitErrors(config),
    ...findWorkerErrors(config),
    ...findStoreErrors(config),
    ...findBackupErrors(config),
    ...findSignInErrors(config),
    ...findSiteErrors(config),
    ...findNotificationErrors(config),
    ...findPaymentErrors(config),
  ]
}

/** Host names tell the console's origin from the members', and its cookies are not theirs. */
function findConsoleErrors({ listen: { siteUrl, baseUrl }, console: { origin } }: GatewayConfig): string[] {
  if (origin === null) return []
  const { protocol, host, href } = new URL(origin)
  if (href !== `${origin}/`)
    return [`console.origin: '${origin}' must be an origin such as https://console.example.com, without a path.`]
  if (siteUrl === null) return ['console.origin needs listen.siteUrl, so that it is known which origin is the members’.']
  if ([siteUrl, baseUrl].some((url) => url !== null && new URL(url).host === host))
    return [`console.origin: ${host} is the host of listen.siteUrl or listen.baseUrl; use another one.`]
  if (siteUrl.startsWith('https:') && protocol !== 'https:')
    return ['console.origin must be https, as listen.siteUrl is: cookies of operators would go in the clear.']
  return []
}

/** Files of the operator that the site shows. */
function findSiteErrors({ site }: GatewayConfig): string[] {
  return (['terms', 'privacy'] as const).flatMap((name) =>
    (['en', 'zh'] as const).flatMap((language) => {
      const file = site[name][language]
      if (file === null || file.startsWith('https://') || existsSync(file)) return []
      return `site.${name}.${language}: there is no file ${file}.`
    }),
  )
}

/** A worker without a connection could not serve. */
function findWorkerErrors({ workers, upstreams, limits }: GatewayConfig): string[] {
  if (workers === 'auto') return []
  const shared: [place: string, connections: number][] = [
    ['limits.connections', limits.connections],
    ...Object.entries(upstreams).map(([name, { connections }]): [string, number] => [
      `upstreams.${name}.connections`,
      connections,
    ]),
  ]
  return shared.flatMap(([place, connections]) =>
    connections < workers
      ? `workers: ${workers} are more than ${place} (${connections}), so that some would have no connection.`
      : [],
  )
}

function findBackupErrors({ backup, store }: GatewayConfig): string[] {
  if (backup === null) return []
  if (store.url !== null)
    return [
      'backup is for SQLite; with store.url back up PostgreSQL with its own tools (docs/operations.md), and leave backup out.',
    ]
  const { to, passphraseFile } = backup
  return [
    ...(typeof to !== 'string' && new URL(to.endpoint).pathname !== '/'
      ? ['backup.to.endpoint must be an origin, without a path; the bucket has a key of its own.']
      : []),
    ...(typeof to === 'string' && isWithin(to, store.dataDir)
      ? [`backup.to: ${to} is within the data folder, with which it would be lost; choose another place.`]
      : []),
    ...(passphraseFile === null || existsSync(passphraseFile)
      ? []
      : [`backup.passphraseFile: there is no file ${passphraseFile}.`]),
  ]
}

function isWithin(path: string, folder: string): boolean {
  return `${resolve(path)}${sep}`.startsWith(`${resolve(folder)}${sep}`)
}

/** Settings that only make sense for one node, or only for several. */
function findStoreErrors({ store, workers, mail }: GatewayConfig): string[] {
  if (store.url === null)
    return store.secretKey === null
      ? []
      : ['store.secretKey could never take effect: without store.url the secret is in dataDir.']
  const errors: string[] = []
  if (!/^postgres(?:ql)?:\/\/[^/?#]+\/[^/?#]/.test(store.url))
    errors.push('store.url must look like postgres://user:password@host,other-host/database.')
  if (mail.smtpUrl === null)
    errors.push('mail.smtpUrl is needed with store.url: email in a folder of one node would not be delivered.')
  if (workers !== 'auto' && workers > 1)
    errors.push(
      `workers: ${workers} worker threads need a store without url. With store.url each node runs one; start more nodes.`,
    )
  return errors
}

function findProductErrors({ products, upstreams }: GatewayConfig): string[] {
  const errors: string[] = []
  if (Object.keys(products).length === 0) errors.push('products: there is none; a gateway needs at least one product.')
  for (const [id, product] of Object.entries(products)) {
    for (const { upstream, model } of product.targets) {
      if (!Object.hasOwn(upstreams, upstream)) errors.push(`products.${id}.targets: there is no upstream '${upstream}'.`)
      const missingCapability = product.capabilities.find((each) => each === 'image' || each === 'embedding')
      if (upstreams[upstream]?.kind === 'anthropic' && missingCapability !== undefined && model !== null)
        errors.push(
          `products.${id}.targets: '${upstream}' is Anthropic's API, which has no ${missingCapability === 'image' ? 'images' : 'embeddings'}.`,
        )
      if (upstreams[upstream]?.kind === 'gemini' && product.capabilities.includes('embedding') && model !== null)
        errors.push(`products.${id}.targets: embeddings of '${upstream}' are not offered; its kind is 'gemini'.`)
    }
    for (const rule of product.rules) {
      if (!Object.hasOwn(products, rule.use)) errors.push(`products.${id}.rules: there is no product '${rule.use}'.`)
      else if (products[rule.use]?.capabilities.includes('chat') !== true)
        errors.push(`products.${id}.rules: '${rule.use}' is no chat product and cannot serve in its place.`)
      if (rule.when === 'long' && rule.longerThanTokens === undefined)
        errors.push(`products.${id}.rules: 'long' needs longerThanTokens.`)
    }
    if (product.targets.every(({ weight }) => weight === 0))
      errors.push(`products.${id}.targets: all weights are 0, so none would be used.`)
    if (product.maxOutputTokens > product.contextLength) {
      errors.push(`products.${id}: maxOutputTokens is above contextLength and could never take effect.`)
    }
    if (product.defaultOutputTokens > product.maxOutputTokens) {
      errors.push(`products.${id}: defaultOutputTokens is above maxOutputTokens and could never take effect.`)
    }
  }
  return errors
}

function findAliasErrors({ apiFormats, products }: GatewayConfig): string[] {
  return Object.entries(apiFormats).flatMap(([format, { aliases }]) =>
    Object.entries(aliases).flatMap(([pattern, id]) => {
      if (!Object.hasOwn(products, id)) return `apiFormats.${format}.aliases: there is no product '${id}'.`
      if (Object.hasOwn(products, pattern))
        return `apiFormats.${format}.aliases: '${pattern}' is a product and could never take effect as an alias.`
      return []
    }),
  )
}

function findPlanErrors({ plans, products, defaultPlan, signIn }: GatewayConfig): string[] {
  const errors: string[] = []
  if (!Object.hasOwn(plans, defaultPlan)) errors.push(`defaultPlan: there is no plan '${defaultPlan}'.`)
  for (const { issuer, plan } of signIn.jwtIssuers) {
    if (!Object.hasOwn(plans, plan)) errors.push(`signIn.jwtIssuers (${redactUrl(issuer)}): there is no plan '${plan}'.`)
  }
  for (const [id, plan] of Object.entries(plans)) {
    for (const [pool, { day, week, month }] of Object.entries(plan.pools)) {
      if (day > week) errors.push(`plans.${id}.pools.${pool}: a day's limit above the week's could never take effect.`)
      if (week > month) errors.push(`plans.${id}.pools.${pool}: a week's limit above the month's could never take effect.`)
    }
    if (plan.models !== 'all') {
      for (const model of plan.models)
        if (!Object.hasOwn(products, model)) errors.push(`plans.${id}.models: there is no product '${model}'.`)
    }
  }
  return errors
}

/** Paths are appended to these origins. */
function findOriginErrors({ listen }: GatewayConfig): string[] {
  const errors: string[] = []
  for (const name of ['siteUrl', 'baseUrl'] as const) {
    const url = listen[name] === null ? null : new URL(listen[name])
    if (url === null) continue
    if (url.pathname !== '/' || url.search !== '' || url.hash !== '' || url.username !== '' || url.password !== '')
      errors.push(`listen.${name} must be an origin alone, as in ${url.origin}: paths such as /v1 are added to it.`)
  }
  return errors
}

/** Credentials that are sent or expected in a header. */
function findCredentialErrors({ upstreams, search, metrics }: GatewayConfig): string[] {
  const credentials: [place: string, value: string | null][] = [
    ...Object.entries(upstreams).map(([name, { apiKey }]): [string, string | null] => [`upstreams.${name}.apiKey`, apiKey]),
    ['search.apiKey', search.apiKey],
    ['metrics.token', metrics.token],
  ]
  return credentials.flatMap(([place, value]) =>
    value === null || isHeaderValue(value)
      ? []
      : `${place} has a character that a header cannot contain; it may have been copied with surrounding text.`,
  )
}

function findUpstreamErrors({ upstreams }: GatewayConfig): string[] {
  const errors: string[] = []
  for (const [name, { baseUrl, apiKey, headers, allowPlaintext, kind, responses, cacheControl }] of Object.entries(upstreams)) {
    if (responses && (kind === 'anthropic' || kind === 'gemini'))
      errors.push(`upstreams.${name}.responses: kind '${kind}' has no Responses API; remove one of the two.`)
    if (cacheControl && (responses || kind === 'gemini'))
      errors.push(`upstreams.${name}.cacheControl: its API has no marks for the cache; remove one of the two.`)
    if (responses && baseUrl === 'demo') errors.push(`upstreams.${name}.responses: the demo upstream has no Responses API.`)
    errors.push(...findHeaderErrors(`upstreams.${name}`, headers))
    if (baseUrl !== 'demo') {
      const { username, password, search, hash } = new URL(baseUrl)
      if (!hasDecodableUserInfo(baseUrl)) errors.push(`upstreams.${name}.baseUrl: write a % in its user or password as %25.`)
      if (apiKey !== null && username + password !== '')
        errors.push(`upstreams.${name}: there are both a key and credentials in the URL; only one can be sent.`)
      if (search + hash !== '')
        errors.push(`upstreams.${name}.baseUrl: must not have a query or a fragment; paths are appended to it.`)
    }
    if (baseUrl === 'demo' || baseUrl.startsWith('https:') || allowPlaintext) continue
    const { hostname } = new URL(baseUrl)
    if (!isPrivateHost(hostname)) {
      errors.push(
        `upstreams.${name}.baseUrl: plain http to ${hostname} would send keys and prompts in the clear; use https, or set allowPlaintext: true.`,
      )
    }
  }
  return errors
}

function findLimitErrors({ listen, console, limits, metrics, timeouts, search, upstreams }: GatewayConfig): string[] {
  const errors: string[] = []
  for (const [place, list] of [
    ['listen.trustedProxies', listen.trustedProxies],
    ['metrics.allow', metrics.allow],
    ['console.networks', console.networks],
  ] as const) {
    for (const entry of list)
      if (!isNetwork(entry)) errors.push(`${place}: '${entry}' is neither an address nor a CIDR such as 10.0.0.0/8.`)
  }
  if (coversInternet(parseNetworks(listen.trustedProxies.filter(isNetwork))))
    errors.push(
      'listen.trustedProxies covers the whole Internet, so that any client could choose its own IP address; list only the addresses of your own proxies.',
    )
  if (limits.url !== null && !isValkeyUrl(limits.url))
    errors.push('limits.url must look like valkey://host:6379 or rediss://user:password@host:6379/0.')
  if (metrics.port === null && metrics.allow.length > 0)
    errors.push('metrics.allow could never take effect: it applies to the listener of metrics.port, which is not set.')
  for (const name of ['connectMs', 'firstByteMs', 'idleMs'] as const) {
    if (timeouts[name] > timeouts.totalMs) errors.push(`timeouts.${name} is above totalMs and could never take effect.`)
  }
  for (const [upstream, times] of Object.entries(upstreams))
    for (const name of ['firstByteMs', 'idleMs'] as const)
      if ((times[name] ?? 0) > timeouts.totalMs)
        errors.push(`upstreams.${upstream}.${name} is above timeouts.totalMs and could never take effect.`)
  if (search.backend === 'searxng' && search.searxngUrl === null)
    errors.push("search.searxngUrl is needed for the backend 'searxng'.")
  if ((search.backend === 'tavily' || search.backend === 'brave') && search.apiKey === null) {
    errors.push(`search.apiKey is needed for the backend '${search.backend}'.`)
  }
  return errors
}

function isValkeyUrl(url: string): boolean {
  return (
    /^(?:valkey|redis)s?:\/\/[^/]/.test(url) &&
    URL.canParse(url) &&
    /^(?:\/\d{0,4})?$/.test(new URL(url).pathname) &&
    hasDecodableUserInfo(url)
  )
}

/** An unescaped character of a password leaves something behind the host, or no host. */
function isSmtpUrl(url: string): boolean {
  if (!/^smtps?:\/\/[^/]/.test(url) || !URL.canParse(url)) return false
  const { pathname, hash } = new URL(url)
  return hash === '' && (pathname === '' || pathname === '/') && hasDecodableUserInfo(url)
}

/** Whether user and password are correctly percent-encoded. */
function hasDecodableUserInfo(url: string): boolean {
  const { username, password } = new URL(url)
  try {
    decodeURIComponent(username + password)
    return true
  } catch {
    return false
  }
}

function findSignInErrors({ signIn, mail, plans, defaultPlan }: GatewayConfig): string[] {
  const errors: string[] = []
  if (signIn.providersOnly && Object.keys(signIn.providers).length === 0)
    errors.push('signIn.providersOnly needs a provider in signIn.providers: otherwise members could not sign in.')
  for (const [name, { issuer, groups }] of Object.entries(signIn.providers)) {
    for (const [group, id] of Object.entries(groups?.plans ?? {})) {
      const place = `signIn.providers.${name}.groups.plans.${group}`
      const [plan, free] = [id, defaultPlan].map((each) => (Object.hasOwn(plans, each) ? plans[each] : undefined))
      if (plan === undefined) errors.push(`${place}: there is no plan '${id}'.`)
      else if (free !== undefined && comparePlans(plan, free) <= 0)
        errors.push(`${place}: '${id}' is no higher than the default plan '${defaultPlan}' and could never take effect.`)
    }
    const { protocol, hostname } = new URL(issuer)
    if (protocol !== 'https:' && !isLoopbackHost(hostname))
      errors.push(`signIn.providers.${name}.issuer: plain http is for a provider on this machine only; use https.`)
  }
  for (const name of ['allowedDomains', 'blockedDomains'] as const) {
    for (const entry of signIn[name])
      if (!isEmailDomain(entry)) errors.push(`signIn.${name}: '${entry}' is no domain; write it as in example.com.`)
  }
  if (mail.smtpUrl !== null && !isSmtpUrl(mail.smtpUrl))
    errors.push(
      'mail.smtpUrl must look like smtp://user:password@host:587 or smtps://host; in a password # / ? and % are written as %23 %2F %3F and %25.',
    )
  if (!isSender(mail.from)) errors.push("mail.from must be one email address, as in 'Example <no-reply@example.com>'.")
  return errors
}

/** `address`, or `name <address>`. */
function isSender(from: string): boolean {
  const address = /^[^<>\r\n]*<([^<>\s]+)>$/.exec(from.trim())?.[1] ?? from.trim()
  return parseEmail(address, anyEmailDomain).kind === 'good'
}

function isNetwork(entry: string): boolean {
  const [address = '', bits] = entry.split('/')
  const family = isIP(address)
  if (family === 0) return false
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128))
}
