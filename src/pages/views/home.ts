/** `/`: the landing page with the configured plans and prices. */
import { listOfferedPlans } from '../offers/plan-offers.ts'
import { formatNumber, formatMoney, formatCompactNumber } from '../format.ts'
import { renderDataTable } from '../components/data-table.ts'
import { renderUsageExample } from '../components/usage-example.ts'
import { html, renderTitle } from '../html.ts'
import type { Html } from '../html.ts'
import { interpolate } from '../page.ts'
import type { PageContext, View } from '../page.ts'
import { computeEffectivePrice, hasCachedPrice } from '../../config/products.ts'
import { clientEntries } from '../../setup/client-setups.ts'

export function createHomeView(context: PageContext): View {
  const { t, services } = context
  const brand = services.config.brand.name
  return {
    title: interpolate(t.home.title, { brand }),
    description: t.home.description,
    styles: 'home.css',
    main: html`${renderHero(context)} ${renderPoints(context)} ${renderTools(context)} ${renderUsage(context)}
    ${renderPlans(context)} ${renderModels(context)} ${renderQuestions(context)} ${renderEnding(context)}`,
  }
}

function renderHero(context: PageContext): Html {
  const { t } = context
  return html`<section class="hero">
    <div class="shell hero-row">
      <div class="hero-words">
        <p class="eyebrow">${t.home.eyebrow}</p>
        <h1>${renderTitle(t.home.headline)}</h1>
        <p class="lead">${t.home.lead}</p>
        <p class="actions">${renderFirstStep(context)} <a class="button quiet large" href="/docs">${t.home.readDocs}</a></p>
      </div>
      ${renderChatExample(context)}
    </div>
  </section>`
}

/** The chat as a member sees it, with prices of this installation. */
function renderChatExample({ t, services, language }: PageContext): Html {
  const { products, config } = services
  const { example } = t.home
  const model =
    products.all.find(({ tier, capabilities }) => tier === 'flagship' && capabilities.includes('chat')) ?? products.all[0]
  const price = computeEffectivePrice(config, model?.tier ?? 'flagship')
  const credits = formatNumber(Math.round(412 * price.effectiveInput + 96 * price.effectiveOutput), language)
  return html`<figure class="example chat-example" aria-label="${example.label}">
    <div class="example-bar">
      <strong>${t.frame.chat}</strong>
      <span class="badge ${model?.tier}">${model?.name}</span>
    </div>
    <p class="example-question">${example.question}</p>
    <div class="example-answer">
      <p>${example.answer}</p>
      <pre><code><span class="code-name">git</span> reset <span class="code-operator">--soft</span> HEAD~1</code></pre>
      <p>${example.after}</p>
      <p class="example-foot">${interpolate(example.foot, { credits })}</p>
    </div>
    <p class="example-composer" aria-hidden="true"><span>${example.composer}</span><i></i></p>
  </figure>`
}

function renderFirstStep({ t, viewer, services }: PageContext): Html {
  // Where only the operator creates accounts, the page offers no sign-up.
  const start = services.config.signIn.signUp === 'closed' ? t.frame.signIn : t.home.start
  return viewer === null
    ? html`<a class="button large" href="/sign-in">${start}</a>`
    : html`<a class="button large" href="/chat">${t.home.open}</a>`
}

function renderTerminal({ t, services }: PageContext): Html {
  const { origins, names, products } = services
  const model = products.all.find(({ capabilities }) => capabilities.includes('chat'))?.id ?? 'auto'
  const line = (text: string): Html => html`<span class="line">${text}</span>`
  return html`<figure class="terminal" aria-label="${t.home.example.requestLabel}">
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

function renderPoints({ t }: PageContext): Html {
  return html`<section class="shell points">
    ${t.home.points.map(
      ({ title, text }, index) =>
        html`<div class="point">
          <svg class="glyph" viewBox="0 0 24 24" aria-hidden="true">${icons[index]}</svg>
          <h2>${renderTitle(title)}</h2>
          <p>${text}</p>
        </div>`,
    )}
  </section>`
}

/** Programs that have a page in the docs. */
function renderTools({ t }: PageContext): Html {
  return html`<section class="shell section works">
    <div class="section-head">
      <h2>${t.home.worksTitle}</h2>
      <p>${t.home.worksLead}</p>
    </div>
    <ul class="tool-list" role="list">
      ${clientEntries.map(({ id, name }) => html`<li><a href="/docs/tools/${id}">${name}</a></li>`)}
    </ul>
  </section>`
}

/** The account page and a request, side by side. */
function renderUsage(context: PageContext): Html {
  const { t } = context
  return html`<section class="shell section pair">
      <div class="section-head">
        <h2>${t.home.insideTitle}</h2>
        <p>${t.home.insideText}</p>
      </div>
      ${renderUsageExample(context)}
    </section>
    <section class="shell section pair">
      <div class="section-head">
        <h2>${t.home.apiTitle}</h2>
        <p>${t.home.apiText}</p>
      </div>
      ${renderTerminal(context)}
    </section>`
}

/** A line a plan; what each includes is on `/plans`. */
function renderPlans({ t, language, services }: PageContext): Html {
  const offeredPlans = listOfferedPlans(services.config)
  const number = (value: number | null): string =>
    value === null ? t.plans.unlimited : interpolate(t.plans.about, { count: formatNumber(value, language) })
  const rows = offeredPlans.flatMap(({ name, offers }) =>
    offers.map(({ plan, price, messages }) => ({
      cells: [
        html`<a class="nowrap" href="/plans?plan=${plan.id}"
          >${name}${price.multiplier !== null && price.multiplier > 1 && ` ${interpolate(t.plans.times, { count: price.multiplier })}`}</a
        >`,
        html`${formatMoney(price.amount, price.currency, language)}`,
        html`${number(messages.fast.day)}`,
        html`${number(messages.premium.day)}`,
      ],
    })),
  )
  return html`<section class="shell section" id="plans">
    <div class="section-head">
      <h2>${t.plans.title}</h2>
      <p>${t.home.plansLead}</p>
    </div>
    ${renderDataTable({
      label: t.plans.title,
      caption: t.home.plansCaption,
      look: 'card',
      columns: [
        { title: t.home.plan },
        { title: t.plans.perMonth, isNumber: true },
        { title: t.plans.fast, isNumber: true },
        { title: t.plans.premium, isNumber: true },
      ],
      rows,
    })}
    <p class="actions"><a class="button quiet" href="/plans">${t.home.comparePlans}</a></p>
  </section>`
}

function renderModels({ t, services, language }: PageContext): Html {
  const { config, products } = services
  const amounts = (price: number, effective: number): Html =>
    price === effective
      ? html`${formatMoney(price, 'USD', language)}`
      : html`<span class="now">${formatMoney(effective, 'USD', language)}</span>
          <s><span class="unseen">${t.home.listPrice} </span>${formatMoney(price, 'USD', language)}</s>`
  const showsCached = hasCachedPrice(config)
  const rows = products.all.map(({ id, name, tier, contextLength, description }) => {
    const price = computeEffectivePrice(config, tier)
    return {
      cells: [
        html`<code>${id}</code
          ><span class="sub">${name}</span>
          ${description !== null && html`<span class="model-words">${description[language]}</span>`}`,
        html`<span class="badge ${tier}">${t.home[tier]}</span>`,
        html`${formatCompactNumber(contextLength, language, 3)}`,
        amounts(price.input, price.effectiveInput),
        ...(showsCached ? [amounts(price.cachedInput, price.effectiveCachedInput)] : []),
        amounts(price.output, price.effectiveOutput),
      ],
    }
  })
  const discounts = (['light', 'flagship'] as const)
    .map((tier) => ({ tier, percent: config.prices[tier].discountPercent }))
    .filter(({ percent }) => percent > 0)
  return html`<section class="shell section" id="models">
    <div class="section-head">
      <h2>${renderTitle(t.home.modelsTitle)}</h2>
      <p>${t.home.modelsLead}</p>
      <p class="badges">
        ${discounts.map(
          ({ tier, percent }) =>
            html`<span class="badge accent">${t.home[tier]}: ${interpolate(t.home.discount, { percent })}</span> `,
        )}
      </p>
    </div>
    ${renderDataTable({
      label: t.home.modelsTitle,
      caption: t.home.perMillion,
      look: 'card',
      columns: [
        { title: t.home.model },
        { title: t.home.tier },
        { title: t.home.context, isNumber: true },
        { title: t.home.input, isNumber: true },
        ...(showsCached ? [{ title: t.home.cachedInput, isNumber: true }] : []),
        { title: t.home.output, isNumber: true },
      ],
      rows,
    })}
  </section>`
}

function renderQuestions({ t }: PageContext): Html {
  return html`<section class="shell section" id="questions">
    <div class="section-head"><h2>${t.home.questionsTitle}</h2></div>
    <div class="questions">
      ${t.home.questions.map(
        ({ question, answer }) =>
          html`<details>
            <summary>${question}</summary>
            <p>${answer}</p>
          </details>`,
      )}
    </div>
  </section>`
}

function renderEnding(context: PageContext): Html {
  const { t } = context
  return html`<section class="shell section">
    <div class="ending">
      <div>
        <h2>${renderTitle(t.home.endTitle)}</h2>
        <p>${t.home.endText}</p>
      </div>
      ${renderFirstStep(context)}
    </div>
  </section>`
}
