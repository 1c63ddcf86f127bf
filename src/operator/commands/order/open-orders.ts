/** The service of orders for a command, which asks providers and sends emails by itself: a server may run beside it, or none. */
import { toPackOffer } from '../../../domain/services/orders/order-checkout.ts'
import { OrderService } from '../../../domain/services/orders/order-service.ts'
import { PurchaseMailService } from '../../../domain/services/orders/purchase-mail-service.ts'
import { deliverClaim } from '../../../domain/services/boost-service.ts'
import { createMemberMail } from '../../../mail/member-mail.ts'
import type { EmailContent } from '../../../mail/email-templates.ts'
import { openPaymentProviders } from '../../../payments/open-payment-providers.ts'
import { readSecret } from '../../../server/open-store.ts'
import { DataFolder } from '../../../system/data-folder.ts'
import { deliverEmail } from '../../deliver-email.ts'
import type { Installation } from '../../installation.ts'

export interface OpenedOrders {
  readonly orders: OrderService
  /** Waits for emails, and returns a sentence about each. */
  finishEmails(): Promise<readonly string[]>
}

export async function openOrders(installation: Installation): Promise<OpenedOrders> {
  const { config, store, clock, calendar, ids, subscriptions, writeAudit } = installation
  const secret = await readSecret(config)
  const providers = await openPaymentProviders(config, { clock, secret, folder: new DataFolder(config.store.dataDir) })
  const sentences: string[] = []
  const deliver = async ({ to, ...content }: EmailContent & { readonly to: string | null }): Promise<boolean> => {
    if (to === null) return false
    const reason = await deliverEmail(installation, { to, ...content })
    sentences.push(reason === null ? `An email was sent to ${to}.` : `The email to ${to} was not sent (${reason}).`)
    return reason === null
  }
  const { siteUrl, host, port } = config.listen
  const site = siteUrl ?? `http://${host}:${port}`
  const mailer = createMemberMail(
    {
      enqueue: async (email) => ((await deliver(email)) ? 'queued' : 'unavailable'),
      deliver: async (email) => ((await deliver(email)) ? 'sent' : 'unavailable'),
    },
    { brand: config.brand.name, linkLifetimeMs: 0, origins: { site }, seller: config.payments },
  )
  const { plans, defaultPlan, timeZone } = config
  const failures: unknown[] = []
  const mail = new PurchaseMailService({
    store,
    mailer,
    plans: { plans, defaultPlan },
    clock,
    secret,
    timeZone,
    onFailure: (error) => failures.push(error),
  })
  const emails: Promise<void>[] = []
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
    onChanged: (order, steps) => void emails.push(mail.report(order, steps)),
    wasAnnounced: (subscription, terms) => mail.wasAnnounced(subscription, terms),
  })
  return {
    orders,
    async finishEmails() {
      await Promise.all(emails)
      return [...sentences, ...failures.map(() => 'An email could not be sent.')]
    },
  }
}
