/** Turns by hour or day as stacked bars, with the same figures as a table whose counts open exactly their turns. */
import { rateEndings } from '../../../../domain/turn-history/turn-success.ts'
import type { RoutingReport } from '../../../../services/routing/routing-report.ts'
import { renderDataTable } from '../../../components/data-table.ts'
import { formatCompactNumber, formatCount, formatNumber, formatPercent } from '../../../format.ts'
import { html } from '../../../html.ts'
import type { Html } from '../../../html.ts'
import { interpolate } from '../../../page.ts'
import type { OperatorContext } from '../../../page.ts'
import { renderBars, roundUpToNiceNumber } from '../../member/usage/usage-chart.ts'
import type { TurnsBehind } from './route-links.ts'
import { renderFigure } from './route-links.ts'

const hourMs = 3_600_000

/** @param of the product or target whose turns they are */
export function renderRoutingChart(context: OperatorContext, report: RoutingReport, of: TurnsBehind = {}): Html {
  const { t, language } = context
  const { routing: texts } = t.console
  const { points, bounds, total } = report
  if (total.turns === 0) return html``
  const steps = points.map((point, index) => {
    const { succeeded, faults } = rateEndings(point.endings)
    const [from = 0, to = 0] = [bounds[index], bounds[index + 1]]
    return { from, to, turns: point.turns, succeeded, faults, others: point.turns - succeeded - faults }
  })
  const looks = [
    { name: 'succeeded', look: 'series-1' },
    { name: 'faults', look: 'series-2' },
    { name: 'others', look: 'series-3' },
  ] as const
  const scale = roundUpToNiceNumber(Math.max(1, ...steps.map(({ turns }) => turns)))
  const formatStep = createStepFormat(context, bounds)
  const rows = steps.filter(({ turns }) => turns > 0).toReversed()
  const bars = steps.map((step) => ({
    summary: interpolate(texts.chartStep, { step: formatStep(step.from), turns: formatCount(context, 'turns', step.turns) }),
    row: step.turns > 0 ? rows.indexOf(step) : null,
  }))
  const sums = looks.map(({ name, look }) => ({ name, look, turns: steps.reduce((sum, step) => sum + step[name], 0) }))
  return html`<section class="card pad routing-chart" aria-label="${texts.chartTitle}">
    <p class="chart-total">${formatCount(context, 'turns', total.turns)}</p>
    <div class="chart-box" data-chart>
      <span class="chart-scale" aria-hidden="true">${formatCompactNumber(scale, language)}</span>
      ${renderBars(
        looks.map(({ name, look }) => ({ look, creditsByDay: steps.map((step) => step[name]) })),
        bars,
        { scale },
      )}
    </div>
    <ul class="chart-legend" role="list">
      ${sums.map(
        ({ name, look, turns }, place) =>
          html`<li data-column="${place + 1}">
            <span class="swatch ${look}" aria-hidden="true"></span> <span class="legend-name">${texts.looks[name]}</span>
            <strong>${formatNumber(turns, language)}</strong>
            <span class="sub">${formatPercent(turns / total.turns, language)}</span>
          </li>`,
      )}
    </ul>
    <details class="fold">
      <summary>${texts.chartTable}</summary>
      ${renderDataTable({
        label: texts.chartTableLabel,
        columns: [
          { title: texts.step },
          ...[...looks.map(({ name }) => texts.looks[name]), texts.turns].map((title) => ({ title, isNumber: true })),
        ],
        rows: rows.map((step) => {
          const figure = (count: number, ending?: 'completed' | 'faults'): Html =>
            renderFigure(context, step, { ...of, ...(ending === undefined ? {} : { ending }) }, formatNumber(count, language))
          return {
            cells: [
              html`${formatStep(step.from)}`,
              figure(step.succeeded, 'completed'),
              figure(step.faults, 'faults'),
              html`${formatNumber(step.others, language)}`,
              figure(step.turns),
            ],
          }
        }),
      })}
    </details>
  </section>`
}

/** Hours with their time, days without, both of the operator's time zone. */
function createStepFormat(
  { locale, services }: OperatorContext,
  [first = 0, second = 0]: readonly number[],
): (at: number) => string {
  const isHour = second - first <= hourMs
  const format = new Intl.DateTimeFormat(locale, {
    month: 'short',
    day: 'numeric',
    ...(isHour ? { hour: '2-digit', minute: '2-digit' } : {}),
    timeZone: services.config.timeZone,
  } as const)
  return (at) => format.format(at)
}
