/** Rules over several keys of `packs`, `payments` and the prices of plans. */
import { existsSync } from 'node:fs'
import { toMoney } from '../../domain/billing/money.ts'
import { isLoopbackHost } from '../../system/loopback.ts'
import type { GatewayConfig } from '../schema/config-schema.ts'

/** Names that the program gives itself. */
const reservedNames: ReadonlySet<string> = new Set(['demo'])
const builtInNames: ReadonlySet<string> = new Set(['stripe', 'manual'])

export function findPaymentErrors(config: GatewayConfig): string[] {
  const { packs, payments } = config
  const isSelling = Object.keys(payments.providers).length > 0 || payments.demo
  return [
    ...findPackErrors(config),
    ...(packs.length > 0 && !isSelling
      ? ['packs could never be bought: name a provider in payments.providers, or try it with PAYMENTS=demo.']
      : []),
    ...(isSelling ? findPriceErrors(config) : []),
    ...findStripeErrors(config),
    ...findManualErrors(config),
    ...findModuleErrors(config),
    ...findDemoErrors(config),
  ]
}

function findPackErrors({ packs }: GatewayConfig): string[] {
  const ids = packs.map(({ id }) => id)
  return ids
    .filter((id, index) => ids.indexOf(id) !== index)
    .map((id) => `packs: two have the id '${id}'; each needs one of its own.`)
}

/** Of what is sold: an amount with more decimal places than its currency cannot be paid. */
function findPriceErrors({ plans, packs }: GatewayConfig): string[] {
  const listedPrices: [place: string, prices: readonly { readonly amount: number; readonly currency: string }[]][] = [
    ...Object.entries(plans).map(([id, { prices }]): [string, typeof prices] => [`plans.${id}.prices`, prices]),
    ...packs.map(({ id, prices }): [string, typeof prices] => [`packs.${id}.prices`, prices]),
  ]
  return [
    ...listedPrices.flatMap(([place, prices]) =>
      prices
        .filter(({ amount, currency }) => !isPayable(amount, currency))
        .map(({ amount, currency }) => `${place}: ${amount} ${currency} is no amount that can be paid in ${currency}; round it.`),
    ),
    ...packs.flatMap(({ id, prices }) =>
      prices.some(({ currency }, index) => prices.findIndex((other) => other.currency === currency) !== index)
        ? [`packs.${id}.prices: two prices have the same currency.`]
        : [],
    ),
  ]
}

function isPayable(amount: number, currency: string): boolean {
  try {
    toMoney(amount, currency)
    return true
  } catch {
    return false
  }
}

function findStripeErrors({ payments }: GatewayConfig): string[] {
  const { stripe } = payments.providers
  if (stripe === undefined) return []
  const place = 'payments.providers.stripe'
  const { secretKey, webhookSecret, endpoint } = stripe
  return [
    ...(secretKey === null
      ? [`${place}.secretKey is missing: copy the secret key from Stripe's dashboard (Developers, API keys).`]
      : /^(?:sk|rk)_\S+$/.test(secretKey)
        ? []
        : [
            `${place}.secretKey must begin with sk_ or rk_${secretKey.startsWith('pk_') ? '; this is the publishable key' : ''}.`,
          ]),
    ...(webhookSecret === null
      ? [
          `${place}.webhookSecret is missing: make an endpoint for /payments/stripe/notify (docs/payments.md) and copy its secret.`,
        ]
      : /^whsec_\S+$/.test(webhookSecret)
        ? []
        : [`${place}.webhookSecret must begin with whsec_.`]),
    ...(endpoint === null || endpoint.startsWith('https:') || isLoopbackHost(new URL(endpoint).hostname)
      ? []
      : [`${place}.endpoint: plain http would send the secret key in the clear; use https.`]),
  ]
}

function findManualErrors({ payments }: GatewayConfig): string[] {
  const { manual } = payments.providers
  if (manual === undefined) return []
  return (['en', 'zh'] as const).flatMap((language) => {
    const text = manual.instructions[language]
    if (text === null) return []
    const place = `payments.providers.manual.instructions.${language}`
    const unknown = [...text.matchAll(/\{(\w*)\}/g)].find(([, name = '']) => name !== 'reference' && name !== 'amount')
    return [
      ...(text.includes('{reference}')
        ? []
        : [`${place} must have {reference}: without it no transfer can be matched to its order.`]),
      ...(unknown === undefined ? [] : [`${place}: there is no ${unknown[0]}; there are {reference} and {amount}.`]),
    ]
  })
}

function findModuleErrors({ payments }: GatewayConfig): string[] {
  return Object.entries(payments.providers).flatMap(([name, provider]) => {
    const place = `payments.providers.${name}`
    if (reservedNames.has(name)) return [`${place}: this name is the program's own; choose another one.`]
    if (!/^[a-z][a-z0-9-]{0,31}$/.test(name))
      return [`${place}: a name has small letters, digits and hyphens, as it stands in an address.`]
    if (builtInNames.has(name) || provider === undefined || !('module' in provider)) return []
    const { module } = provider
    return !isPath(module) || existsSync(module) ? [] : [`${place}.module: there is no file ${module}.`]
  })
}

/** Anything else is the name of a package. */
export function isPath(module: string): boolean {
  return /^(?:\.{0,2}\/|[A-Za-z]:[\\/])/.test(module)
}

/** Anyone who reaches the page of the demonstration gets plans without paying. */
function findDemoErrors({ payments, listen }: GatewayConfig): string[] {
  if (!payments.demo) return []
  const { host, siteUrl, baseUrl, trustedProxies } = listen
  const publicUrl = [siteUrl, baseUrl].find((url) => url !== null && !isLoopbackHost(new URL(url).hostname))
  if (!isLoopbackHost(host)) return [`payments.demo: this server listens on ${host}; on loopback alone nothing is given away.`]
  if (publicUrl !== undefined)
    return [`payments.demo: this server is reached at ${publicUrl}; anyone there could buy without paying.`]
  if (trustedProxies.length > 0)
    return ['payments.demo: listen.trustedProxies names a proxy, so that others could reach the page that pays without money.']
  return []
}
