/** `/sign-in/switch`: asks a signed-in member whom another site has sent to a provider's sign-in, which would replace the session. */
import { GatewayError } from '../../../errors.ts'
import { createCardView } from '../../components/card-page.ts'
import { html } from '../../html.ts'
import { interpolate } from '../../page.ts'
import type { PageContext, View } from '../../page.ts'
import { toSafeReturnPath } from '../../return-path.ts'

export function createSignInSwitchView({ t, query, services, viewer }: PageContext): View {
  const id = query.get('provider') ?? ''
  const { providers } = services.config.signIn
  const provider = Object.hasOwn(providers, id) ? providers[id] : undefined
  if (provider === undefined) throw new GatewayError('not_found')
  const invite = query.get('invite')
  const target = new URLSearchParams({ next: toSafeReturnPath(query.get('next')), ...(invite === null ? {} : { invite }) })
  const { title, ask, stay } = t.signInSwitch
  const name = provider.name
  return createCardView({
    title,
    content: html`<p class="sub">${interpolate(ask, { email: viewer?.email ?? viewer?.id ?? '–', name })}</p>
      <div class="form-end"><a class="button block" href="/account">${stay}</a></div>
      <p class="form-links">
        <a href="/api/membership/auth/oauth/${encodeURIComponent(id)}/start?${target.toString()}"
          >${interpolate(t.signIn.withProvider, { name })}</a
        >
      </p>`,
  })
}
