/** The service of orders for a command, which asks providers and sends emails by itself: a server may run beside it, or none. */
import { getSiteOrigin } from '../../../config/site-origin.ts'
import { toPackOffer } from '../../../domain/services/orders/order-checkout.ts'
import { OrderService } from '../../../domain/services/orders/order-service.ts'
import type { OrderServicePort } from '../../../domain/services/orders/order-service-port.ts'
import { PurchaseMailService } from '../../../domain/services/orders/purchase-mail-service.ts'
import { deliverClaim } from '../../../domain/services/boost-service.ts'
import { createMemberMail } from '../../../mail/member-mail.ts'
import type { EmailContent } from '../../../mail/templates/email-templates.ts'
import { openPaymentProviders } from '../../../payments/open-payment-providers.ts'
import { readSecret } from '../../../server/installation/open-store.ts'
import { DataFolder } from '../../../system/data-folder/data-folder.ts'
import { deliverEmail } from '../../deliver-email.ts'
import type { Installation } from '../../installation.ts'

export interface OpenedOrders {
  readonly orders: OrderServicePort
  /** Sends the emails about an order that a running server has not begun to send, and returns a sentence about each. */
  sendEmails(order: string): Promise<readonly string[]>
}

export async function openOrders(installation: Installation): Promise<OpenedOrders> {
  const { config, store, clock, calendar, ids, subscriptions, writeAudit } = installation
  const secret = await readSecret(config)
  const providers = await openPaymentProviders(config, { clock, secret, folder: new DataFolder(config.store.dataDir) })
  const sentences: string[] = []
  const deliver = async ({ to, ...content }: EmailContent & { readonly to: string }): Promise<'sent' | 'unavailable'> => {
    const { reason } = await deliverEmail(installation, { to, ...content })
    sentences.push(
      reason === null
        ? `An email was sent to ${to}.`
        : `The email to ${to} was not sent (${reason}); a running server tries again.`,
    )
    return reason === null ? 'sent' : 'unavailable'
  }
  const site = getSiteOrigin(config.listen)
  const mailer = createMemberMail(
    { enqueue: async () => 'unavailable', deliver },
    { brand: config.brand.name, linkLifetimeMs: 0, origins: { site }, seller: config.payments },
  )
  const { plans, defaultPlan, timeZone } = config
  const mail = new PurchaseMailService({
    store,
    mailer,
    plans: { plans, defaultPlan },
    clock,
    secret,
    timeZone,
  })
  const orders = new OrderService({
    store,
    ledger: store.ledger,
    subscriptions,
    boosts: { deliver: (claim) => deliverClaim({ boosts: store.boosts, ledger: store.ledger }, claim) },
    providers,
    plans,
    defaultPlan,
    packs: config.packs.map(toPackOffer),
    calendar,
    clock,
    ids,
    writeAudit,
    // Running servers read the changed accounts from the database.
    onCredentialsChanged: () => undefined,
    getSite: () => site,
    wasAnnounced: (subscription, terms) => mail.wasAnnounced(subscription, terms),
  })
  return {
    orders,
    async sendEmails(order) {
      await mail.sendDue(new AbortController().signal, order)
      return sentences
    },
  }
}
