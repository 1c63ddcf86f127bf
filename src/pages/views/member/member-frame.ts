/** The frame of members' pages: a rail of links beside the content, which on narrow screens is a row above it. */
import { renderIconSymbols } from '../../components/icons.ts'
import { renderSkeleton } from '../../components/skeleton.ts'
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

/** A card that the page's script fills. */
export function renderLiveCard(
  { t }: PageContext,
  { name, title, lead = '' }: { readonly name: string; readonly title: string; readonly lead?: string },
): Html {
  return html`<section class="card pad" data-live="${name}" aria-labelledby="title-${name}" aria-busy="true">
    <div class="card-head">
      <h2 id="title-${name}">${title}</h2>
      ${lead !== '' && html`<p>${lead}</p>`}
    </div>
    <div data-content>${renderSkeleton(t, 'text')}</div>
  </section>`
}
