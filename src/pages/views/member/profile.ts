/** `/account/profile`: whose account this is, its plan, and which emails it gets. */
import { resolvePlan } from '../../../domain/billing/subscriptions/terms.ts'
import { PageForm } from '../../components/forms/form.ts'
import { renderFacts } from '../../components/list.ts'
import { formatDate } from '../../format.ts'
import { html } from '../../html.ts'
import { interpolate, requireMember } from '../../page.ts'
import type { PageAction, PageContext, View } from '../../page.ts'
import { createMemberView } from './member-frame.ts'

const path = '/account/profile'

export const profileActions: Readonly<Record<string, PageAction>> = {
  async alerts({ services, viewer, member }, { fields }) {
    const isEnabled = fields.has('enabled')
    await services.membership.usageAlerts.setSubscribed(viewer.id, isEnabled, member.client.reader)
    return { path, done: isEnabled ? 'on' : 'off' }
  },
}

export async function createProfileView(context: PageContext): Promise<View> {
  const { t, locale, services } = context
  const { account } = t
  const { viewer } = requireMember(context)
  const { timeZone } = services.config
  const plan = resolvePlan(services.config, viewer)
  const until =
    viewer.planUntil === null ? '' : interpolate(account.planUntil, { date: formatDate(viewer.planUntil, locale, timeZone) })
  const isEnabled = await services.membership.usageAlerts.isSubscribed(viewer.id)
  const form = new PageForm(context, 'alerts')
  return createMemberView(context, {
    title: account.rail.profile,
    content: html`<section class="card pad" aria-label="${account.rail.profile}">
        ${renderFacts([
          [t.signIn.email, viewer.email],
          [account.plan, html`${plan.name} ${until} · <a href="/plans">${account.change}</a>`],
          [account.since, formatDate(viewer.createdAt, locale, timeZone)],
          [account.id, html`<code>${viewer.id}</code>`],
        ])}
      </section>
      <section class="card pad" aria-labelledby="title-alerts">
        <div class="card-head">
          <h2 id="title-alerts">${account.alerts.title}</h2>
          <p>${account.alerts.lead}</p>
        </div>
        ${form.render({
          content: html`<label class="check">
              <input type="checkbox" name="enabled" ${isEnabled && html`checked`} /> ${account.alerts.label}
            </label>
            <div class="form-end"><button class="button">${account.alerts.save}</button></div>`,
        })}
      </section>`,
  })
}
