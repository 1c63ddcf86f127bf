/**
 * Stripe's own library, loaded at the first call: it has 2 MB, and a start need not wait for it. Its failures become errors of the port, in
 * words that name the setting that cures them.
 */
import type Stripe from 'stripe'
import { PaymentProviderError } from '../../domain/billing/orders/payment-provider.ts'

const setting = 'payments.providers.stripe'
const timeoutMs = 10_000
/** The library repeats a request with the same idempotency key. */
const maxRetries = 1
const maxMessageChars = 300
/** Only the newest is in the library's types; the requests and answers here are those of this version, whatever the account's default is. */
const apiVersion = '2026-10-28.endive'

interface StripeClientOptions {
  readonly secretKey: string
  /** Null: Stripe's own address. */
  readonly endpoint: string | null
  readonly fetch: typeof globalThis.fetch
}

export class StripeClient {
  readonly #options: StripeClientOptions
  #loading: Promise<Stripe> | undefined

  constructor(options: StripeClientOptions) {
    this.#options = options
  }

  /** @throws PaymentProviderError */
  async call<Answer>(work: (stripe: Stripe) => Promise<Answer>): Promise<Answer> {
    this.#loading ??= this.#load()
    const stripe = await this.#loading
    try {
      return await work(stripe)
    } catch (error) {
      throw toProviderError(error)
    }
  }

  async #load(): Promise<Stripe> {
    const { default: StripeLibrary } = await import('stripe')
    const { secretKey, endpoint, fetch } = this.#options
    const url = endpoint === null ? null : new URL(endpoint)
    return new StripeLibrary(secretKey, {
      apiVersion,
      timeout: timeoutMs,
      maxNetworkRetries: maxRetries,
      telemetry: false,
      httpClient: StripeLibrary.createFetchHttpClient(fetch),
      ...(url === null ? {} : { host: url.hostname, port: url.port, protocol: url.protocol === 'http:' ? 'http' : 'https' }),
    })
  }
}

interface StripeFailure {
  readonly type?: unknown
  readonly code?: unknown
  readonly message?: unknown
  readonly param?: unknown
}

/** What Stripe says of a failure: its code, and the parameter that it refuses. */
export function getStripeFailure(error: unknown): Pick<StripeFailure, 'code' | 'param'> {
  const { cause } = Object(error) as { readonly cause?: StripeFailure }
  return cause ?? {}
}

function toProviderError(error: unknown): PaymentProviderError {
  if (error instanceof PaymentProviderError) return error
  const { type, code, message, param } = Object(error) as StripeFailure
  const words = quote(message)
  const options = { cause: error }
  switch (type) {
    case 'StripeAuthenticationError':
      return new PaymentProviderError('misconfigured', 'Stripe does not accept the secret key.', `${setting}.secretKey`, options)
    case 'StripePermissionError':
      return new PaymentProviderError(
        'misconfigured',
        `The key has no permission for this: ${words} Docs: docs/payments.md lists the permissions.`,
        `${setting}.secretKey`,
        options,
      )
    case 'StripeConnectionError':
      return new PaymentProviderError('unavailable', 'Stripe could not be reached.', null, options)
    case 'StripeRateLimitError':
      return new PaymentProviderError('unavailable', 'Stripe answers that there are too many requests.', null, options)
    case 'StripeIdempotencyError':
      return new PaymentProviderError(
        'refused',
        'Stripe has this order with other data. Cancel the order and make another one.',
        null,
        options,
      )
    case 'StripeCardError':
      return new PaymentProviderError('refused', `The card was not charged: ${words}`, null, options)
    case 'StripeInvalidRequestError':
      return explainRefusal(code, `${words}${typeof param === 'string' ? ` (${param})` : ''}`, options)
    default:
      return new PaymentProviderError('unavailable', `Stripe failed: ${words}`, null, options)
  }
}

/** What the operator can do about a request that Stripe does not take. */
function explainRefusal(code: unknown, words: string, options: ErrorOptions): PaymentProviderError {
  if (/similar object exists in (?:live|test) mode/.test(words))
    return new PaymentProviderError(
      'misconfigured',
      `The key is of the other mode (live or test) than the payment: ${words}`,
      `${setting}.secretKey`,
      options,
    )
  if (/automatic[ _]tax|head office|origin address|tax registration/i.test(words))
    return new PaymentProviderError('misconfigured', `Stripe Tax is not ready: ${words}`, `${setting}.automaticTax`, options)
  if (/portal/i.test(words) && /configuration/i.test(words))
    return new PaymentProviderError(
      'misconfigured',
      "Stripe's customer portal has no settings yet: save them in the dashboard (Settings, Billing, Customer portal).",
      null,
      options,
    )
  if (code === 'amount_too_small' || code === 'amount_too_large')
    return new PaymentProviderError('misconfigured', `Stripe does not charge this amount: ${words}`, 'prices', options)
  return new PaymentProviderError('refused', `Stripe refused: ${words}`, null, options)
}

/** Without what a message may quote of a member or of a key. */
function quote(message: unknown): string {
  const text = typeof message === 'string' ? message : 'no reason was given'
  const short = text
    .slice(0, maxMessageChars)
    .replaceAll(/\S+@\S+/g, '(an email address)')
    .replaceAll(/\b[sr]k_\w+\S*/g, '(a key)')
  return /[.!?]$/.test(short) ? short : `${short}.`
}
