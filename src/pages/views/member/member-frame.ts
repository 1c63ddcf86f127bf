/** The frame of members' pages: a rail of links beside the content, which on narrow screens is a row above it. */
import { renderIconSymbols } from '../../components/icons.ts'
import { html } from '../../html.ts'
import type { Html } from '../../html.ts'
import type { PageContext } from '../../page.ts'

export function renderMemberPage({ t, path }: PageContext, content: Html): Html {
  const { rail } = t.account
  const links = [
    ['/account', rail.usage],
    ['/account/boosts', rail.boosts],
    ['/keys', rail.keys],
    ['/sessions', rail.sessions],
    ['/account/security', rail.security],
    ['/account/profile', rail.profile],
  ] as const
  return html`<div class="shell member">
    <nav class="rail" aria-label="${rail.title}">
      ${links.map(([href, label]) =>
        href === path ? html`<a href="${href}" aria-current="page">${label}</a>` : html`<a href="${href}">${label}</a>`,
      )}
    </nav>
    <div class="dashboard">${content}</div>
    ${renderIconSymbols()}
  </div>`
}
