/** The providers of a configuration, each loaded only where it is configured. */
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { ConfigError, importModule } from '../config/config.ts'
import { isPath } from '../config/checks/payment-checks.ts'
import type { GatewayConfig } from '../config/config.ts'
import { toMoney } from '../domain/billing/money.ts'
import type { Money } from '../domain/billing/money.ts'
import type { PaymentProvider } from '../domain/billing/orders/payment-provider.ts'
import type { Clock } from '../system/clock.ts'
import type { DataFolder } from '../system/data-folder/data-folder.ts'
import { describeThrown } from '../system/operator-error.ts'
import type { PaymentProviderDeps } from './provider-module.ts'

interface ProviderDeps {
  readonly clock: Clock
  /** Of the installation. */
  readonly secret: Uint8Array
  readonly folder: DataFolder
}

/** By name; empty where nothing is sold. @throws ConfigError that names the setting */
export async function openPaymentProviders(
  config: Pick<GatewayConfig, 'payments' | 'plans' | 'packs'>,
  deps: ProviderDeps,
): Promise<ReadonlyMap<string, PaymentProvider>> {
  const { payments } = config
  const { clock, secret, folder } = deps
  const providers = new Map<string, PaymentProvider>()
  if (Object.keys(payments.providers).length === 0 && !payments.demo) return providers
  // A start that sells nothing need not load them.
  const [{ guardProvider }, { createPaymentFetch }] = await Promise.all([
    import('./guard-provider.ts'),
    import('./payment-fetch.ts'),
  ])
  const fetch = createPaymentFetch(clock)
  const add = (provider: PaymentProvider): void => {
    providers.set(provider.name, guardProvider(provider, { clock, setting: toSetting(provider.name) }))
  }
  const { stripe, manual, ...modules } = payments.providers
  if (stripe !== undefined) {
    requirePackage('stripe', toSetting('stripe'))
    const { StripeProvider } = await import('./stripe/stripe-provider.ts')
    const { toStripeAmount } = await import('./stripe/stripe-amounts.ts')
    checkPrices(config, toSetting('stripe'), toStripeAmount)
    add(new StripeProvider(stripe, { clock, fetch }))
  }
  if (manual !== undefined) {
    const { ManualProvider } = await import('./manual-provider.ts')
    add(new ManualProvider(manual.instructions))
  }
  for (const [name, settings] of Object.entries(modules)) {
    // The schema requires one; only the types admit others.
    if (!('module' in settings)) continue
    add(await loadModule(settings, `${toSetting(name)}.module`, { name, clock, fetch }))
  }
  if (payments.demo) {
    const { DemoProvider } = await import('./demo/demo-provider.ts')
    providers.set('demo', new DemoProvider({ folder: folder.demoPayments, clock, secret, fetch }))
  }
  return providers
}

function toSetting(name: string): string {
  return `payments.providers.${name}`
}

/** A price that the provider could never charge stops the start. */
function checkPrices(
  { plans, packs }: Pick<GatewayConfig, 'plans' | 'packs'>,
  setting: string,
  check: (money: Money) => unknown,
): void {
  for (const { amount, currency } of [...Object.values(plans), ...packs].flatMap(({ prices }) => prices))
    try {
      check(toMoney(amount, currency))
    } catch (error) {
      throw new ConfigError(`${setting}: ${describeThrown(error)}`)
    }
}

/** Optional packages are missing where npm was told to omit them. */
function requirePackage(name: string, setting: string): void {
  try {
    import.meta.resolve(name)
  } catch {
    throw new ConfigError(`${setting} needs the package ${name}, which is not installed. Run: npm install ${name}`)
  }
}

async function loadModule(
  { module, options }: { readonly module: string; readonly options: Readonly<Record<string, unknown>> },
  setting: string,
  deps: PaymentProviderDeps,
): Promise<PaymentProvider> {
  let provider: unknown
  try {
    const { createPaymentProvider } = await importModule(isPath(module) ? pathToFileURL(resolve(module)).href : module)
    if (typeof createPaymentProvider !== 'function')
      throw new ConfigError(`${setting}: ${module} exports no function createPaymentProvider.`)
    provider = await (createPaymentProvider as (options: object, deps: PaymentProviderDeps) => unknown)(options, deps)
  } catch (error) {
    if (error instanceof ConfigError) throw error
    throw new ConfigError(`${setting}: ${module} cannot be used: ${describeThrown(error)}`)
  }
  if (isProvider(provider, deps.name)) return provider
  throw new ConfigError(
    `${setting}: what createPaymentProvider of ${module} returned is no provider; it needs its name, a label in both languages, isConfirmedByHand, canRefund and the methods of the port.`,
  )
}

const methods = ['create', 'query', 'cancel', 'refund', 'readNotification'] as const

function isProvider(value: unknown, name: string): value is PaymentProvider {
  if (typeof value !== 'object' || value === null) return false
  const provider = value as Partial<PaymentProvider>
  const { label } = provider
  return (
    provider.name === name &&
    typeof label?.en === 'string' &&
    typeof label.zh === 'string' &&
    typeof provider.isConfirmedByHand === 'boolean' &&
    typeof provider.canRefund === 'boolean' &&
    methods.every((method) => typeof provider[method] === 'function')
  )
}
