/** A refusal in words: what happened, what to do next, and where the error is described. */
import type { Action, GatewayError } from '../../../errors.ts'
import { html } from '../../html.ts'
import type { Html } from '../../html.ts'
import type { PageContext } from '../../page.ts'

const links: Readonly<Partial<Record<Action, string>>> = { upgrade_plan: '/plans', use_boost: '/account/boosts' }

export function renderRefusal({ t, language }: PageContext, failure: GatewayError): Html {
  const steps = failure.actions.map((action) => {
    const { [action]: words } = t.common.whatNext
    const href = links[action]
    return href === undefined ? words : html`<a href="${href}">${words}</a>`
  })
  return html`<div class="notice bad" role="alert">
    <p>${language === 'zh' ? failure.messageZh : failure.message}</p>
    <p class="next-steps">
      ${steps.map((step) => html`${step} `)}
      <a href="/docs/errors#${failure.code}" target="_blank" rel="noopener">${t.common.aboutError}</a>
    </p>
  </div>`
}
