/** `/account/profile`: whose account this is, its plan, and which emails it gets. */
import { getPlan } from '../../../domain/billing/plan.ts'
import { formatDate } from '../../format.ts'
import { html } from '../../html.ts'
import { interpolate, requireMember } from '../../page.ts'
import type { PageContext, View } from '../../page.ts'
import { renderLiveCard, renderMemberPage } from './member-frame.ts'

export function createProfileView(context: PageContext): View {
  const { t, locale, services } = context
  const { account } = t
  const { viewer } = requireMember(context)
  const { timeZone } = services.config
  const plan = getPlan(services.config, viewer.plan)
  const until =
    viewer.planUntil === null ? '' : interpolate(account.planUntil, { date: formatDate(viewer.planUntil, locale, timeZone) })
  return {
    title: account.rail.profile,
    styles: 'account.css',
    main: renderMemberPage(
      context,
      html`<header class="page-head">
          <div><h1>${account.rail.profile}</h1></div>
        </header>
        <section class="card pad" aria-label="${account.rail.profile}">
          <dl class="facts">
            <dt>${t.signIn.email}</dt>
            <dd>${viewer.email}</dd>
            <dt>${account.plan}</dt>
            <dd>${plan.name} ${until} · <a href="/plans">${account.change}</a></dd>
            <dt>${account.since}</dt>
            <dd>${formatDate(viewer.createdAt, locale, timeZone)}</dd>
            <dt>${account.id}</dt>
            <dd><code>${viewer.id}</code></dd>
          </dl>
        </section>
        ${renderLiveCard(context, { name: 'alerts', title: account.alerts.title, lead: account.alerts.lead })}`,
    ),
    script: { name: 'profile', texts: { account }, props: {} },
  }
}
