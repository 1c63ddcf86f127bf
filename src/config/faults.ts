/** What single fields of a configuration cannot tell: names that point nowhere, and limits that could never take effect. */
import { isIP } from 'node:net'
import type { GatewayConfig } from './shape.ts'
import { orderFaults } from '../exchange/order.ts'
import { anyDomain, isDomain, judgeAddress } from '../membership/mail-address.ts'
import { shownUrl } from './shown-url.ts'
import { coversInternet, networks, privateNetworks } from '../access/networks.ts'

/** One sentence for each fault; none when it can work. */
export function crossFaults(config: GatewayConfig): string[] {
  return [
    ...orderFaults(config.plugins).map((fault) => `${fault}.`),
    ...productFaults(config),
    ...planFaults(config),
    ...originFaults(config),
    ...credentialFaults(config),
    ...upstreamFaults(config),
    ...limitFaults(config),
    ...workerFaults(config),
    ...storeFaults(config),
    ...signInFaults(config),
  ]
}

/** One without a place could serve nobody. */
function workerFaults({ workers, upstreams, limits }: GatewayConfig): string[] {
  if (workers === 'auto') return []
  const shared: [place: string, connections: number][] = [
    ['limits.connections', limits.connections],
    ...Object.entries(upstreams).map(([name, { connections }]): [string, number] => [
      `upstreams.${name}.connections`,
      connections,
    ]),
  ]
  return shared.flatMap(([place, connections]) =>
    connections < workers ? `workers: ${workers} are more than ${place} (${connections}) has places for.` : [],
  )
}

/** What one node keeps for itself is of no use to the others. */
function storeFaults({ store, workers, mail }: GatewayConfig): string[] {
  if (store.url === null)
    return store.secretKey === null
      ? []
      : ['store.secretKey could never take effect: without store.url the secret is in dataDir.']
  const faults: string[] = []
  if (!/^postgres(?:ql)?:\/\/[^/?#]+\/[^/?#]/.test(store.url))
    faults.push('store.url must look like postgres://user:password@host,other-host/database.')
  if (mail.smtpUrl === null)
    faults.push('mail.smtpUrl is needed with store.url: letters in a folder of one node would be read by nobody.')
  if (workers !== 'auto' && workers > 1)
    faults.push(
      `workers: ${workers} threads around one file are for a store without url. With it each node serves with one; start more nodes.`,
    )
  return faults
}

function productFaults({ products, upstreams }: GatewayConfig): string[] {
  const faults: string[] = []
  if (Object.keys(products).length === 0) faults.push('products: there is none; a gateway without products sells nothing.')
  for (const [id, product] of Object.entries(products)) {
    for (const { upstream } of product.targets) {
      if (!Object.hasOwn(upstreams, upstream)) faults.push(`products.${id}.targets: there is no upstream '${upstream}'.`)
    }
    for (const rule of product.rules) {
      if (!Object.hasOwn(products, rule.use)) faults.push(`products.${id}.rules: there is no product '${rule.use}'.`)
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
  if (!Object.hasOwn(plans, defaultPlan)) faults.push(`defaultPlan: there is no plan '${defaultPlan}'.`)
  for (const { issuer, plan } of signIn.jwtIssuers) {
    if (!Object.hasOwn(plans, plan)) faults.push(`signIn.jwtIssuers (${shownUrl(issuer)}): there is no plan '${plan}'.`)
  }
  for (const [id, plan] of Object.entries(plans)) {
    for (const [pool, { day, week, month }] of Object.entries(plan.pools)) {
      if (day > week) faults.push(`plans.${id}.pools.${pool}: a day's limit above the week's could never take effect.`)
      if (week > month) faults.push(`plans.${id}.pools.${pool}: a week's limit above the month's could never take effect.`)
    }
    if (plan.models !== 'all') {
      for (const model of plan.models)
        if (!Object.hasOwn(products, model)) faults.push(`plans.${id}.models: there is no product '${model}'.`)
    }
  }
  return faults
}

/** Addresses of pages and of the API are made by adding a path to these. */
function originFaults({ listen }: GatewayConfig): string[] {
  const faults: string[] = []
  for (const name of ['siteUrl', 'baseUrl'] as const) {
    const url = listen[name] === null ? null : new URL(listen[name])
    if (url === null) continue
    if (url.pathname !== '/' || url.search !== '' || url.hash !== '' || url.username !== '' || url.password !== '')
      faults.push(`listen.${name} must be an origin alone, as in ${url.origin}: paths such as /v1 are added to it.`)
  }
  return faults
}

/** What is sent, or awaited, in a header. */
function credentialFaults({ upstreams, search, metrics }: GatewayConfig): string[] {
  const credentials: [place: string, value: string | null][] = [
    ...Object.entries(upstreams).map(([name, { apiKey }]): [string, string | null] => [`upstreams.${name}.apiKey`, apiKey]),
    ['search.apiKey', search.apiKey],
    ['metrics.token', metrics.token],
  ]
  return credentials.flatMap(([place, value]) =>
    value === null || isHeaderValue(value)
      ? []
      : `${place} has a character that no header can carry; it may have been copied with more than itself.`,
  )
}

/** How a request is framed is known when it is sent. */
const framing = new Set(['content-length', 'transfer-encoding', 'keep-alive', 'upgrade', 'expect'])

function upstreamFaults({ upstreams }: GatewayConfig): string[] {
  const faults: string[] = []
  for (const [name, { baseUrl, apiKey, headers, allowPlaintext }] of Object.entries(upstreams)) {
    for (const [header, value] of Object.entries(headers)) {
      if (!isHeaderName(header) || !isHeaderValue(value))
        faults.push(
          `upstreams.${name}.headers: ${JSON.stringify(header)} is no header, or has a character that no header can carry.`,
        )
      if (framing.has(header.toLowerCase()))
        faults.push(`upstreams.${name}.headers: ${JSON.stringify(header)} is each request's own, and cannot be set for all.`)
    }
    if (baseUrl !== 'demo') {
      const { username, password, search, hash } = new URL(baseUrl)
      if (!hasReadableName(baseUrl)) faults.push(`upstreams.${name}.baseUrl: a % in its user or password is written as %25.`)
      if (apiKey !== null && username + password !== '')
        faults.push(`upstreams.${name}: there are both a key and credentials in the address; it can be sent one of them.`)
      if (search + hash !== '')
        faults.push(`upstreams.${name}.baseUrl: must not have a query or a fragment; paths are appended to it.`)
    }
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

function isHeaderName(name: string): boolean {
  return /^[!#$%&'*+.^_`|~\w-]+$/.test(name)
}

/** RFC 9110, 5.5, as undici reads it. */
function isHeaderValue(value: string): boolean {
  return /^[\t\x20-\x7e\x80-\xff]*$/.test(value)
}

function limitFaults({ listen, limits, metrics, timeouts, search }: GatewayConfig): string[] {
  const faults: string[] = []
  for (const [place, list] of [
    ['listen.trustedProxies', listen.trustedProxies],
    ['metrics.allow', metrics.allow],
  ] as const) {
    for (const entry of list)
      if (!isNetwork(entry)) faults.push(`${place}: '${entry}' is neither an address nor a CIDR such as 10.0.0.0/8.`)
  }
  if (coversInternet(networks(listen.trustedProxies.filter(isNetwork))))
    faults.push(
      'listen.trustedProxies covers the whole Internet, so that anybody could choose the address he is counted by; name only the addresses of your own proxies.',
    )
  if (limits.url !== null && !isValkey(limits.url))
    faults.push('limits.url must look like valkey://host:6379 or rediss://user:password@host:6379/0.')
  if (metrics.port === null && metrics.allow.length > 0)
    faults.push('metrics.allow could never take effect: it is for the listener that metrics.port opens, and there is none.')
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

function isValkey(url: string): boolean {
  return (
    /^(?:valkey|redis)s?:\/\/[^/]/.test(url) &&
    URL.canParse(url) &&
    /^(?:\/\d{0,4})?$/.test(new URL(url).pathname) &&
    hasReadableName(url)
  )
}

/** A sign of a password that an address takes for its own leaves something behind the host, or no host at all. */
function isMailServer(url: string): boolean {
  if (!/^smtps?:\/\/[^/]/.test(url) || !URL.canParse(url)) return false
  const { pathname, hash } = new URL(url)
  return hash === '' && (pathname === '' || pathname === '/') && hasReadableName(url)
}

/** Whether user and password stand in it as addresses have them. */
function hasReadableName(url: string): boolean {
  const { username, password } = new URL(url)
  try {
    decodeURIComponent(username + password)
    return true
  } catch {
    return false
  }
}

function signInFaults({ signIn, mail }: GatewayConfig): string[] {
  const faults: string[] = []
  for (const [name, { issuer }] of Object.entries(signIn.providers)) {
    const { protocol, hostname } = new URL(issuer)
    if (protocol !== 'https:' && hostname !== 'localhost' && hostname !== '[::1]' && !hostname.startsWith('127.'))
      faults.push(`signIn.providers.${name}.issuer: plain http is for a provider on this machine only; use https.`)
  }
  for (const name of ['allowedDomains', 'blockedDomains'] as const) {
    for (const entry of signIn[name])
      if (!isDomain(entry))
        faults.push(`signIn.${name}: '${entry}' is no domain, so that no address could be of it; write it as in example.com.`)
  }
  if (mail.smtpUrl !== null && !isMailServer(mail.smtpUrl))
    faults.push(
      'mail.smtpUrl must look like smtp://user:password@host:587 or smtps://host; in a password # / ? and % are written as %23 %2F %3F and %25.',
    )
  if (!isSender(mail.from)) faults.push("mail.from must be one mail address, as in 'Example <no-reply@example.com>'.")
  return faults
}

/** `address`, or `name <address>`. */
function isSender(from: string): boolean {
  const address = /^[^<>\r\n]*<([^<>\s]+)>$/.exec(from.trim())?.[1] ?? from.trim()
  return judgeAddress(address, { mergeAliases: false, ...anyDomain }).kind === 'good'
}

function isNetwork(entry: string): boolean {
  const [address = '', bits] = entry.split('/')
  const family = isIP(address)
  if (family === 0) return false
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128))
}
/** Loopback, private ranges, and names that only resolve inside a network of one's own. */
function isPrivateHost(hostname: string): boolean {
  const bare = hostname.replace(/^\[|\]$/g, '')
  const family = isIP(bare)
  if (family === 0) return !bare.includes('.') || /\.(local|internal|lan|home|localhost)$/.test(bare)
  return privateNetworks().check(bare, family === 6 ? 'ipv6' : 'ipv4')
}
