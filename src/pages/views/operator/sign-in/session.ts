/** `/operator/session`: who is signed in to the console, what they may do, and the fresh proof that money and keys need. */
import { isStepUpFresh, listScopes, stepUpMs } from '../../../../domain/identity/operators/operator-actor.ts'
import { GatewayError } from '../../../../errors.ts'
import { createProofError, renderConsoleProof, requireConsoleProof } from '../../../components/forms/console-proof.ts'
import { PageForm } from '../../../components/forms/form.ts'
import { renderFacts } from '../../../components/list.ts'
import { renderTime } from '../../../components/time.ts'
import { html } from '../../../html.ts'
import type { Html } from '../../../html.ts'
import { requireOperatorContext } from '../../../page.ts'
import type { OperatorActions, OperatorContext, PageContext, View } from '../../../page.ts'
import { nameOperator, nameRole, renderLeaveForm } from '../operator-name.ts'
import { createOperatorView } from '../operator-frame.ts'
import { passkeyActions, renderPasskeys } from './passkeys.ts'
import { drawRecoveryCodes } from './recovery-codes.ts'
import { consoleSections } from '../sections.ts'

const { path } = consoleSections.session

export const consoleSessionActions: OperatorActions = {
  ...passkeyActions,

  step_up: {
    access: { scope: null },
    async run({ operator }, form) {
      const refusal = await operator.stepUp(requireConsoleProof(form))
      if (refusal !== null) throw createProofError(refusal)
      return { path, done: 'verified' }
    },
  },

  renew_codes: {
    access: { scope: null, needsStepUp: true },
    async run(context) {
      const { actor } = context.operator
      if (actor.kind !== 'session') throw new GatewayError('permission_denied')
      const author = { actor, client: context.browser.client, reason: null }
      const codes = await context.services.membership.secondFactors.renewRecoveryCodes(actor.account, author)
      return drawRecoveryCodes(context, codes, path)
    },
  },

  close: {
    access: { scope: null },
    async run({ operator, services, browser }) {
      await services.membership.consoleSessions.end(operator.actor, browser.client)
      browser.setConsoleToken(null)
      return { path: '/' }
    },
  },
}

export async function createConsoleSessionView(page: PageContext): Promise<View> {
  const context = requireOperatorContext(page)
  const { t, services, operator } = context
  const { operator: texts } = t
  const { actor } = operator
  const isFresh = isStepUpFresh(actor, services.clock.now())
  const remainingCodes =
    actor.kind === 'session' ? await services.membership.secondFactors.countRecoveryCodes(actor.account) : null
  const facts = renderFacts([
    [texts.who, nameOperator(context)],
    [texts.role, nameRole(context)],
    [
      texts.scopes,
      html`<span class="scopes">${listScopes(actor).map((scope) => html`<code class="nowrap">${scope}</code> `)}</span>`,
    ],
    [texts.stepUp, isFresh ? html`${texts.stepUpUntil} ${renderTime(context, actor.verifiedAt + stepUpMs)}` : texts.stepUpOver],
    [texts.recoveryLeft, remainingCodes === null ? null : String(remainingCodes)],
  ])
  return createOperatorView(context, {
    title: t.console.sections.session,
    lead: texts.consoleLead,
    content: html`<section class="card pad" aria-label="${texts.who}">${facts}</section>
      ${!isFresh && renderStepUp(context)} ${await renderPasskeys(context, isFresh)}
      <div class="console-actions">
        ${isFresh && actor.kind === 'session' && renderRenewal(context)} ${renderLeaveForm(context, 'quiet')}
      </div>`,
  })
}

function renderStepUp(context: OperatorContext): Html {
  const { operator: texts } = context.t
  if (context.operator.actor.kind === 'shell') return html`<p class="notice warn">${texts.shellStepUp}</p>`
  const form = new PageForm(context, 'step_up')
  return html`<section class="card pad" aria-labelledby="title-step-up">
    <div class="card-head"><h2 id="title-step-up">${texts.stepUp}</h2></div>
    ${form.render({
      path,
      content: html`${renderConsoleProof(context, form, { purpose: context.operator.offersPasskey ? 'step_up' : null })}
        <div class="form-end"><button class="button">${texts.verify}</button></div>`,
    })}
  </section>`
}

function renderRenewal(context: OperatorContext): Html {
  const button = html`<button class="button quiet">${context.t.operator.renewCodes}</button>`
  return new PageForm(context, 'renew_codes').render({ path, content: button })
}
