/** A form of the console behind a button: its fields, the reason, and the code of the second factor where a fresh proof is missing. */
import { createDayFormat } from '../../../domain/billing/report-format.ts'
import { isStepUpFresh } from '../../../domain/identity/operators/operator-actor.ts'
import { maxReasonChars } from '../../../domain/services/operators/operator-author.ts'
import type { OperatorAuthor } from '../../../domain/services/operators/operator-author.ts'
import { renderConsoleProof } from '../../components/forms/console-proof.ts'
import { renderDialog, renderDialogEnd } from '../../components/dialog.ts'
import { readText } from '../../components/forms/fields.ts'
import { PageForm } from '../../components/forms/form.ts'
import { html } from '../../html.ts'
import type { Html } from '../../html.ts'
import type { OperatorAction, OperatorContext, SubmittedForm } from '../../page.ts'
import { hasScope } from './sections.ts'

interface ActionForm<Actions extends Readonly<Record<string, OperatorAction>>> {
  readonly actions: Actions
  readonly action: keyof Actions & string
  /** Where it is sent; the page without its query by default. */
  readonly path?: string
  /** Tells forms of one action apart, such as the id of a key. */
  readonly subject?: string
  readonly opener: string
  /** For screen readers, where the opener stands several times on the page. */
  readonly openerLabel?: string
  readonly title: string
  /** What it does, in one sentence. */
  readonly lead?: string
  readonly fields?: (form: PageForm) => Html
  readonly isDanger?: boolean
  /** The member reads the reason; otherwise it is in the audit log alone. */
  readonly isReasonShown?: boolean
}

/** Nothing where the operator's role does not allow the action. */
export function renderActionForm<Actions extends Readonly<Record<string, OperatorAction>>>(
  context: OperatorContext,
  { actions, action, subject = '', ...form }: ActionForm<Actions>,
): Html {
  const access = actions[action]?.access
  if (access === undefined || !hasScope(context, access.scope)) return html``
  const { t, operator, services } = context
  const { actionForm: texts } = t.console
  const { path = context.path, opener, openerLabel = opener, title, lead, fields, isDanger = false, isReasonShown = false } = form
  const needsProof = access.needsStepUp === true && !isStepUpFresh(operator.actor, services.clock.now())
  const pageForm = new PageForm(context, action, subject)
  const reason = html`maxlength="${maxReasonChars}" autocomplete="off" required`
  return renderDialog({
    id: `ask-${action}${subject === '' ? '' : `-${subject}`}`,
    opener,
    openerLabel,
    look: isDanger ? 'danger-quiet small' : 'quiet small',
    title,
    isOpen: pageForm.isRedrawn,
    content:
      needsProof && operator.actor.kind === 'shell'
        ? html`<p class="notice warn">${t.operator.shellStepUp}</p>`
        : pageForm.render({
            path,
            // What moves money or locks someone out waits for its button: Enter in a field presses the first one, which is disabled.
            content: html`<button hidden disabled></button> ${lead !== undefined && html`<p>${lead}</p>`} ${fields?.(pageForm)}
              ${pageForm.renderField({
                name: 'reason',
                label: texts.reason,
                hint: isReasonShown ? texts.reasonShown : texts.reasonKept,
                attributes: reason,
              })}
              ${needsProof && renderConsoleProof(context, pageForm, { purpose: operator.offersPasskey ? 'step_up' : null, hint: texts.proofHint })}
              ${renderDialogEnd({ t, path }, opener, isDanger ? 'danger' : '')}`,
          }),
  })
}

/** Of a field for a day in the future: the first one of the service's calendar. */
export function renderFutureDays({ services }: OperatorContext): Html {
  const { end } = services.calendar.getPeriods(services.clock.now()).day
  return html`min="${createDayFormat(services.config.timeZone)(end)}"`
}

/** Who makes the change that a form asks for, and the reason in it. @throws GatewayError at the field */
export function readAuthor(
  { operator, browser }: OperatorContext,
  form: SubmittedForm,
): OperatorAuthor & { readonly reason: string } {
  return { actor: operator.actor, client: browser.client, reason: readText(form, 'reason', maxReasonChars) }
}
