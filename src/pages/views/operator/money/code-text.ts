/** What a code gives, and its state. */
import type { CodeGift, RedeemCode } from '../../../../domain/billing/redeem-code.ts'
import { findCodeState } from '../../../../domain/billing/sale-lists.ts'
import type { CodeState } from '../../../../domain/billing/sale-lists.ts'
import { formatNumber } from '../../../format.ts'
import { html } from '../../../html.ts'
import type { Html } from '../../../html.ts'
import { interpolate } from '../../../page.ts'
import type { OperatorContext } from '../../../page.ts'

const looks: Readonly<Record<CodeState, string>> = { open: 'good', used_up: '', expired: 'warn', revoked: 'bad' }

export function renderCodeState({ t, services }: OperatorContext, code: RedeemCode): Html {
  const state = findCodeState(code, services.clock.now())
  return html`<span class="badge ${looks[state]}">${t.console.codes.states[state]}</span>`
}

export function nameGift({ t, language, services }: OperatorContext, gift: CodeGift): string {
  const { codes: texts } = t.console
  if (gift.kind === 'plan') {
    const plan = services.config.plans[gift.terms.plan.id]?.name ?? gift.terms.plan.name
    return interpolate(texts.givesPlan, { plan, terms: gift.terms.id, span: gift.span })
  }
  const values = { credits: formatNumber(gift.credits, language), pool: t.account[gift.pool], days: gift.days }
  return interpolate(texts.givesCredits, values)
}
