/** The providers of a configuration, each loaded only where it is configured. */
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { importModule } from '../config/config.ts'
import { isPath } from '../config/checks/payment-checks.ts'
import type { GatewayConfig } from '../config/config.ts'
import type { PaymentProvider } from '../domain/billing/payment-provider.ts'
import type { Clock } from '../system/clock.ts'
import type { DataFolder } from '../system/data-folder.ts'
import { OperatorError, describeThrown } from '../system/operator-error.ts'
import { guardProvider } from './guard-provider.ts'
import { createPaymentFetch } from './payment-fetch.ts'
import type { PaymentProviderDeps } from './provider-module.ts'

interface ProviderDeps {
  readonly clock: Clock
  /** Of the installation. */
  readonly secret: Uint8Array
  readonly folder: DataFolder
}

/** By name; empty where nothing is sold. @throws OperatorError that names the setting */
export async function openPaymentProviders(
  { payments }: Pick<GatewayConfig, 'payments'>,
  deps: ProviderDeps,
): Promise<ReadonlyMap<string, PaymentProvider>> {
  const { clock, secret, folder } = deps
  const providers = new Map<string, PaymentProvider>()
  const add = (provider: PaymentProvider): void => {
    providers.set(provider.name, guardProvider(provider, { clock, setting: toSetting(provider.name) }))
  }
  const { stripe, manual, ...modules } = payments.providers
  if (stripe !== undefined) {
    requirePackage('stripe', toSetting('stripe'))
    const { StripeProvider } = await import('./stripe/stripe-provider.ts')
    add(new StripeProvider(stripe, { clock, fetch: createPaymentFetch(clock) }))
  }
  if (manual !== undefined) {
    const { ManualProvider } = await import('./manual-provider.ts')
    add(new ManualProvider(manual.instructions))
  }
  for (const [name, settings] of Object.entries(modules))
    add(await loadModule(settings, `${toSetting(name)}.module`, { name, clock, fetch: createPaymentFetch(clock) }))
  if (payments.demo) {
    const { DemoProvider } = await import('./demo/demo-provider.ts')
    providers.set('demo', new DemoProvider({ folder: folder.demoPayments, clock, secret, fetch: createPaymentFetch(clock) }))
  }
  return providers
}

function toSetting(name: string): string {
  return `payments.providers.${name}`
}

/** Optional packages are missing where npm was told to omit them. */
function requirePackage(name: string, setting: string): void {
  try {
    import.meta.resolve(name)
  } catch (error) {
    throw new OperatorError(`${setting} needs the package ${name}, which is not installed. Run: npm install ${name}`, {
      cause: error,
    })
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
      throw new OperatorError(`${setting}: ${module} exports no function createPaymentProvider.`)
    provider = await (createPaymentProvider as (options: object, deps: PaymentProviderDeps) => unknown)(options, deps)
  } catch (error) {
    if (error instanceof OperatorError) throw error
    throw new OperatorError(`${setting}: ${module} cannot be used: ${describeThrown(error)}`, { cause: error })
  }
  if (isProvider(provider, deps.name)) return provider
  throw new OperatorError(
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
