/** `/`: what this is, and what it costs, as configured. */
import { offeredPlans, tokensFor } from '../catalogue.ts'
import type { Offer, OfferedPlan } from '../catalogue.ts'
import { figure, money, roughFigure } from '../figures.ts'
import { html } from '../html.ts'
import type { Html } from '../html.ts'
import { fill } from '../page.ts'
import type { PageContext, View } from '../page.ts'
import { effectivePrice } from '../../config/products.ts'
import { windows } from '../../membership/plan.ts'
import type { PoolLimits } from '../../membership/plan.ts'
import type { Pool } from '../../membership/product.ts'

export function homeView(context: PageContext): View {
  const { t, services } = context
  const brand = services.config.brand.name
  return {
    title: fill(t.home.title, { brand }),
    description: t.home.description,
    main: html`${hero(context)} ${points(context)} ${plans(context)} ${models(context)} ${ending(context)}`,
  }
}

function hero(context: PageContext): Html {
  const { t } = context
  return html`<section class="hero">
    <div class="shell hero-row">
      <div class="hero-words">
        <p class="eyebrow">${t.home.eyebrow}</p>
        <h1>${t.home.headline}</h1>
        <p class="lead">${t.home.lead}</p>
        <p class="actions">${firstStep(context)} <a class="button quiet large" href="/docs">${t.home.readDocs}</a></p>
      </div>
      ${terminal(context)}
    </div>
  </section>`
}

function firstStep({ t, viewer, services }: PageContext): Html {
  // Nobody is promised an account where only the operator makes them.
  const start = services.config.signIn.signUp === 'closed' ? t.frame.signIn : t.home.start
  return viewer === null
    ? html`<a class="button large" href="/sign-in">${start}</a>`
    : html`<a class="button large" href="/chat">${t.home.open}</a>`
}

function terminal({ t, services }: PageContext): Html {
  const { origins, names, products } = services
  const model = products.all.find(({ capabilities }) => capabilities.includes('chat'))?.id ?? 'auto'
  const line = (text: string): Html => html`<span class="line">${text}</span>`
  return html`<figure class="terminal" role="img" aria-label="${t.home.terminalLabel}">
    <div class="terminal-bar"><i></i><i></i><i></i><span>${new URL(origins.base).host}</span></div>
    <pre>${line(`$ curl ${origins.base}/v1/chat/completions \\`)}${line(`    -H "Authorization: Bearer ${names.keyPrefix}…" \\`)}${line(
      '    -H "Content-Type: application/json" \\',
    )}${line(`    -d '{"model": "${model}", "messages": [{`)}${line(`      "role": "user",`)}${line(
      `      "content": "${t.home.terminalAsk}"}]}'`,
    )}<span class="line answer">${t.home.terminalAnswer}</span></pre>
    <figcaption>${t.home.terminalNote}</figcaption>
  </figure>`
}

const icons: readonly Html[] = [
  html`<path d="M4 12a8 8 0 1 0 2.6-5.9M4 4v4.5h4.5" /><path d="m9 12 2.2 2.2L15.5 10" />`,
  html`<path d="M8 6H6a3 3 0 0 0-3 3v6a3 3 0 0 0 3 3h2M16 6h2a3 3 0 0 1 3 3v6a3 3 0 0 1-3 3h-2M8.5 12h7" />`,
  html`<path d="M5 20V10M12 20V4M19 20v-7" />`,
]

function points({ t }: PageContext): Html {
  return html`<section class="shell points">
    ${t.home.points.map(
      ({ title, text }, index) =>
        html`<div class="point">
          <svg class="glyph" viewBox="0 0 24 24" aria-hidden="true">${icons[index]}</svg>
          <h2>${title}</h2>
          <p>${text}</p>
        </div>`,
    )}
  </section>`
}

function plans(context: PageContext): Html {
  const { t, services } = context
  const offered = offeredPlans(services.config)
  const favourite = offered.find(({ offers }) => (offers[0]?.price.amount ?? 0) > 0)
  return html`<section class="shell section" id="plans">
    <div class="section-head">
      <h2>${t.home.plansTitle}</h2>
      <p>${t.home.plansLead}</p>
    </div>
    <div class="plans">${offered.map((plan) => planCard(plan, plan === favourite, context))}</div>
    <p class="fine">${t.home.estimate}</p>
  </section>`
}

function planCard({ name, offers }: OfferedPlan, favourite: boolean, context: PageContext): Html {
  const { t, viewer } = context
  const theirs = viewer !== null && offers.some(({ id }) => id === viewer.plan)
  const [first] = offers
  return html`<article class="card plan${favourite && ' favourite'}${offers.length > 1 && ' several'}">
    <h3>${name}${theirs && html` <span class="badge">${t.home.yours}</span>`}</h3>
    <div class="offers">${offers.map((offer) => offerBlock(offer, context))}</div>
    ${
      first !== undefined &&
      html`<ul class="ticks">
        <li>${allowance(first, offers, context, 'rpm')}</li>
        <li>${allowance(first, offers, context, 'concurrency')}</li>
        <li>${modelCount(first, context)}</li>
        <li>${t.home.boosts}</li>
      </ul>`
    }
    ${viewer === null && html`<a class="button ${!favourite && 'quiet'}" href="/sign-in">${t.home.choose}</a>`}
  </article>`
}

function offerBlock({ price, plan }: Offer, context: PageContext): Html {
  const { t, language } = context
  const every = price.interval === 'month' ? t.home.perMonth : t.home.perYear
  return html`<div class="offer">
    <p class="price">
      <strong>${money(price.amount, price.currency, language)}</strong>
      <span>${every}</span>
      ${price.multiplier !== null && price.multiplier > 1 && html`<em>${fill(t.home.times, { count: price.multiplier })}</em>`}
    </p>
    <p class="included">${t.home.includes}</p>
    <dl class="pairs">
      ${poolPair(t.home.light, 'fast', plan.pools.fast, context)}
      ${poolPair(t.home.flagship, 'premium', plan.pools.premium, context)}
    </dl>
  </div>`
}

/** A day's share does not come seven times a week, so all three windows are said. */
function poolPair(label: string, pool: Pool, limits: PoolLimits, { t, services, language }: PageContext): Html {
  const amount = (credits: number): string => {
    const tokens = tokensFor(credits, pool, services.config)
    return tokens === null ? figure(credits, language) : fill(t.home.aboutTokens, { count: roughFigure(tokens, language) })
  }
  return html`<dt>${label}</dt>
    <dd>
      ${windows.map((window) => html`<span class="window">${fill(t.home.windows[window], { amount: amount(limits[window]) })}</span> `)}
    </dd>`
}

/** One number, or the range over a plan's price points. */
function allowance(first: Offer, offers: readonly Offer[], { t, language }: PageContext, what: 'rpm' | 'concurrency'): string {
  const most = Math.max(...offers.map(({ plan }) => plan[what]))
  const least = first.plan[what]
  const count = most === least ? figure(least, language) : `${figure(least, language)}–${figure(most, language)}`
  return fill(t.home[what], { count })
}

function modelCount({ models }: Offer, { t, services }: PageContext): string {
  const total = services.products.all.length
  return models === total ? fill(t.home.allModels, { count: total }) : fill(t.home.someModels, { count: models, total })
}

function models({ t, services, language }: PageContext): Html {
  const { config, products } = services
  const amounts = (price: number, effective: number): Html =>
    price === effective
      ? html`${money(price, 'USD', language)}`
      : html`<span class="now">${money(effective, 'USD', language)}</span>
          <s><span class="unseen">${t.home.listPrice} </span>${money(price, 'USD', language)}</s>`
  const rows = products.all.map(({ id, name, tier, contextLength }) => {
    const price = effectivePrice(config, tier)
    return html`<tr>
      <th scope="row"><code>${id}</code><span class="sub">${name}</span></th>
      <td><span class="badge ${tier}">${t.home[tier]}</span></td>
      <td class="number">${roughFigure(contextLength, language, 3)}</td>
      <td class="number">${amounts(price.input, price.effectiveInput)}</td>
      <td class="number">${amounts(price.output, price.effectiveOutput)}</td>
    </tr>`
  })
  const discounts = (['light', 'flagship'] as const)
    .map((tier) => ({ tier, percent: config.prices[tier].discountPercent }))
    .filter(({ percent }) => percent > 0)
  return html`<section class="shell section" id="models">
    <div class="section-head">
      <h2>${t.home.modelsTitle}</h2>
      <p>${t.home.modelsLead}</p>
      <p class="badges">
        ${discounts.map(
          ({ tier, percent }) => html`<span class="badge accent">${t.home[tier]}: ${fill(t.home.discount, { percent })}</span> `,
        )}
      </p>
    </div>
    <div class="table-box card" tabindex="0" role="region" aria-label="${t.home.modelsTitle}">
      <table>
        <caption>
          ${t.home.perMillion}
        </caption>
        <thead>
          <tr>
            <th scope="col">${t.home.model}</th>
            <th scope="col">${t.home.tier}</th>
            <th scope="col" class="number">${t.home.context}</th>
            <th scope="col" class="number">${t.home.input}</th>
            <th scope="col" class="number">${t.home.output}</th>
          </tr>
        </thead>
        <tbody>
          ${rows}
        </tbody>
      </table>
    </div>
  </section>`
}

function ending(context: PageContext): Html {
  const { t } = context
  return html`<section class="shell section">
    <div class="ending">
      <div>
        <h2>${t.home.endTitle}</h2>
        <p>${t.home.endText}</p>
      </div>
      ${firstStep(context)}
    </div>
  </section>`
}
