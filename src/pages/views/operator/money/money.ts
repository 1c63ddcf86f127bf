/** `/operator/money`: sold, returned, charged, cost and margin by day, plan or product; each figure leads to what it is made of. */
import { formatPrice } from '../../../../domain/billing/money.ts'
import { formatDollars, isCostKnown } from '../../../../domain/billing/report-format.ts'
import { formatInstant } from '../../../../domain/instant.ts'
import { renderDataTable } from '../../../components/data-table.ts'
import { renderEmptyState } from '../../../components/list.ts'
import { renderStat } from '../../../components/stat.ts'
import { formatNumber } from '../../../format.ts'
import { html } from '../../../html.ts'
import type { Html } from '../../../html.ts'
import { interpolate, requireOperatorContext } from '../../../page.ts'
import type { OperatorContext, PageContext, View } from '../../../page.ts'
import { createOperatorView } from '../operator-frame.ts'
import { consoleSections, hasScope } from '../sections.ts'
import { describeProgress } from '../turns/turn-search-form.ts'
import { toSearchQuery } from '../turns/turn-search.ts'
import { renderMoneyChart } from './money-chart.ts'
import { moneyColumns, readMoneyFigures } from './money-figures.ts'
import type { Amounts, MoneyRow } from './money-figures.ts'
import { moneyGroupings, packsName, readMoneySearch, toMoneyAddress } from './money-query.ts'
import type { MoneyGrouping, MoneySearch } from './money-query.ts'
import { renderMoneyTabs } from './money-tabs.ts'

/** More would make the page heavy; `svc-gateway report` has all. */
const maxRows = 100

export async function createMoneyView(page: PageContext): Promise<View> {
  const context = requireOperatorContext(page)
  const { t, services } = context
  const { money: texts } = t.console
  const search = readMoneySearch(context)
  const { total, rows } = await readMoneyFigures(context, search)
  const progress = await services.membership.turnHistory.readProgress()
  const { turnsWithoutCost } = total.turns
  const view = createOperatorView(context, {
    title: t.console.sections.money,
    lead: html`${interpolate(texts.lead, { first: search.first, last: search.last, zone: services.config.timeZone })}
    ${describeProgress(context, progress)}`,
    content: html`${renderMoneyTabs(context, 'figures')} ${renderSearch(context, search)} ${renderTotals(context, search, total)}
      <section class="card">
        <div class="card-head pad-head"><h2>${texts.groupings[search.by]}</h2></div>
        ${search.by === 'day' && html`<div class="pad-rest">${renderMoneyChart(context, search, rows)}</div>`}
        ${rows.length === 0 ? renderEmptyState('list', texts.none) : renderTable(context, search, rows.slice(0, maxRows))}
        ${rows.length > maxRows && html`<p class="sub pad-rest">${texts.more}</p>`}
        ${
          turnsWithoutCost > 0n &&
          html`<p class="sub pad-rest">
            ${interpolate(texts.withoutCost, { count: formatNumber(Number(turnsWithoutCost), context.language) })}
          </p>`
        }
      </section>`,
  })
  return search.fault === null ? view : { ...view, status: 400 }
}

function renderSearch(context: OperatorContext, { first, last, by, plan, product, fault }: MoneySearch): Html {
  const { money: texts } = context.t.console
  const field = (name: 'from' | 'to', label: string, value: string): Html =>
    html`<div class="field">
      <label for="${name}">${label}</label>
      <input id="${name}" name="${name}" type="date" value="${value}" />
    </div>`
  const hiddenFields = Object.entries({ plan, product }).filter(([, value]) => value !== undefined)
  return html`<form class="card pad filter-row" method="get" action="${consoleSections.money.path}">
    ${fault !== null && html`<p class="notice warn" role="alert">${fault}</p>`} ${field('from', texts.first, first)}
    ${field('to', texts.last, last)}
    <div class="field">
      <label for="by">${texts.by}</label>
      <select id="by" name="by">
        ${moneyGroupings.map(
          (name) => html`<option value="${name}" ${name === by && html`selected`}>${texts.groupings[name]}</option>`,
        )}
      </select>
    </div>
    ${hiddenFields.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value ?? ''}" />`)}
    <button class="button">${context.t.console.audit.show}</button>
    ${
      hiddenFields.length > 0 &&
      html`<p class="sub breakable">
        ${plan !== undefined && interpolate(texts.onlyPlan, { plan: namePlan(context, plan) })}
        ${product !== undefined && interpolate(texts.onlyProduct, { product })}
        <a href="${consoleSections.money.path}?${String(new URLSearchParams({ from: first, to: last, by }))}"
          >${texts.everything}</a
        >
      </p>`
    }
  </form>`
}

function renderTotals(context: OperatorContext, search: MoneySearch, total: MoneyRow): Html {
  const { money: texts } = context.t.console
  const figures = createFigures(context, search)
  return html`<section class="now-stats" aria-label="${texts.total}">
    ${(['sold', 'returned', 'credits', 'cost', 'margin'] as const).map(
      (name) =>
        html`<div class="card pad">${renderStat(texts.columns[name], html`<strong>${figures[name](total)}</strong>`)}</div>`,
    )}
  </section>`
}

function renderTable(context: OperatorContext, search: MoneySearch, rows: readonly MoneyRow[]): Html {
  const { money: texts } = context.t.console
  const names = moneyColumns.filter((name) => search.by !== 'product' || name !== 'sold')
  return renderDataTable({
    label: texts.groupings[search.by],
    columns: [{ title: texts.keys[search.by] }, ...names.map((name) => ({ title: texts.columns[name], isNumber: true }))],
    rows: rows.map((row) => {
      const rowSearch = narrow(context, search, row.key)
      const figures = createFigures(context, rowSearch)
      const cells = {
        ...figures,
        sold: () => html`${figures.sold(row)} ${hasReturned(row) && renderPart(texts.returned, figures.returned(row))}`,
        turns: () => html`${figures.turns(row)} ${row.turns.failed > 0n && renderPart(texts.failed, figures.failed(row))}`,
      }
      return { cells: [renderKey(context, rowSearch, search.by, row.key), ...names.map((name) => cells[name](row))] }
    }),
  })
}

function hasReturned({ returned }: MoneyRow): boolean {
  return Object.keys(returned).length > 0
}

/** A figure that is a part of the one above it, so that the table is narrow enough for a tablet. */
function renderPart(label: string, figure: Html): Html {
  return html`<span class="sub part">${label} ${figure}</span>`
}

/** The search that a row's figures are made of. */
function narrow({ services }: OperatorContext, search: MoneySearch, key: string): MoneySearch {
  if (search.by === 'plan') return { ...search, plan: key }
  if (search.by === 'product') return { ...search, product: key }
  const start = services.calendar.getDayStart(key) ?? search.from
  const { end } = services.calendar.getPeriods(start).day
  return { ...search, first: key, last: key, from: start, to: end }
}

/** The name of a row leads on: a day and a plan to their products, a product to its days. */
function renderKey(context: OperatorContext, own: MoneySearch, by: MoneyGrouping, key: string): Html {
  const text = by === 'plan' ? namePlan(context, key) : key
  if (key === packsName && by === 'plan') return html`${text}`
  return html`<a class="breakable" href="${toMoneyAddress(own, { by: by === 'product' ? 'day' : 'product' })}">${text}</a>`
}

function namePlan({ t, services }: OperatorContext, plan: string): string {
  if (plan === packsName) return t.console.money.packs
  return services.config.plans[plan]?.name ?? plan
}

/** Each figure of a row with the list behind it. */
function createFigures(context: OperatorContext, own: MoneySearch) {
  const { language } = context
  const orders = (when: 'paid' | 'returned'): string => {
    const plan = own.plan === undefined ? [] : [['plan', own.plan]]
    return `${consoleSections.orders.path}?${new URLSearchParams([['when', when], ['from', own.first], ['to', own.last], ...plan] as [string, string][])}`
  }
  const amounts = (values: Amounts, when: 'paid' | 'returned'): Html => {
    const prices = Object.entries(values).map(([currency, amount]) => formatPrice({ amount, currency }, language))
    return prices.length === 0 ? html`–` : html`<a href="${orders(when)}">${prices.join(', ')}</a>`
  }
  const turns = (ending?: string): string =>
    consoleSections.turns.path +
    toSearchQuery({
      from: formatInstant(own.from),
      to: formatInstant(own.to),
      ...(own.plan === undefined ? {} : { plan: own.plan }),
      ...(own.product === undefined ? {} : { product: own.product }),
      ...(ending === undefined ? {} : { ending }),
    })
  const maySeeTurns = hasScope(context, consoleSections.turns.access.scope)
  const ofTurns = (text: string, ending?: string): Html =>
    maySeeTurns ? html`<a href="${turns(ending)}">${text}</a>` : html`${text}`
  const dollars = (value: bigint, row: MoneyRow): Html =>
    isCostKnown(row.turns) ? ofTurns(`${formatDollars(value)} USD`) : html`–`
  return {
    sold: (row: MoneyRow) => amounts(row.sold, 'paid'),
    returned: (row: MoneyRow) => amounts(row.returned, 'returned'),
    credits: (row: MoneyRow) => ofTurns(formatNumber(Number(row.turns.credits), language)),
    turns: (row: MoneyRow) => ofTurns(formatNumber(Number(row.turns.turns + row.turns.failed), language)),
    failed: (row: MoneyRow) => ofTurns(formatNumber(Number(row.turns.failed), language), 'failed'),
    cost: (row: MoneyRow) => dollars(row.turns.cost, row),
    margin: (row: MoneyRow) => dollars(row.turns.margin, row),
  }
}
