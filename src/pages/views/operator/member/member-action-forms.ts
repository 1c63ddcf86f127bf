/** The buttons of a member's page, each with its question. */
import type { Account } from '../../../../domain/identity/account.ts'
import { maxEmailChars } from '../../../components/forms/fields.ts'
import { html } from '../../../html.ts'
import type { Html } from '../../../html.ts'
import type { OperatorContext } from '../../../page.ts'
import { renderActionForm, renderFutureDays } from '../action-form.ts'
import { memberActions as actions } from './member-actions.ts'

export function renderMemberActions(context: OperatorContext, { plan, status }: Account): Html {
  const { t, services } = context
  const { member: texts } = t.console
  const plans = Object.keys(services.config.plans).map((id) => [id, id] as const)
  const pools = (['fast', 'premium'] as const).map((pool) => [pool, t.account[pool]] as const)
  const day = renderFutureDays(context)
  return html`<div class="console-actions">
    ${renderActionForm(context, {
      actions,
      action: 'set_plan',
      opener: texts.setPlan,
      title: texts.setPlanTitle,
      isReasonShown: true,
      fields: (form) =>
        html`${form.renderSelect('plan', texts.plan, plans, plan)}
        ${form.renderField({ name: 'until', label: texts.until, type: 'date', hint: texts.untilHint, attributes: day })}`,
    })}
    ${renderActionForm(context, {
      actions,
      action: 'adjust',
      opener: texts.adjust,
      title: texts.adjustTitle,
      isReasonShown: true,
      fields: (form) =>
        html`${form.renderSelect('pool', texts.pool, pools)}
        ${form.renderField({ name: 'credits', label: texts.credits, hint: texts.creditsHint, attributes: html`inputmode="numeric" autocomplete="off" required` })}
        ${form.renderField({ name: 'expires_at', label: texts.expiry, type: 'date', hint: texts.expiryHint, attributes: day })}`,
    })}
    ${renderActionForm(context, { actions, action: 'send_email', opener: texts.sendEmail, title: texts.sendEmailTitle })}
    ${renderActionForm(context, {
      actions,
      action: 'change_email',
      opener: texts.changeEmail,
      title: texts.changeEmailTitle,
      lead: texts.changeEmailLead,
      fields: (form) =>
        form.renderField({
          name: 'email',
          label: texts.newEmail,
          attributes: html`inputmode="email" autocomplete="off" autocapitalize="none" spellcheck="false"
          maxlength="${maxEmailChars}" required`,
        }),
    })}
    ${renderActionForm(context, { actions, action: 'end_sessions', opener: texts.endSessions, title: texts.endSessionsTitle, isDanger: true })}
    ${
      status === 'active'
        ? renderActionForm(context, {
            actions,
            action: 'disable',
            opener: texts.disable,
            title: texts.disableTitle,
            lead: texts.disableLead,
            isDanger: true,
          })
        : renderActionForm(context, { actions, action: 'enable', opener: texts.enable, title: texts.enableTitle })
    }
  </div>`
}
