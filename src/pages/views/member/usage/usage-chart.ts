/**
 * Usage by day as stacked bars, and as a table behind a fold. A day's numbers are its title in the picture; `browser/entries/account.ts`
 * shows them above it for the day under the pointer or the slider.
 */
import type { UsageHistory } from '../../../../services/member-usage.ts'
import { renderDataTable } from '../../../components/data-table.ts'
import { formatCompactNumber, formatCount, formatNumber, formatPercent } from '../../../format.ts'
import { html } from '../../../html.ts'
import type { Html } from '../../../html.ts'
import { interpolate } from '../../../page.ts'
import type { PageContext } from '../../../page.ts'
import { nameGroup } from './usage-names.ts'

/** Further groups are drawn and listed as one. */
const maxGroups = 5
const topMargin = 14
const height = 220

interface Series {
  readonly name: string
  readonly look: string
  readonly turns: number
  readonly credits: number
  readonly creditsByDay: readonly number[]
}

export function renderUsageChart(context: PageContext, history: UsageHistory): Html {
  const { account: texts } = context.t
  const { days, total } = history
  if (total.turns + total.failed === 0) return html`<p class="sub empty chart-empty">${texts.chartEmpty}</p>`
  const series = toSeries(context, history)
  const sums = days.map((_, day) => sumOf(series.map(({ creditsByDay }) => creditsByDay[day] ?? 0)))
  const scale = roundUpToNiceNumber(Math.max(1, ...sums))
  const summaries = days.map((date, day) => describeDay(context, series, date, day))
  const amounts = { credits: formatCount(context, 'credits', total.credits), turns: formatCount(context, 'turns', total.turns) }
  const failedTurns = formatNumber(total.failed, context.language)
  const lastDay = days.length - 1
  return html`<p class="chart-total">
      ${interpolate(texts.chartTotal, amounts)}${total.failed > 0 && ` ${interpolate(texts.chartFailed, { turns: failedTurns })}`}
    </p>
    <p class="chart-readout" aria-hidden="true">${summaries[lastDay]}</p>
    <div class="chart-box">
      <span class="chart-scale" aria-hidden="true">${formatCompactNumber(scale, context.language)}</span>
      ${renderBars(
        series,
        summaries.map((summary) => ({ summary })),
        { scale, chosen: lastDay },
      )}
      <input
        type="range"
        class="chart-slider"
        min="0"
        max="${lastDay}"
        value="${lastDay}"
        aria-label="${texts.chartDay}"
        aria-valuetext="${summaries[lastDay]}"
      />
    </div>
    ${renderLegend(context, series, total.credits)} ${renderTable(context, series, days)}`
}

function toSeries({ t }: PageContext, { by, groups }: UsageHistory): Series[] {
  const shownGroups = groups.length > maxGroups + 1 ? groups.slice(0, maxGroups) : groups
  const rest = groups.slice(shownGroups.length)
  const series = shownGroups.map(({ id, name, turns, credits, credits_by_day: creditsByDay }, place): Series => ({
    name: nameGroup(t.account, by, id, name),
    look: by === 'tier' ? id : `series-${place + 1}`,
    turns,
    credits,
    creditsByDay,
  }))
  const [first] = rest
  if (first === undefined) return series
  const others: Series = {
    name: interpolate(t.account.otherGroups, { count: rest.length }),
    look: 'series-rest',
    turns: sumOf(rest.map(({ turns }) => turns)),
    credits: sumOf(rest.map(({ credits }) => credits)),
    creditsByDay: first.credits_by_day.map((_, day) => sumOf(rest.map((group) => group.credits_by_day[day] ?? 0))),
  }
  return [...series, others]
}

interface ChartStep {
  readonly summary: string
  /** The place of its row in the table beside the chart, for `browser/lazy/chart-values.ts`; null for a step without a row. */
  readonly row?: number | null
}

/** The picture is stretched to the width of the page, so it has no letters of its own. */
export function renderBars(
  series: readonly Pick<Series, 'look' | 'creditsByDay'>[],
  steps: readonly ChartStep[],
  { scale, chosen }: { readonly scale: number; readonly chosen?: number },
): Html {
  const toHeight = (credits: number): number => (credits / scale) * (height - topMargin)
  const step = 1000 / steps.length
  const round = (value: number): number => Math.round(value * 10) / 10
  const renderDay = ({ summary, row = null }: ChartStep, day: number): Html => {
    let top = height
    const bars = series.map(({ look, creditsByDay }) => {
      const tall = toHeight(creditsByDay[day] ?? 0)
      top -= tall
      const [x, y, width] = [round((day + 0.14) * step), round(top), round(step * 0.72)]
      return tall > 0 && html`<rect x="${x}" y="${y}" width="${width}" height="${round(Math.max(tall, 1.5))}" class="${look}" />`
    })
    return html`<g ${row !== null && html`data-row="${row}"`}><title>${summary}</title>${bars}</g>`
  }
  return html`<svg viewBox="0 0 1000 ${height}" preserveAspectRatio="none" class="chart" aria-hidden="true">
    ${[0, 0.5, 1].map((share) => {
      const y = height - share * (height - topMargin)
      return html`<line x1="0" x2="1000" y1="${y}" y2="${y}" class="chart-line" />`
    })}
    ${
      chosen !== undefined &&
      html`<rect x="${round(chosen * step)}" y="0" width="${round(step)}" height="${height}" class="chart-chosen" />`
    }
    ${steps.map(renderDay)}
  </svg>`
}

function describeDay(context: PageContext, series: readonly Series[], date: string, day: number): string {
  const creditsByName = series.map(({ name, creditsByDay }) => ({ name, credits: creditsByDay[day] ?? 0 }))
  const credits = formatCount(context, 'credits', sumOf(creditsByName.map((each) => each.credits)))
  return [
    interpolate(context.t.account.chartDayTotal, { day: formatDay(context, date), credits }),
    ...creditsByName
      .filter((each) => each.credits > 0)
      .map((each) => `${each.name} ${formatNumber(each.credits, context.language)}`),
  ].join(' · ')
}

function renderLegend(context: PageContext, series: readonly Series[], total: number): Html {
  return html`<ul class="chart-legend" role="list">
    ${series.map(
      ({ name, look, turns, credits }) =>
        html`<li>
          <span class="swatch ${look}" aria-hidden="true"></span> <span class="legend-name">${name}</span>
          <span class="sub">${formatCount(context, 'turns', turns)}</span>
          <strong>${formatNumber(credits, context.language)}</strong>
          <span class="sub">${formatPercent(total === 0 ? 0 : credits / total, context.language)}</span>
        </li>`,
    )}
  </ul>`
}

function renderTable(context: PageContext, series: readonly Series[], days: readonly string[]): Html {
  const { account: texts } = context.t
  const rows = days.map((date, day) => ({ date, credits: series.map(({ creditsByDay }) => creditsByDay[day] ?? 0) }))
  return html`<details class="fold">
    <summary>${texts.chartTable}</summary>
    ${renderDataTable({
      label: texts.chartTitle,
      columns: [{ title: texts.date }, ...series.map(({ name }) => ({ title: name, isNumber: true }))],
      rows: rows
        .filter(({ credits }) => sumOf(credits) > 0)
        .toReversed()
        .map(({ date, credits }) => ({
          cells: [formatDay(context, date), ...credits.map((each) => formatNumber(each, context.language))].map(
            (text) => html`${text}`,
          ),
        })),
    })}
  </details>`
}

/** A day of the service's calendar: the same date wherever its reader is. */
function formatDay({ locale }: PageContext, day: string): string {
  const format = new Intl.DateTimeFormat(locale, { month: 'short', day: 'numeric', timeZone: 'UTC' })
  return format.format(new Date(`${day}T00:00:00Z`))
}

/** The next amount with a round name, and a round half. */
export function roundUpToNiceNumber(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value))
  return [1, 2, 3, 4, 6, 8, 10].map((step) => step * power).find((step) => step >= value) ?? value
}

function sumOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0)
}
