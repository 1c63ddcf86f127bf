/** `/account`: where the member stands, usage by day, and the turns. `account.js` fills in the changing parts. */
import { getPlan } from '../../../domain/billing/plan.ts'
import { renderSkeleton } from '../../components/skeleton.ts'
import { formatDate } from '../../format.ts'
import { html } from '../../html.ts'
import type { Html } from '../../html.ts'
import { interpolate, requireMember } from '../../page.ts'
import type { PageContext, View } from '../../page.ts'
import { renderMemberPage } from './member-frame.ts'

export function createUsageView(context: PageContext): View {
  const { t, services } = context
  const { account } = t
  const { viewer } = requireMember(context)
  const plan = getPlan(services.config, viewer.plan)
  const model = services.products.all.find(({ capabilities }) => capabilities.includes('chat'))?.id ?? 'auto'
  return {
    title: account.rail.usage,
    styles: 'account.css',
    main: renderMemberPage(
      context,
      html`<header class="page-head">
          <div><h1>${account.hello}</h1></div>
          <p class="plan-now">
            <span class="sub">${account.plan}</span>
            <strong data-plan>${plan.name}</strong>
            ${viewer.planUntil !== null && renderPlanEnd(context, viewer.planUntil)}
            <a class="button quiet small" href="/plans">${account.change}</a>
          </p>
        </header>
        <section data-live="standing" aria-label="${account.poolsTitle}" aria-busy="true">
          <div data-content>${renderSkeleton(t, 'figures')}</div>
        </section>
        <section class="card pad" data-start aria-labelledby="title-start" hidden></section>
        <section class="card pad" data-live="history" aria-labelledby="title-history" aria-busy="true">
          <div class="card-head">
            <h2 id="title-history">${account.chartTitle}</h2>
            <div class="choices">
              ${renderChoice('days', account.range, '30', [
                ['7', interpolate(account.lastDays, { days: 7 })],
                ['30', interpolate(account.lastDays, { days: 30 })],
                ['90', interpolate(account.lastDays, { days: 90 })],
              ])}
              ${renderChoice('by', account.groupBy, 'tier', [
                ['tier', account.dimensions.tier],
                ['model', account.dimensions.model],
                ['key', account.dimensions.key],
                ['api_format', account.dimensions.apiFormat],
              ])}
            </div>
          </div>
          <div data-content>${renderSkeleton(t, 'chart')}</div>
        </section>
        <section class="card" data-live="turns" aria-labelledby="title-turns" aria-busy="true">
          <div class="card-head pad-head">
            <h2 id="title-turns">${account.turnsTitle}</h2>
            <button class="button quiet small" type="button" data-export>${account.exportCsv}</button>
          </div>
          <details class="fold turn-filter">
            <summary>${account.filter}</summary>
            <form class="filter-row" method="post" data-form="filter" data-filter>
              ${renderFilter(
                'model',
                account.model,
                services.products.all.map(({ id }) => [id, id]),
                account.all,
              )}
              ${renderFilter('credential', account.dimensions.key, [], account.all)}
              ${renderFilter('api_format', account.dimensions.apiFormat, Object.entries(account.formats), account.all)}
              ${renderFilter(
                'state',
                account.state,
                (['settled', 'refunded', 'held'] as const).map((state) => [state, account.states[state]]),
                account.all,
              )}
            </form>
          </details>
          <p class="status-line" role="status" data-export-status></p>
          <div data-content>${renderSkeleton(t, 'rows')}</div>
        </section>`,
    ),
    script: {
      name: 'account',
      texts: { account, keys: t.keys },
      props: { base: services.origins.base, model },
    },
  }
}

type Option = readonly [value: string, label: string]

function renderChoice(name: string, label: string, chosen: string, options: readonly Option[]): Html {
  return html`<label class="choice"
    ><span class="unseen">${label}</span
    ><select class="small-select" data-choice="${name}">
      ${options.map(([value, text]) =>
        value === chosen
          ? html`<option value="${value}" selected>${text}</option>`
          : html`<option value="${value}">${text}</option>`,
      )}
    </select></label
  >`
}

function renderFilter(name: string, label: string, options: readonly Option[], all: string): Html {
  return html`<div class="field">
    <label for="filter-${name}">${label}</label>
    <select id="filter-${name}" name="${name}">
      <option value="">${all}</option>
      ${options.map(([value, text]) => html`<option value="${value}">${text}</option>`)}
    </select>
  </div>`
}

/** A day of the service's calendar, wherever its machine is. */
function renderPlanEnd({ t, locale, services }: PageContext, until: number): Html {
  const date = formatDate(until, locale, services.config.timeZone)
  return html`<time class="sub" datetime="${new Date(until).toISOString()}">${interpolate(t.account.planUntil, { date })}</time>`
}
