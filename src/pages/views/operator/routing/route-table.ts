/** Products and targets with their figures, each of which opens exactly its turns. */
import type { Price } from '../../../../domain/billing/catalog/price.ts'
import type { LatencyPercentiles } from '../../../../domain/turn-history/latency-histogram.ts'
import type { TakenOutTarget } from '../../../../domain/taken-out-target.ts'
import type { NodeFigures } from '../../../../services/health/node-figures.ts'
import type { UsageSpan } from '../../../../domain/turn-history/usage-span.ts'
import type { RouteFigures, RoutingReport } from '../../../../services/routing/routing-report.ts'
import { renderDataTable } from '../../../components/data-table.ts'
import type { TableRow } from '../../../components/data-table.ts'
import { renderEmptyState } from '../../../components/list.ts'
import { renderTime } from '../../../components/time.ts'
import { formatMoney, formatNumber, formatPastTime, formatPercent } from '../../../format.ts'
import { html } from '../../../html.ts'
import type { Html } from '../../../html.ts'
import { fillText, interpolate } from '../../../page.ts'
import type { OperatorContext } from '../../../page.ts'
import { hasScope } from '../sections.ts'
import { formatMs } from '../turns/turn-table.ts'
import { renderFigure, toProductPath, toUpstreamPath } from './route-links.ts'

/** More would make the page heavy; a product's own page has all of its lines. */
const maxLines = 60
const nanodollars = 1e9

export interface RoutingState {
  readonly span: UsageSpan
  readonly report: RoutingReport
  readonly node: Pick<NodeFigures, 'targets'>
  readonly takenOut: readonly TakenOutTarget[]
}

/** Two tables, because one with all figures fits no page. */
export function renderRouteTables(context: OperatorContext, state: RoutingState): Html {
  const { t, language } = context
  const { routing: texts } = t.console
  const lines = state.report.products.flatMap(({ id, routes }) => routes.map((route) => ({ id, route })))
  if (lines.length === 0) return html`<section class="card">${renderEmptyState('list', texts.none)}</section>`
  const shownLines = lines.slice(0, maxLines)
  const more =
    lines.length > maxLines &&
    html`<p class="sub pad-rest">${interpolate(texts.more, { count: formatNumber(lines.length - maxLines, language) })}</p>`
  const showsMoney = hasScope(context, 'money:read')
  const title = showsMoney ? texts.money : texts.tokens
  return html`<section class="card">
      <div class="card-head pad-head"><h2>${texts.answers}</h2></div>
      ${renderDataTable({
        label: texts.answers,
        look: 'turn-table',
        columns: [
          { title: texts.target },
          { title: texts.turns, isNumber: true },
          { title: texts.success, isNumber: true },
          { title: texts.took, isNumber: true },
          { title: texts.firstToken, isNumber: true },
          { title: texts.state },
        ],
        rows: shownLines.map(({ id, route }) => toAnswerRow(context, state, id, route)),
      })}
      ${more}
      <p class="sub pad-rest">${texts.successHint} ${texts.latencyHint} ${texts.nodeHint}</p>
    </section>
    <section class="card">
      <div class="card-head pad-head"><h2>${title}</h2></div>
      ${renderDataTable({
        label: title,
        look: 'turn-table',
        columns: [
          { title: texts.target },
          { title: texts.cached, isNumber: true },
          ...(showsMoney
            ? [{ title: texts.price }, { title: texts.cost, isNumber: true }, { title: texts.margin, isNumber: true }]
            : []),
        ],
        rows: shownLines.map(({ id, route }) => toTokenRow(context, state, id, route)),
      })}
      ${more} ${showsMoney && html`<p class="sub pad-rest">${texts.moneyHint}</p>`}
    </section>`
}

function toAnswerRow(context: OperatorContext, state: RoutingState, product: string, route: RouteFigures): TableRow {
  const { totals, rate, name: target } = route
  const figure = (ending: 'completed' | 'rated' | undefined, text: string | null): Html =>
    renderFigure(context, state.report, { product, target, ...(ending === undefined ? {} : { ending }) }, text)
  const tail = (latency: LatencyPercentiles | null | undefined): string | null =>
    latency == null ? null : formatMs(context, latency.p95)
  return {
    cells: [
      renderName(context, state, product, route),
      figure(undefined, totals === null ? null : formatNumber(totals.turns, context.language)),
      figure('rated', rate.share === null ? null : formatPercent(rate.share, context.language)),
      figure('completed', tail(totals?.duration)),
      figure('completed', tail(totals?.firstToken)),
      renderState(context, state, target),
    ],
  }
}

function toTokenRow(context: OperatorContext, state: RoutingState, product: string, route: RouteFigures): TableRow {
  const { language, services } = context
  const { totals, money, name: target } = route
  const figure = (text: string | null): Html => renderFigure(context, state.report, { product, target }, text)
  const inputTokens = totals?.inputTokens ?? 0
  const dollars = (amount: number | undefined): string | null =>
    amount === undefined ? null : formatMoney(roundCents(amount / nanodollars), 'USD', language)
  const configuredProduct = services.products.get(product)
  return {
    cells: [
      renderName(context, state, product, route),
      figure(inputTokens === 0 ? null : formatPercent((totals?.cachedInputTokens ?? 0) / inputTokens, language)),
      ...(hasScope(context, 'money:read')
        ? [
            html`${configuredProduct === undefined ? '–' : formatPrice(context, configuredProduct.price)}`,
            figure(dollars(money?.cost)),
            figure(dollars(money?.margin)),
          ]
        : []),
    ],
  }
}

function renderName(context: OperatorContext, { span, takenOut }: RoutingState, product: string, route: RouteFigures): Html {
  const { t, services } = context
  const { routing: texts } = t.console
  const { name, target } = route
  const isKnown = services.products.get(product) !== undefined
  const out = takenOut.find((each) => each.target === name)
  return html`${
    isKnown
      ? html`<a class="breakable" href="${toProductPath(product, span)}">${product}</a>`
      : html`<span class="breakable">${product}</span>`
  }
  ${name === null && html`<span class="sub">${texts.noUpstream}</span>`}
  ${
    name !== null &&
    (target === undefined
      ? html`<code class="sub">${name}</code> <span class="badge">${texts.notConfigured}</span>`
      : html`<a class="sub" href="${toUpstreamPath(target.upstream, span)}"><code>${name}</code></a>`)
  }
  ${out !== undefined && renderOut(context, out)}`
}

export function renderOut(context: OperatorContext, { until }: TakenOutTarget): Html {
  const { routing: texts } = context.t.console
  return html`<span class="badge warn">${texts.takenOut}</span>
    <span class="sub">${fillText(texts.backAt, { time: renderTime(context, until) })}</span>`
}

/** The breaker of this node, and why the last call that failed did. */
export function renderState(context: OperatorContext, { node }: Pick<RoutingState, 'node'>, target: string | null): Html {
  if (target === null) return html`–`
  const { now: texts } = context.t.console
  const looks = { closed: 'good', half_open: 'warn', open: 'bad' } as const
  const live = node.targets.find((each) => each.target === target)
  const breaker = live?.breaker ?? 'closed'
  const failure = live?.lastFailure ?? null
  return html`<span class="badge ${looks[breaker]}">${texts.breakers[breaker]}</span>
    ${failure !== null && html`<span class="sub">${failure.outcome}, ${formatPastTime(context, failure.at)}</span>`}`
}

/** Of a million tokens. */
function formatPrice({ t, language }: OperatorContext, { input, output, discountPercent }: Price): string {
  const dollars = (nanodollarsPerToken: number): string =>
    formatMoney((nanodollarsPerToken * (100 - discountPercent)) / 100_000, 'USD', language)
  return interpolate(t.console.routing.priceOf, { input: dollars(input), output: dollars(output) })
}

/** Small amounts keep their first digits. */
function roundCents(amount: number): number {
  return Math.abs(amount) >= 1 ? Math.round(amount * 100) / 100 : Number(amount.toPrecision(2))
}
