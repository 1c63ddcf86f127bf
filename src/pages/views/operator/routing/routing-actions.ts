/** What operators do with products and targets: try one, take a target out, bring it back. */
import { maxTakenOutMinutes } from '../../../../domain/taken-out-target.ts'
import { errorCatalog } from '../../../../errors.ts'
import { bringBackTarget, listEmptiedProducts, takeOutTarget } from '../../../../services/routing/target-routing.ts'
import { tryRoute } from '../../../../services/routing/target-trial.ts'
import type { Trial, TrialSubject } from '../../../../services/routing/target-trial.ts'
import { createErrorInWords, readText } from '../../../components/forms/fields.ts'
import { PageForm } from '../../../components/forms/form.ts'
import { html } from '../../../html.ts'
import type { Html } from '../../../html.ts'
import { interpolate } from '../../../page.ts'
import type { OperatorAction, OperatorContext, SubmittedForm, View } from '../../../page.ts'
import { readAuthor, renderActionForm } from '../action-form.ts'
import { hasScope } from '../sections.ts'
import { formatMs } from '../turns/turn-table.ts'
import { toSamePage } from './route-links.ts'
import type { RoutingState } from './route-table.ts'

export const targetActions = {
  take_out: {
    access: { scope: 'routing:write' },
    async run(context, form) {
      const order = { target: form.subject, minutes: readMinutes(form), allowsLast: form.fields.get('allow_last') === 'yes' }
      await takeOutTarget(order, readAuthor(context, form), context.services)
      return { path: toSamePage(context), done: 'taken_out' }
    },
  },
  bring_back: {
    access: { scope: 'routing:write' },
    async run(context, form) {
      await bringBackTarget(form.subject, readAuthor(context, form), context.services)
      return { path: toSamePage(context), done: 'brought_back' }
    },
  },
} as const satisfies Readonly<Record<string, OperatorAction>>

/** The same page with the result, which is not kept. */
export function createTryAction(
  toSubject: (context: OperatorContext, form: SubmittedForm) => TrialSubject,
  draw: (context: OperatorContext, trial: Trial) => Promise<View>,
): OperatorAction {
  return {
    access: { scope: 'routing:write' },
    async run(context, form) {
      const author = { actor: context.operator.actor, client: context.browser.client, reason: null }
      return draw(context, await tryRoute(toSubject(context, form), author, context.services))
    },
  }
}

/** @throws GatewayError at the field */
function readMinutes(form: SubmittedForm): number {
  const text = readText(form, 'minutes', 6).replaceAll(/[\s,]/g, '')
  const minutes = /^\d{1,4}$/.test(text) ? Number(text) : 0
  if (minutes < 1 || minutes > maxTakenOutMinutes)
    throw createErrorInWords('invalid_request', 'minutes', (t) => t.console.routing.wholeMinutes)
  return minutes
}

/** Nothing where the operator's role does not allow it. */
export function renderTry(context: OperatorContext, name: string, subject = ''): Html {
  if (!hasScope(context, 'routing:write')) return html``
  const { routing: texts } = context.t.console
  return new PageForm(context, 'try', subject).render({
    path: toSamePage(context),
    content: html`<button class="button quiet small" aria-label="${interpolate(texts.tryLabel, { name })}">${texts.try}</button>`,
  })
}

export function renderTargetActions(
  context: OperatorContext,
  { takenOut }: Pick<RoutingState, 'takenOut'>,
  target: string,
): Html {
  const { t, services, language } = context
  const { routing: texts } = t.console
  const isOut = takenOut.some((each) => each.target === target)
  const others = new Set(takenOut.filter((each) => each.target !== target).map((each) => each.target))
  const emptiedProducts = listEmptiedProducts(target, others, services)
  const name = { name: target }
  const { en, zh, status } = errorCatalog.upstream_model_unavailable
  const last = interpolate(texts.last, { products: emptiedProducts.join(', '), status, code: 'upstream_model_unavailable' })
  return html`<div class="target-actions">
    ${renderTry(context, target, target)}
    ${renderActionForm(context, {
      actions: targetActions,
      path: toSamePage(context),
      action: 'take_out',
      subject: target,
      opener: texts.takeOut,
      openerLabel: interpolate(texts.takeOutLabel, name),
      title: interpolate(texts.takeOutTitle, name),
      lead: texts.takeOutLead,
      isDanger: emptiedProducts.length > 0,
      fields: (form) =>
        html`${form.renderField({
          name: 'minutes',
          label: texts.minutes,
          value: '30',
          hint: texts.minutesHint,
          attributes: html`inputmode="numeric" autocomplete="off" maxlength="6" required`,
        })}
        ${
          emptiedProducts.length > 0 &&
          form.renderSelect('allow_last', `${last}: ${language === 'zh' ? zh : en}`, [
            ['no', texts.lastNo],
            ['yes', texts.lastYes],
          ])
        }`,
    })}
    ${
      isOut &&
      renderActionForm(context, {
        actions: targetActions,
        path: toSamePage(context),
        action: 'bring_back',
        subject: target,
        opener: texts.bringBack,
        openerLabel: interpolate(texts.bringBackLabel, name),
        title: interpolate(texts.bringBackTitle, name),
      })
    }
  </div>`
}

/** What became of a try, in our words. */
export function renderTrial(context: OperatorContext, { target, status, durationMs, firstTokenMs, failure }: Trial): Html {
  const { trial: texts } = context.t.console.routing
  const time = formatMs(context, durationMs)
  if (failure === null) {
    const first = firstTokenMs === null ? '' : formatMs(context, firstTokenMs)
    const text = firstTokenMs === null ? texts.good : texts.goodFirst
    return html`<p class="notice" role="status">
      ${interpolate(text, { target: target ?? '', time, first, status: status ?? '–' })}
    </p>`
  }
  const { code } = failure
  const message = context.language === 'zh' ? failure.messageZh : failure.message
  const text = target === null ? texts.none : status === null ? texts.bad : texts.badStatus
  return html`<p class="notice warn" role="status">
    ${interpolate(text, { target: target ?? '', time, status: status ?? '', code, message })}
  </p>`
}
