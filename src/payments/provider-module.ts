/** What a module of `payments.providers` exports. */
import type { PaymentProvider } from '../domain/billing/orders/payment-provider.ts'

/** What the gateway gives a provider. */
export interface PaymentProviderDeps {
  /** The provider's name in the configuration, which is also the one in its notify address. */
  readonly name: string
  readonly clock: { readonly now: () => number }
  /** Like the global `fetch`, with at most 10 s and 1 MiB for an answer, and without redirects. */
  readonly fetch: typeof globalThis.fetch
}

/** `createPaymentProvider` of a module. @throws Error whose message tells the operator what to change */
export type CreatePaymentProvider = (
  options: Readonly<Record<string, unknown>>,
  deps: PaymentProviderDeps,
) => PaymentProvider | Promise<PaymentProvider>
