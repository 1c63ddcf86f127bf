/** `/operator/link`: opens the console by a link of `svc-gateway console`. Opening the address uses nothing: its button does. */
import { GatewayError } from '../../../../errors.ts'
import { isLoopbackHost } from '../../../../system/loopback.ts'
import { createCardView } from '../../../components/card-page.ts'
import { PageForm } from '../../../components/forms/form.ts'
import { html } from '../../../html.ts'
import { interpolate } from '../../../page.ts'
import type { PageActions, PageContext, PageRedirect, SubmittedForm, View } from '../../../page.ts'
import { texts } from '../../../texts/texts.ts'
import { requireConsole } from './console.ts'

export const shellLinkActions: PageActions<PageContext> = { open }

/** The answer to the first press of a double click is lost, and with it the cookie. */
export const shellLinkRepeats: PageActions<PageContext> = {
  async open({ services, browser }, form) {
    browser.setConsoleToken(deriveToken(services, form))
    return { path: '/operator' }
  },
}

export async function createShellLinkView(context: PageContext): Promise<View> {
  const { t, services, query, redrawn } = context
  await requireConsole(context)
  requireSafeAddress(context)
  const link = query.get('token') ?? redrawn?.fields.get('token') ?? ''
  const user = await services.membership.consoleSessions.findShellLink(link)
  if (user === undefined) throw createUsedLinkError()
  const form = new PageForm(context, 'open').render({
    hidden: { token: link },
    content: html`<div class="form-end"><button class="button block" autofocus>${t.operator.linkOpen}</button></div>`,
  })
  const lead = interpolate(t.operator.linkLead, { user })
  return createCardView({
    title: t.operator.title,
    content: html`<p class="sub">${lead}</p>
      ${form}`,
  })
}

async function open(context: PageContext, form: SubmittedForm): Promise<PageRedirect> {
  const { services, browser } = context
  requireSafeAddress(context)
  const token = deriveToken(services, form)
  const isOpened = await services.membership.consoleSessions.openByShellLink(readLink(form), token, browser.client)
  if (!isOpened) throw createUsedLinkError()
  browser.setConsoleToken(token)
  return { path: '/operator' }
}

function readLink({ fields }: SubmittedForm): string {
  return fields.get('token') ?? ''
}

function deriveToken({ membership }: PageContext['services'], form: SubmittedForm): string {
  return membership.formIds.deriveToken(form.fields.get('form') ?? '', 'shell link', readLink(form))
}

/** A link that a network can read is a credential of anyone on it. */
function requireSafeAddress({ services }: PageContext): void {
  const { protocol, hostname } = new URL(services.origins.site)
  if (protocol === 'https:' || isLoopbackHost(hostname)) return
  throw new GatewayError('permission_denied', {
    message: { en: texts.en.operator.linkUnsafe, zh: texts.zh.operator.linkUnsafe },
  })
}

function createUsedLinkError(): GatewayError {
  return new GatewayError('link_expired', { message: { en: texts.en.operator.linkUsed, zh: texts.zh.operator.linkUsed } })
}
