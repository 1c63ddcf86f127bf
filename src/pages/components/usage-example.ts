/** The figures of the account page as a picture, for visitors who have no account yet. */
import { formatNumber } from '../format.ts'
import { html } from '../html.ts'
import type { Html } from '../html.ts'
import { findRecommended, listOfferedPlans } from '../offers/plan-offers.ts'
import type { PageContext } from '../page.ts'

/** The usage of a member of the recommended plan, in the amounts of this installation. */
export function renderUsageExample({ t, language, services }: PageContext): Html {
  const { example } = t.home
  const recommendedOffer = findRecommended(listOfferedPlans(services.config))?.offers[0]
  const meter = (pool: 'fast' | 'premium', percent: number): Html => {
    const limit = recommendedOffer?.messages[pool].day ?? 100
    const usedMessages = formatNumber(Math.round((limit * percent) / 100), language)
    return html`<div class="${pool}">
      <p class="meter-head"><span>${t.plans[pool]}</span><span>${usedMessages} / ${formatNumber(limit, language)}</span></p>
      <svg class="example-meter" viewBox="0 0 100 2" preserveAspectRatio="none" aria-hidden="true">
        <rect width="100" height="2" />
        <rect class="used" width="${percent}" height="2" />
      </svg>
      <p class="meter-foot">${example.resets}</p>
    </div>`
  }
  return html`<figure class="example usage-example">
    <figcaption class="meter-foot">${example.usageLabel}</figcaption>
    <p class="example-title">${example.usageTitle}</p>
    ${meter('premium', 61)} ${meter('fast', 18)}
  </figure>`
}
