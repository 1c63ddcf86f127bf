/** `/plans`: what each plan includes, and what the reader can do about it. */
import { computeMessageCredits, typicalMessage } from '../../config/message-estimate.ts'
import { windows } from '../../domain/billing/catalog/plan.ts'
import type { Pool } from '../../domain/billing/catalog/product.ts'
import { formatCompactNumber, formatDate, formatMoney, formatNumber } from '../format.ts'
import { html } from '../html.ts'
import type { Html } from '../html.ts'
import { interpolate } from '../page.ts'
import type { PageContext, View } from '../page.ts'
import { choosePlanAction } from '../offers/plan-action.ts'
import type { Sale } from '../offers/sale-views.ts'
import { renderAdditions, renderPacks, renderPriceChoice } from '../offers/sale-views.ts'
import { findRecommended, listOfferedPlans, listPriceChoices } from '../offers/plan-offers.ts'
import type { Offer, OfferedPlan } from '../offers/plan-offers.ts'

export async function createPlansView(context: PageContext): Promise<View> {
  const { t, services, viewer } = context
  const sale = await readSale(context)
  const plans = listOfferedPlans(services.config, sale?.choice)
  const chosenPlan = findChosen(plans, context)
  const highlightedPlan = chosenPlan?.plan ?? (viewer === null ? findRecommended(plans) : undefined)
  return {
    title: t.plans.title,
    description: t.plans.lead,
    styles: 'plans.css',
    main: html`<div class="shell plans-page">
      <header class="page-head">
        <div>
          <h1>${t.plans.title}</h1>
          <p class="lead">
            ${chosenPlan !== undefined && html`<strong>${interpolate(t.plans.chosen, { plan: chosenPlan.plan.name })}</strong> `}${t.plans.lead}
          </p>
        </div>
      </header>
      ${sale !== null && renderPriceChoice(context, sale.choice)}
      <div class="plans">
        ${plans.map((plan) => renderPlan(plan, { isHighlighted: plan === highlightedPlan, chosen: chosenPlan?.offer, sale }, context))}
      </div>
      ${sale !== null && renderPacks(context, sale)} ${renderMessageNote(context)}
    </div>`,
  }
}

/** What is sold to this reader, and the interval and currency that the address chooses; null where nothing is sold. */
async function readSale({ services, viewer, query }: PageContext): Promise<Sale | null> {
  const { orders, config } = services
  if (orders === null) return null
  const { intervals, currencies } = listPriceChoices(config)
  const choice = {
    interval: intervals.find((each) => each === query.get('interval')) ?? intervals[0] ?? 'month',
    currency: currencies.find((each) => each === query.get('currency')) ?? currencies[0] ?? 'USD',
  }
  return { choice, offers: viewer === null ? [] : await orders.listOffers(viewer) }
}

/** The plan in the address, which signing in leads back to. */
function findChosen(plans: readonly OfferedPlan[], { query }: PageContext): { plan: OfferedPlan; offer: Offer } | undefined {
  const id = query.get('plan')
  for (const plan of plans) {
    const offer = plan.offers.find((each) => each.plan.id === id)
    if (offer !== undefined) return { plan, offer }
  }
  return undefined
}

interface CardOptions {
  readonly sale: Sale | null
  readonly isHighlighted: boolean
  /** The offer of any plan that the address names. */
  readonly chosen: Offer | undefined
}

function renderPlan(plan: OfferedPlan, { isHighlighted, chosen, sale }: CardOptions, context: PageContext): Html {
  const { t, viewer } = context
  const { name, offers } = plan
  const viewerOffer = offers.find((offer) => offer.plan.id === viewer?.plan)
  const shownOffer = chosen !== undefined && offers.includes(chosen) ? chosen : (viewerOffer ?? offers[0])
  const id = `plan-${offers[0]?.plan.id ?? ''}`
  return html`<article class="card plan${isHighlighted && ' highlighted'}" aria-labelledby="${id}">
    <div class="plan-head">
      <h2 id="${id}">${name}</h2>
      ${viewerOffer !== undefined && html`<span class="badge good">${t.plans.current}</span>`}
      ${viewerOffer === undefined && isHighlighted && chosen === undefined && html`<span class="badge accent">${t.plans.recommended}</span>`}
      ${offers.length > 1 && renderSizes(plan, shownOffer, context)}
    </div>
    ${offers.map((offer) => renderOffer(offer, { isPrimary: isHighlighted, sale }, context))}
  </article>`
}

/** Radio buttons that work without a script: the style sheet shows the offer of the checked one. */
function renderSizes({ name, offers }: OfferedPlan, shown: Offer | undefined, { t }: PageContext): Html {
  return html`<fieldset class="sizes">
    <legend class="unseen">${interpolate(t.plans.size, { plan: name })}</legend>
    ${offers.map(
      (offer) =>
        html`<label class="size"
          ><input
            type="radio"
            name="size-${offers[0]?.plan.id}"
            value="${offer.plan.id}"
            ${offer === shown && html`checked`}
          /><span>${formatSize(offer, t)}</span></label
        >`,
    )}
  </fieldset>`
}

function formatSize({ price, plan }: Offer, t: PageContext['t']): string {
  return price.multiplier === null ? plan.id : interpolate(t.plans.times, { count: price.multiplier })
}

interface OfferOptions {
  readonly isPrimary: boolean
  readonly sale: Sale | null
}

function renderOffer(offer: Offer, options: OfferOptions, context: PageContext): Html {
  const { t, language, services } = context
  const { plan, price, models } = offer
  const total = services.products.all.length
  const count = (text: string, value: number): string => interpolate(text, { count: formatNumber(value, language) })
  return html`<div class="offer">
    <p class="price">
      <strong>${formatMoney(price.amount, price.currency, language)}</strong>
      <span>${price.interval === 'month' ? t.plans.perMonth : t.plans.perYear}</span>
    </p>
    <div class="plan-action">${renderAction(offer, options, context)}</div>
    ${options.sale !== null && renderAdditions(context, plan)} ${renderFigures(offer, context)}
    <ul class="ticks" role="list">
      <li>${count(t.plans.rpm, plan.rpm)}</li>
      <li>${count(t.plans.concurrency, plan.concurrency)}</li>
      <li>${models === total ? count(t.plans.allModels, total) : interpolate(t.plans.someModels, { count: models, total })}</li>
      <li>${t.plans.boosts}</li>
    </ul>
  </div>`
}

function renderFigures({ plan, messages }: Offer, { t, language }: PageContext): Html {
  const cell = (pool: Pool, window: (typeof windows)[number]): Html => {
    const estimate = messages[pool][window]
    return html`<td class="number">
      <strong
        >${estimate === null ? t.plans.unlimited : interpolate(t.plans.about, { count: formatNumber(estimate, language) })}</strong
      >
      <span class="sub"
        >${interpolate(t.plans.credits, { count: formatCompactNumber(plan.pools[pool][window], language, 3) })}</span
      >
    </td>`
  }
  return html`<table class="figures">
    <caption>
      ${t.plans.included}
    </caption>
    <thead>
      <tr>
        <th scope="col"><span class="unseen">${t.plans.window}</span></th>
        <th scope="col" class="number">${t.plans.fast}</th>
        <th scope="col" class="number">${t.plans.premium}</th>
      </tr>
    </thead>
    <tbody>
      ${windows.map(
        (window) =>
          html`<tr>
            <th scope="row">${t.plans.windows[window]}</th>
            ${cell('fast', window)} ${cell('premium', window)}
          </tr>`,
      )}
    </tbody>
  </table>`
}

function renderAction(offer: Offer, { isPrimary, sale }: OfferOptions, context: PageContext): Html {
  const { plan, price } = offer
  const { t, viewer, services, locale } = context
  const { config } = services
  const action = choosePlanAction(plan, viewer, config, sale === null ? null : { offers: sale.offers, price })
  const name = price.multiplier !== null && price.multiplier > 1 ? `${plan.name} ${formatSize(offer, t)}` : plan.name
  const button = (href: string, label: string): Html =>
    html`<a class="button block${!isPrimary && ' quiet'}" href="${href}">${label}</a>`
  switch (action.kind) {
    case 'start':
      // Where only the operator creates accounts, the page offers no sign-up.
      return button(action.href, config.signIn.signUp === 'closed' ? t.plans.signIn : t.plans.start)
    case 'choose':
      return button(action.href, interpolate(t.plans.choose, { plan: name }))
    case 'current': {
      const { until } = action
      if (until === null) return html`<p class="plan-state">${t.plans.current}</p>`
      const date = formatDate(until, locale, config.timeZone)
      return html`<p class="plan-state">${interpolate(t.plans.currentUntil, { date })}</p>`
    }
    case 'buy': {
      const { until } = action
      const date = until === null ? '' : formatDate(until, locale, config.timeZone)
      return html`${until !== null && html`<p class="plan-state">${interpolate(t.plans.currentUntil, { date })}</p>`}
      ${button(action.href, interpolate(t.plans.buy[action.event], { plan: name }))}`
    }
    case 'included':
      return html`<p class="plan-state">${t.plans.isIncluded}</p>`
    case 'upgrade':
    case 'change':
      if (action.href === null) return html`<p class="plan-state">${interpolate(t.plans.noContact, { plan: name })}</p>`
      return button(action.href, interpolate(t.plans[action.kind], { plan: name }))
  }
}

function renderMessageNote({ t, language, services }: PageContext): Html {
  const credits = (pool: Pool): string => formatNumber(Math.round(computeMessageCredits(services.config, pool)), language)
  return html`<section class="plans-note" aria-labelledby="count">
    <h2 id="count">${t.plans.countTitle}</h2>
    <p>
      ${interpolate(t.plans.count, {
        input: formatNumber(typicalMessage.inputTokens, language),
        output: formatNumber(typicalMessage.outputTokens, language),
        fast: credits('fast'),
        premium: credits('premium'),
      })}
    </p>
    <p>${t.plans.credit}</p>
    ${
      services.orders === null
        ? html`<p>${t.plans.rules} <a href="/redeem">${t.plans.redeem}</a></p>
            <p>${t.plans.byOperator}</p>`
        : html`<p>${t.plans.rulesSold}</p>
            <p><a href="/docs/buying">${t.plans.buying}</a> · <a href="/redeem">${t.plans.codeToo}</a></p>`
    }
  </section>`
}
