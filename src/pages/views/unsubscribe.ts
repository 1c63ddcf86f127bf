/**
 * `/unsubscribe?token=…`: the target of the link in usage alerts. It needs no sign-in and no script. Opening it changes nothing, because
 * mail scanners open links too; its form does, and so does the POST of a mail program (RFC 8058).
 */
import { GatewayError } from '../../errors.ts'
import { createCardView } from '../components/card-page.ts'
import { html } from '../html.ts'
import type { Html } from '../html.ts'
import type { PageContext, View } from '../page.ts'

export function createUnsubscribeView(context: PageContext): View {
  const { t, query, services } = context
  const token = query.get('token') ?? ''
  if (!services.membership.usageAlerts.isUnsubscribeToken(token)) throw new GatewayError('link_invalid')
  return createView(
    context,
    html`<p class="sub">${t.unsubscribe.ask}</p>
      <form method="post" action="/unsubscribe?token=${encodeURIComponent(token)}">
        <div class="form-end"><button class="button block">${t.unsubscribe.confirm}</button></div>
      </form>`,
  )
}

export async function unsubscribe(context: PageContext): Promise<View> {
  const { t, query, services } = context
  const isDone = await services.membership.usageAlerts.unsubscribe(query.get('token') ?? '')
  if (!isDone) throw new GatewayError('link_invalid')
  return createView(
    context,
    html`<p class="sub" role="status">${t.unsubscribe.done}</p>
      <p class="form-links"><a href="/account/profile">${t.unsubscribe.profile}</a></p>`,
  )
}

function createView({ t }: PageContext, content: Html): View {
  return createCardView({ title: t.unsubscribe.title, content })
}
