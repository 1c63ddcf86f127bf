/**
 * The fingerprint of a configuration: of all settings that decide what a turn costs, who may use it, when its
 * periods begin and who is notified.
 * Settings of one machine (addresses to listen on, sizes, timeouts) may differ between nodes, and secrets are left out.
 */
import { createHash } from 'node:crypto'
import type { ConfigFingerprint } from '../domain/config-fingerprint.ts'
import type { GatewayConfig } from './config.ts'

const hashLength = 16

export function createConfigFingerprint(config: GatewayConfig): ConfigFingerprint {
  const { plans, defaultPlan, prices, products, boosts, timeZone, brand, limits, store, images, listen, signIn, notifications } =
    config
  const { packs, payments } = config
  const sections = {
    plans: { plans, defaultPlan },
    prices,
    products,
    boosts,
    'time zone': timeZone,
    brand,
    'limits store': toLocation(limits.url),
    limits: [limits.addressRpm, limits.keysPerAccount, limits.attempts, limits.imageTokens],
    upstreams: Object.entries(config.upstreams).map(([name, upstream]) => [name, selectUpstreamSettings(upstream)]),
    retention: [store.keepTurnsForDays, images.keepForDays, images.keepBytes],
    'site address': [listen.siteUrl, listen.baseUrl],
    // One node delivers for all: a receiver that it does not have gets nothing.
    notifications: {
      rules: notifications.rules,
      people: Object.entries(notifications.people).map(([name, { kind, events }]) => [name, kind, events]),
      webhooks: Object.entries(notifications.webhooks).map(([name, { url, events }]) => [name, toLocation(url), events]),
    },
    payments: [packs, payments.legalLines, payments.taxText, Object.keys(payments.providers), payments.demo],
    'sign-in': {
      ...signIn,
      providers: Object.entries(signIn.providers).map(([id, provider]) => [id, { ...provider, clientSecret: null }]),
    },
  }
  return Object.fromEntries(Object.entries(sections).map(([section, value]) => [section, hash(value)]))
}

function selectUpstreamSettings(upstream: GatewayConfig['upstreams'][string]): unknown {
  const { baseUrl, headers } = upstream
  const location = baseUrl === 'demo' ? baseUrl : toLocation(baseUrl)
  // Values of headers may be keys.
  return [location, ...sharedUpstreamFields.map((field) => upstream[field]), Object.keys(headers).toSorted()]
}

/** Nodes of different versions compare the hash, so the order stays. */
const sharedUpstreamFields = [
  'maxTokensField',
  'developerRole',
  'passCostFields',
  'kind',
  'responses',
  'passRequestFields',
  'streams',
  'passResponseFields',
] as const

/** Without user, password and parameters, any of which may be secret. */
function toLocation(url: string | null): string | null {
  if (url === null) return null
  const { protocol, host, pathname } = new URL(url)
  return `${protocol}//${host}${pathname}`
}

function hash(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value, sortKeys)).digest('hex').slice(0, hashLength)
}

/** The order in which a configuration lists its entries does not matter. */
function sortKeys(_key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1)))
}
