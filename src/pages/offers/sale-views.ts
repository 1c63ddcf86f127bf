/** The parts of `/plans` that exist only where plans are sold: the choice of prices, what a plan adds, and packs. */
import { formatPrice, toMoney } from '../../domain/billing/money.ts'
import { formatItemTitle } from '../../domain/billing/orders/order-title.ts'
import type { Plan } from '../../domain/billing/catalog/plan.ts'
import { planIncludes } from '../../domain/billing/catalog/plan.ts'
import { resolvePlan } from '../../domain/billing/subscriptions/terms.ts'
import { buildCheckoutPath } from '../../services/checkout-path.ts'
import type { Offer } from '../../domain/services/orders/order-answers.ts'
import { formatNumber } from '../format.ts'
import { html } from '../html.ts'
import type { Html } from '../html.ts'
import { interpolate } from '../page.ts'
import type { PageContext } from '../page.ts'
import { listPriceChoices } from './plan-offers.ts'
import type { PriceChoice } from './plan-offers.ts'

export interface Sale {
  readonly choice: PriceChoice
  /** Empty for a visitor. */
  readonly offers: readonly Offer[]
}

/** Links, one row for the interval and one for the currency; a row with one choice is left out. */
export function renderPriceChoice({ t, services, query }: PageContext, choice: PriceChoice): Html {
  const { intervals, currencies } = listPriceChoices(services.config)
  const plan = query.get('plan')
  const link = (change: Partial<PriceChoice>, label: string): Html => {
    const next = { ...choice, ...change }
    const isChosen = next.interval === choice.interval && next.currency === choice.currency
    const address = new URLSearchParams({ ...next, ...(plan === null ? {} : { plan: plan.slice(0, 64) }) })
    return html`<a href="/plans?${address.toString()}" ${isChosen && html`aria-current="true"`}>${label}</a>`
  }
  const names = { month: t.plans.monthly, year: t.plans.yearly }
  if (intervals.length < 2 && currencies.length < 2) return html``
  return html`<nav class="price-choice" aria-label="${t.plans.choices}">
    ${intervals.length > 1 && html`<p class="choice-row">${intervals.map((interval) => link({ interval }, names[interval]))}</p>`}
    ${currencies.length > 1 && html`<p class="choice-row">${currencies.map((currency) => link({ currency }, currency))}</p>`}
  </nav>`
}

/** What a plan gives beyond the reader's own; nothing for a visitor, and for a plan that gives no more. */
export function renderAdditions({ t, language, services, viewer }: PageContext, plan: Plan): Html {
  if (viewer === null) return html``
  const viewerPlan = resolvePlan(services.config, viewer)
  const { plans: texts } = t
  const additions: string[] = []
  for (const [pool, text] of [
    ['fast', texts.addsFast],
    ['premium', texts.addsPremium],
  ] as const) {
    const [mine, its] = [viewerPlan.pools[pool].month, plan.pools[pool].month]
    // Rounded down, so that nothing is promised that the plan does not give.
    const times = mine === 0 ? 0 : Math.floor((its * 10) / mine) / 10
    if (times > 1) additions.push(interpolate(text, { times: formatNumber(times, language) }))
  }
  const countModels = (each: Plan): number => services.products.all.filter(({ id }) => planIncludes(each, id)).length
  for (const [text, count] of [
    [texts.addsRpm, plan.rpm - viewerPlan.rpm],
    [texts.addsConcurrency, plan.concurrency - viewerPlan.concurrency],
    [texts.addsModels, countModels(plan) - countModels(viewerPlan)],
  ] as const)
    if (count > 0) additions.push(interpolate(text, { count: formatNumber(count, language) }))
  if (additions.length === 0) return html``
  return html`<div class="plan-adds">
    <p>${interpolate(texts.adds, { plan: viewerPlan.name })}</p>
    <ul class="ticks" role="list">
      ${additions.map((text) => html`<li>${text}</li>`)}
    </ul>
  </div>`
}

export function renderPacks({ t, language, services, viewer }: PageContext, { choice }: Sale): Html {
  const { packs } = services.config
  const { plans: texts } = t
  if (packs.length === 0) return html``
  return html`<section class="packs-for-sale" id="packs" aria-labelledby="packs-title">
    <h2 id="packs-title">${texts.packsTitle}</h2>
    <p class="sub">${texts.packsLead}</p>
    <ul class="pack-list" role="list">
      ${packs.map(({ id, credits, pool, days, prices }) => {
        const price = prices.find(({ currency }) => currency === choice.currency) ?? prices[0]
        if (price === undefined) return html``
        const checkout = buildCheckoutPath({ item: { kind: 'pack', pack: id }, currency: price.currency })
        const href = viewer === null ? `/sign-in?${new URLSearchParams({ next: checkout })}` : checkout
        const title = formatItemTitle({ kind: 'pack', credits, pool }, language)
        return html`<li class="card pack-offer">
          <div>
            <h3>${title}</h3>
            <p class="sub">
              ${days === null ? texts.packNoEnd : interpolate(texts.packDays, { count: formatNumber(days, language) })}
            </p>
          </div>
          <p class="price"><strong>${formatPrice(toMoney(price.amount, price.currency), language)}</strong></p>
          <a class="button quiet" href="${href}" aria-label="${texts.buy.pack}: ${title}">${texts.buy.pack}</a>
        </li>`
      })}
    </ul>
  </section>`
}
