/** `/sign-out`: ends the session. The header of each page has its form, which scripts take over to ask about kept conversations. */
import { createCardView } from '../../components/card-page.ts'
import { PageForm } from '../../components/forms/form.ts'
import { html } from '../../html.ts'
import type { Html } from '../../html.ts'
import type { PageAction, PageContext, View } from '../../page.ts'

const path = '/sign-out'

export const signOutActions: Readonly<Record<string, PageAction>> = {
  async sign_out({ services, viewer, member }) {
    await services.membership.sessions.signOut(viewer.id, member.id, member.client)
    member.setSessionToken(null)
    return { path: '/' }
  },
}

export function createSignOutView(context: PageContext): View {
  const { frame } = context.t
  const button = html`<button class="button block" data-sign-out>${frame.signOut}</button>`
  return createCardView({ title: frame.signOut, content: renderSignOutForm(context, button) })
}

export function renderSignOutForm(context: PageContext, button: Html): Html {
  return new PageForm(context, 'sign_out').render({ path, content: button })
}
