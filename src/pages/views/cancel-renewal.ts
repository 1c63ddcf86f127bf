/**
 * `/cancel-renewal?token=…`: the target of the link in emails about a renewal. It needs no sign-in and no script. Opening it changes nothing,
 * because mail scanners open links too; its form does.
 */
import { parseRenewalToken } from '../../domain/billing/email-link-token.ts'
import { GatewayError } from '../../errors.ts'
import { cancelRenewal } from '../../services/member-orders.ts'
import { createCardView } from '../components/card-page.ts'
import { html } from '../html.ts'
import type { Html } from '../html.ts'
import type { PageContext, View } from '../page.ts'

export function createCancelRenewalView(context: PageContext): View {
  const { t, query } = context
  readAccount(context)
  const token = encodeURIComponent(query.get('token') ?? '')
  return createView(
    context,
    html`<p class="sub">${t.orders.renewal.pageText}</p>
      <form method="post" action="/cancel-renewal?token=${token}">
        <div class="form-end"><button class="button block">${t.orders.renewal.cancel}</button></div>
      </form>`,
  )
}

export async function cancelRenewalByLink(context: PageContext): Promise<View> {
  const { t, services } = context
  await cancelRenewal(services, readAccount(context))
  return createView(
    context,
    html`<p class="sub" role="status">${t.orders.renewal.done}</p>
      <p class="form-links"><a href="/account/orders">${t.orders.title}</a></p>`,
  )
}

/** @throws GatewayError if the link was not made here */
function readAccount({ query, services }: PageContext): string {
  const account = parseRenewalToken(services.secret, query.get('token') ?? '')
  if (account === undefined) throw new GatewayError('link_invalid')
  return account
}

function createView({ t }: PageContext, content: Html): View {
  return createCardView({ title: t.orders.renewal.pageTitle, content })
}
