/** `/account/boosts`: extra credits: check-in, rush, invitation, and the packs that are left. */
import { renderSkeleton } from '../../components/skeleton.ts'
import { html } from '../../html.ts'
import type { PageContext, View } from '../../page.ts'
import { renderMemberPage } from './member-frame.ts'

export function createBoostsView(context: PageContext): View {
  const { account } = context.t
  return {
    title: account.boostsTitle,
    styles: 'account.css',
    main: renderMemberPage(
      context,
      html`<header class="page-head">
          <div>
            <h1>${account.boostsTitle}</h1>
            <p class="sub">${account.boostsLead}</p>
          </div>
        </header>
        <section class="card pad" data-live="boosts" aria-label="${account.boostsTitle}" aria-busy="true">
          <div data-content>${renderSkeleton(context.t, 'figures')}</div>
        </section>`,
    ),
    script: { name: 'boosts', texts: { account }, props: {} },
  }
}
