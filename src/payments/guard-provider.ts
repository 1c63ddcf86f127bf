/**
 * Bounds what a provider does: each call in time, and each answer in its shape. Nothing else reads what a provider of its own module
 * returns, so that a wrong amount is refused here and never compared with a price.
 */
import { z } from 'zod'
import { maxMinorUnits } from '../domain/billing/money.ts'
import { PaymentNotificationError, PaymentProviderError } from '../domain/billing/orders/payment-provider.ts'
import type { PaymentProvider, ProviderSubscriptions } from '../domain/billing/orders/payment-provider.ts'
import type { Clock } from '../system/clock.ts'

/** Of one call, with all requests that it makes. */
const callMs = 30_000

const id = z.string().min(1).max(256)
const minorUnits = z.int().min(0).max(maxMinorUnits)
const money = z.object({ amount: minorUnits, currency: z.string().regex(/^[A-Z]{3}$/) })
const address = z.url({ protocol: /^https?$/ }).max(4096)
const instant = z.number().min(0).max(8_640_000_000_000_000)

const openedCheckout = z.object({
  reference: id,
  url: address.nullable(),
  instructions: z.string().max(4096).nullable(),
})
const paymentFacts = z.object({
  state: z.enum(['open', 'pending', 'paid', 'closed']),
  money: money.nullable(),
  payment: id.nullable(),
  refunded: minorUnits,
  dispute: z.enum(['none', 'open', 'won', 'lost']),
  subscription: id.nullable(),
  reason: z.string().max(1024).exactOptional(),
})
const refundFacts = z.object({
  state: z.enum(['done', 'pending', 'failed']),
  reference: id,
  reason: z.string().max(1024).exactOptional(),
})
const notificationFacts = z.object({
  id: id.nullable(),
  hints: z
    .array(
      z.discriminatedUnion('kind', [
        z.object({ kind: z.literal('order'), order: id }),
        z.object({ kind: z.literal('reference'), reference: id }),
        z.object({ kind: z.literal('payment'), payment: id }),
        z.object({ kind: z.literal('subscription'), reference: id }),
      ]),
    )
    .max(16),
  answer: z.object({ status: z.int().min(200).max(599), body: z.string().max(4096) }),
})
const subscriptionFacts = z.object({
  state: z.enum(['active', 'past_due', 'cancelled', 'ended']),
  invoices: z.array(z.object({ reference: id, payment: id, money, paidAt: instant })).max(1000),
  nextChargeAt: instant.nullable(),
})

interface GuardOptions {
  readonly clock: Pick<Clock, 'within'>
  /** The setting that names the provider. */
  readonly setting: string
}

export function guardProvider(provider: PaymentProvider, { clock, setting }: GuardOptions): PaymentProvider {
  const call = async <Facts>(what: string, schema: z.ZodType<Facts>, work: () => Promise<unknown>): Promise<Facts> => {
    let answer: unknown
    try {
      answer = await clock.within(callMs, work())
    } catch (thrown) {
      throw toProviderError(thrown, provider.name)
    }
    const parsedFacts = schema.safeParse(answer)
    if (parsedFacts.success) return parsedFacts.data
    const [issue] = parsedFacts.error.issues
    throw new PaymentProviderError(
      'unavailable',
      `${provider.name}: what ${what} returned is no answer of a provider (${issue?.path.join('.') ?? ''}: ${issue?.message ?? ''}).`,
      setting,
    )
  }
  const { subscriptions, diagnose } = provider
  return {
    name: provider.name,
    label: provider.label,
    isConfirmedByHand: provider.isConfirmedByHand,
    canRefund: provider.canRefund,
    create: (checkout) => call('create', openedCheckout, () => provider.create(checkout)),
    query: (payment) => call('query', paymentFacts, () => provider.query(payment)),
    cancel: (payment) => call('cancel', z.void(), () => provider.cancel(payment)),
    refund: (payment, amount, refundId) => call('refund', refundFacts, () => provider.refund(payment, amount, refundId)),
    readNotification: (notification) =>
      call('readNotification', notificationFacts, () => provider.readNotification(notification)),
    ...(subscriptions === undefined ? {} : { subscriptions: guardSubscriptions(subscriptions, call) }),
    ...(diagnose === undefined ? {} : { diagnose }),
  }
}

type Call = <Facts>(what: string, schema: z.ZodType<Facts>, work: () => Promise<unknown>) => Promise<Facts>

function guardSubscriptions(subscriptions: ProviderSubscriptions, call: Call): ProviderSubscriptions {
  return {
    query: (reference) => call('subscriptions.query', subscriptionFacts, () => subscriptions.query(reference)),
    cancelAtEnd: (reference) => call('subscriptions.cancelAtEnd', z.void(), () => subscriptions.cancelAtEnd(reference)),
    cancelNow: (reference) => call('subscriptions.cancelNow', z.void(), () => subscriptions.cancelNow(reference)),
    openPortal: (reference, returnUrl) =>
      call('subscriptions.openPortal', address, () => subscriptions.openPortal(reference, returnUrl)),
    previewChange: (reference, to) =>
      call('subscriptions.previewChange', money, () => subscriptions.previewChange(reference, to)),
    change: (reference, to, ordered) =>
      call('subscriptions.change', openedCheckout, () => subscriptions.change(reference, to, ordered)),
    changeAtRenewal: (reference, to) =>
      call('subscriptions.changeAtRenewal', z.void(), () => subscriptions.changeAtRenewal(reference, to)),
  }
}

/** What else a module throws may quote a request with its secrets, so the error names only its kind; the log has the cause. */
function toProviderError(thrown: unknown, name: string): Error {
  if (thrown instanceof PaymentProviderError || thrown instanceof PaymentNotificationError) return thrown
  return new PaymentProviderError('unavailable', `${name} could not be asked (${describeKind(thrown)}).`, null, { cause: thrown })
}

function describeKind(thrown: unknown): string {
  const { name, code, cause } = Object(thrown) as { readonly name?: unknown; readonly code?: unknown; readonly cause?: unknown }
  if (name === 'TimeoutError') return 'no answer in time'
  if (typeof code === 'string' && /^[A-Z][A-Z0-9_]*$/.test(code)) return code
  if (cause !== undefined) return describeKind(cause)
  return thrown instanceof Error ? thrown.name : 'it threw something that is no error'
}
