/** What Stripe knows about a payment: a Checkout Session (`cs_…`), or an invoice (`in_…`) of a renewal or of a changed plan. */
import type Stripe from 'stripe'
import type { PaymentFacts } from '../../domain/billing/orders/payment-provider.ts'
import { fromStripeAmount } from './stripe-amounts.ts'

const unpaidFacts = { money: null, payment: null, refunded: 0, dispute: 'none', subscription: null } as const

export async function querySession(stripe: Stripe, reference: string): Promise<PaymentFacts> {
  const session = await stripe.checkout.sessions.retrieve(reference, { expand: ['payment_intent.latest_charge'] })
  const { status, payment_status, payment_intent, amount_total, currency, subscription, invoice } = session
  const intent = typeof payment_intent === 'string' ? await retrieveIntent(stripe, payment_intent) : payment_intent
  if (status === 'open') return { state: 'open', ...unpaidFacts }
  if (status !== 'complete') return { state: 'closed', ...unpaidFacts }
  if (payment_status === 'unpaid') return describeUnpaid(intent)
  const paidFacts = {
    state: 'paid',
    money: amount_total === null || currency === null ? null : fromStripeAmount(amount_total, currency),
    subscription: getId(subscription),
  } as const
  if (intent !== null) return { ...paidFacts, payment: intent.id, ...(await describeMoneyBack(stripe, intent)) }
  const invoiceId = getId(invoice)
  if (invoiceId === null) return { ...paidFacts, payment: session.id, refunded: 0, dispute: 'none' }
  return { ...paidFacts, ...(await describeInvoicePayment(stripe, await retrieveInvoice(stripe, invoiceId))) }
}

export async function queryInvoice(stripe: Stripe, reference: string): Promise<PaymentFacts> {
  const invoice = await retrieveInvoice(stripe, reference)
  const { status, amount_paid, currency } = invoice
  if (status === 'draft' || status === 'open') return { state: 'open', ...unpaidFacts }
  if (status !== 'paid') return { state: 'closed', ...unpaidFacts }
  return {
    state: 'paid',
    money: fromStripeAmount(amount_paid, currency),
    subscription: getInvoiceSubscription(invoice),
    ...(await describeInvoicePayment(stripe, invoice)),
  }
}

/** The intent that paid an invoice; the invoice itself where a balance did. */
export function getInvoicePayment({ id, payments }: Stripe.Invoice): string {
  const paidPayment = payments?.data.find(({ status }) => status === 'paid')
  return getId(paidPayment?.payment.payment_intent) ?? id
}

export function getInvoiceSubscription({ parent }: Stripe.Invoice): string | null {
  return getId(parent?.subscription_details?.subscription)
}

export function getId(value: string | { readonly id: string } | null | undefined): string | null {
  return typeof value === 'string' ? value : (value?.id ?? null)
}

/** Transfers and some wallets take days, and can fail after the visitor has left. */
function describeUnpaid(intent: Stripe.PaymentIntent | null): PaymentFacts {
  if (intent === null || (intent.status !== 'requires_payment_method' && intent.status !== 'canceled'))
    return { state: 'pending', ...unpaidFacts }
  const reason = intent.last_payment_error?.message
  return { state: 'closed', ...unpaidFacts, ...(reason === undefined ? {} : { reason: reason.slice(0, 300) }) }
}

type MoneyBack = Pick<PaymentFacts, 'refunded' | 'dispute'>

async function describeInvoicePayment(stripe: Stripe, invoice: Stripe.Invoice): Promise<MoneyBack & { payment: string }> {
  const payment = getInvoicePayment(invoice)
  if (payment === invoice.id) return { payment, refunded: 0, dispute: 'none' }
  return { payment, ...(await describeMoneyBack(stripe, await retrieveIntent(stripe, payment))) }
}

async function describeMoneyBack(stripe: Stripe, { id, latest_charge }: Stripe.PaymentIntent): Promise<MoneyBack> {
  const charge = typeof latest_charge === 'string' ? await stripe.charges.retrieve(latest_charge) : latest_charge
  if (charge === null) return { refunded: 0, dispute: 'none' }
  const refundedAmount = fromStripeAmount(charge.amount_refunded, charge.currency).amount
  return { refunded: refundedAmount, dispute: charge.disputed ? await findDispute(stripe, id) : 'none' }
}

async function findDispute(stripe: Stripe, intent: string): Promise<PaymentFacts['dispute']> {
  const { data } = await stripe.disputes.list({ payment_intent: intent, limit: 100 })
  const states = data.map(({ status }) => toDispute(status))
  return (['open', 'lost', 'won'] as const).find((state) => states.includes(state)) ?? 'none'
}

function toDispute(status: string): PaymentFacts['dispute'] {
  if (status === 'won' || status === 'lost') return status
  // A bank's inquiry that ended, and a dispute that was settled before it began: no money moved.
  return status === 'warning_closed' || status === 'prevented' ? 'none' : 'open'
}

function retrieveIntent(stripe: Stripe, id: string): Promise<Stripe.PaymentIntent> {
  return stripe.paymentIntents.retrieve(id, { expand: ['latest_charge'] })
}

function retrieveInvoice(stripe: Stripe, id: string): Promise<Stripe.Invoice> {
  return stripe.invoices.retrieve(id, { expand: ['payments'] })
}
