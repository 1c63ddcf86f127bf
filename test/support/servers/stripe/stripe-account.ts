/** What the API of the stand-in for Stripe does, and what visitors, members and banks do. */
import { StripeObjects, StripeRefusal, addInterval } from './stripe-objects.ts'
import type { Parameters, StripeObject } from './stripe-objects.ts'

const daySeconds = 86_400

export class StripeAccount extends StripeObjects {
  /** The visitor pays on the page of a session. `slow`: by a transfer that `settle` ends. */
  pay(session: string, { slow = false }: { readonly slow?: boolean } = {}): void {
    const object = this.get(session)
    if (object['status'] !== 'open' || this.seconds() >= object['expires_at']) throw new Error('this session cannot be paid')
    object['status'] = 'complete'
    const { currency, amount_total: amount, metadata } = object
    if (object['mode'] === 'subscription') return this.#subscribe(object)
    object['payment_intent'] = this.charge({ amount, currency, metadata, slow })
    object['payment_status'] = slow ? 'unpaid' : 'paid'
    this.emit('checkout.session.completed', object)
  }

  /** The end of a slow payment. */
  settle(session: string, isGood: boolean): void {
    const object = this.get(session)
    const intent = this.get(object['payment_intent'])
    Object.assign(
      intent,
      isGood
        ? { status: 'succeeded' }
        : { status: 'requires_payment_method', last_payment_error: { message: 'The transfer was returned.' } },
    )
    if (isGood) Object.assign(object, { payment_status: 'paid' })
    this.emit(`checkout.session.async_payment_${isGood ? 'succeeded' : 'failed'}`, object)
  }

  /** The end of a period, with its charge. */
  renew(subscription: string): void {
    const object = this.get(subscription)
    const item = object['items'].data[0]
    if (object['cancel_at_period_end'] === true) {
      object['status'] = 'canceled'
      return this.emit('customer.subscription.deleted', object)
    }
    item.current_period_start = item.current_period_end
    item.current_period_end = addInterval(item.current_period_start, item.price.recurring.interval)
    const isPaid = this.acceptsCharges === 'yes'
    object['status'] = isPaid ? 'active' : 'past_due'
    const invoice = this.invoice(object, { amount: item.price.unit_amount, reason: 'subscription_cycle', isPaid })
    object['latest_invoice'] = invoice.id
    this.emit(isPaid ? 'invoice.paid' : 'invoice.payment_failed', invoice)
    this.emit('customer.subscription.updated', object)
  }

  /** The member pays an open invoice on its page. */
  payInvoice(id: string): void {
    const invoice = this.get(id)
    const subscription = this.get(invoice['parent'].subscription_details.subscription)
    this.recordInvoicePayment(invoice)
    if (subscription['pending_update'] != null) {
      Object.assign(subscription['items'].data[0], subscription['pending_update'])
      subscription['pending_update'] = null
    }
    subscription['status'] = 'active'
    this.emit('invoice.paid', invoice)
    this.emit('customer.subscription.updated', subscription)
  }

  dispute(intent: string): string {
    const charge = this.get(this.get(intent)['latest_charge'])
    charge['disputed'] = true
    const dispute = this.add('dispute', 'du', { payment_intent: intent, charge: charge['id'], status: 'needs_response' })
    this.emit('charge.dispute.created', dispute)
    return dispute['id']
  }

  closeDispute(id: string, status: 'won' | 'lost' | 'warning_closed'): void {
    this.emit('charge.dispute.closed', Object.assign(this.get(id), { status }))
  }

  /** The operator refunds in Stripe's dashboard. */
  refundInDashboard(intent: string, amount: number): void {
    this.#refund({ payment_intent: intent, amount: String(amount) })
  }

  /** One request of the API. */
  call(method: string, path: readonly string[], parameters: Parameters): unknown {
    const [first = '', second = '', third = '', fourth = ''] = path
    const resource = first === 'checkout' || first === 'billing_portal' ? `${first}/${second}` : first
    const [id, action] = resource === first ? [second, third] : [third, fourth]
    const route = `${method} ${resource}${id === '' ? '' : id === 'create_preview' ? '/create_preview' : '/id'}${action === '' ? '' : `/${action}`}`
    switch (route) {
      case 'POST checkout/sessions':
        return this.#createSession(parameters)
      case 'POST checkout/sessions/id/expire':
        return this.#expire(id)
      case 'POST refunds':
        return this.#refund(parameters)
      case 'POST subscriptions/id':
        return this.#update(id, parameters)
      case 'DELETE subscriptions/id':
        return this.#end(id)
      case 'POST billing_portal/sessions':
        return { object: 'billing_portal.session', url: `https://billing.stripe.example/${String(parameters['customer'])}` }
      case 'POST invoices/create_preview':
        return this.#preview(parameters)
      case 'POST invoices/id/void':
        return Object.assign(this.get(id), { status: 'void' })
      case 'POST products':
        if (this.objects.has(String(parameters['id'])))
          throw new StripeRefusal(400, 'invalid_request_error', 'Product already exists.', 'resource_already_exists')
        return this.add('product', 'prod', parameters)
      case 'GET webhook_endpoints':
        return toList(this.endpoints)
      case 'GET refunds':
      case 'GET disputes':
        return toList(this.list(first.slice(0, -1)).filter((each) => each['payment_intent'] === parameters['payment_intent']))
      case 'GET invoices':
        return toList(
          this.list('invoice')
            .filter((each) => each['parent'].subscription_details.subscription === parameters['subscription'])
            .filter(({ status }) => status === parameters['status'])
            .toReversed(),
        )
      default:
        if (method !== 'GET' || id === '')
          throw new StripeRefusal(404, 'invalid_request_error', `Unrecognized request URL (${route})`)
        return this.expand(this.get(id), parameters)
    }
  }

  #createSession(parameters: Parameters): StripeObject {
    const { price_data: price } = (parameters['line_items'] as Parameters)['0'] as { price_data: Parameters }
    const expires = Number(parameters['expires_at'])
    if (expires < this.seconds() + 1800 || expires > this.seconds() + daySeconds)
      throw new StripeRefusal(
        400,
        'invalid_request_error',
        'The `expires_at` timestamp must be between 30 minutes and 24 hours from now.',
        undefined,
        'expires_at',
      )
    const session = this.add('checkout.session', 'cs_test', {
      mode: parameters['mode'],
      status: 'open',
      payment_status: 'unpaid',
      amount_total: Number(price['unit_amount']),
      currency: price['currency'],
      client_reference_id: parameters['client_reference_id'],
      metadata: parameters['metadata'],
      expires_at: expires,
      payment_intent: null,
      subscription: null,
      invoice: null,
      price,
    })
    session['url'] = `https://checkout.stripe.example/c/pay/${session['id']}`
    return session
  }

  #expire(id: string): StripeObject {
    const session = this.get(id)
    if (session['status'] !== 'open')
      throw new StripeRefusal(400, 'invalid_request_error', 'Only sessions that are open can be expired.')
    session['status'] = 'expired'
    this.emit('checkout.session.expired', session)
    return session
  }

  #subscribe(session: StripeObject): void {
    const { price, currency, metadata } = session
    const start = this.seconds()
    const { interval } = price.recurring
    const item = {
      id: this.nextId('si'),
      price: {
        id: this.nextId('price'),
        product: this.nextId('prod'),
        currency,
        unit_amount: Number(price.unit_amount),
        recurring: { interval },
      },
      current_period_start: start,
      current_period_end: addInterval(start, interval),
    }
    const subscription = this.add('subscription', 'sub', {
      status: 'active',
      customer: this.nextId('cus'),
      cancel_at_period_end: false,
      cancel_at: null,
      pending_update: null,
      items: { data: [item] },
      metadata,
    })
    const invoice = this.invoice(subscription, { amount: session['amount_total'], reason: 'subscription_create', isPaid: true })
    subscription['latest_invoice'] = invoice.id
    Object.assign(session, { subscription: subscription['id'], invoice: invoice.id, payment_status: 'paid' })
    this.emit('invoice.paid', invoice)
    this.emit('checkout.session.completed', session)
  }

  #update(id: string, parameters: Parameters): StripeObject {
    const subscription = this.get(id)
    if (subscription['status'] === 'canceled')
      throw new StripeRefusal(400, 'invalid_request_error', 'A canceled subscription can only update its metadata.')
    if (parameters['cancel_at_period_end'] !== undefined)
      subscription['cancel_at_period_end'] = parameters['cancel_at_period_end'] === 'true'
    const change = (parameters['items'] as Parameters | undefined)?.['0'] as { price_data: Parameters } | undefined
    if (change !== undefined) {
      const amount =
        parameters['proration_behavior'] === 'none'
          ? null
          : this.#prorate(subscription, change.price_data, Number(parameters['proration_date']))
      const item = this.#toItem(subscription, change.price_data)
      if (amount === null || this.acceptsCharges === 'yes') Object.assign(subscription['items'].data[0], item)
      else subscription['pending_update'] = item
      if (amount !== null) {
        const invoice = this.invoice(subscription, {
          amount,
          reason: 'subscription_update',
          isPaid: this.acceptsCharges === 'yes',
        })
        subscription['latest_invoice'] = invoice.id
        if (this.acceptsCharges === 'yes') this.emit('invoice.paid', invoice)
      }
    }
    this.emit('customer.subscription.updated', subscription)
    return this.expand(subscription, parameters)
  }

  #toItem(subscription: StripeObject, price: Parameters): StripeObject {
    const [item] = subscription['items'].data
    const { interval } = price['recurring'] as { interval: string }
    const isNew = interval !== item.price.recurring.interval
    const start = isNew ? this.seconds() : item.current_period_start
    return {
      price: {
        ...item.price,
        product: price['product'],
        currency: price['currency'],
        unit_amount: Number(price['unit_amount']),
        recurring: { interval },
      },
      current_period_start: start,
      current_period_end: isNew ? addInterval(start, interval) : item.current_period_end,
    }
  }

  /** What is charged now: the new price for the rest of the period less the old one, or a new period less the rest of the old one. */
  #prorate(subscription: StripeObject, price: Parameters, date: number): number {
    const [item] = subscription['items'].data
    const { current_period_start: start, current_period_end: end } = item
    if (date < start || date > this.seconds())
      throw new StripeRefusal(400, 'invalid_request_error', 'Cannot specify `proration_date` outside of the current period.')
    const rest = (end - date) / (end - start)
    const isNew = (price['recurring'] as { interval: string }).interval !== item.price.recurring.interval
    return Math.max(0, Math.round(Number(price['unit_amount']) * (isNew ? 1 : rest)) - Math.round(item.price.unit_amount * rest))
  }

  #preview(parameters: Parameters): StripeObject {
    const details = parameters['subscription_details'] as Parameters
    const subscription = this.get(String(parameters['subscription']))
    const { price_data: price } = (details['items'] as Parameters)['0'] as { price_data: Parameters }
    return {
      object: 'invoice',
      amount_due: this.#prorate(subscription, price, Number(details['proration_date'])),
      currency: price['currency'],
    }
  }

  #end(id: string): StripeObject {
    const subscription = this.get(id)
    if (subscription['status'] === 'canceled')
      throw new StripeRefusal(404, 'invalid_request_error', `No such subscription: '${id}'`, 'resource_missing')
    subscription['status'] = 'canceled'
    this.emit('customer.subscription.deleted', subscription)
    return subscription
  }

  #refund(parameters: Parameters): StripeObject {
    const intent = this.get(String(parameters['payment_intent']))
    const charge = this.get(intent['latest_charge'])
    const amount = Number(parameters['amount'])
    if (charge['amount_refunded'] + amount > charge['amount'])
      throw new StripeRefusal(
        400,
        'invalid_request_error',
        'Refund amount is greater than unrefunded amount on charge.',
        'charge_already_refunded',
      )
    charge['amount_refunded'] += amount
    const refund = this.add('refund', 're', {
      payment_intent: intent['id'],
      amount,
      status: 'succeeded',
      metadata: parameters['metadata'] ?? {},
    })
    this.emit('charge.refunded', charge)
    return refund
  }
}

function toList(data: readonly StripeObject[]): StripeObject {
  return { object: 'list', data, has_more: false }
}
