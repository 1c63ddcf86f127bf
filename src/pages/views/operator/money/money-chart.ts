/** What turns brought and cost each day, as pairs of bars. The table beside it has the figures, so that the picture is decoration. */
import { createDayFormat } from '../../../../domain/billing/report-format.ts'
import { zeroSums } from '../../../../domain/billing/report.ts'
import type { ReportSums } from '../../../../domain/billing/report.ts'
import { formatMoney } from '../../../format.ts'
import { html } from '../../../html.ts'
import type { Html } from '../../../html.ts'
import type { OperatorContext } from '../../../page.ts'
import { moneyColumns } from './money-figures.ts'
import type { MoneyColumn, MoneyRow } from './money-figures.ts'
import type { MoneySearch } from './money-query.ts'

const height = 220
const topMargin = 14
const nanosPerDollar = 1e9

interface Bar {
  readonly look: string
  readonly name: 'charged' | 'cost'
  /** The column of the table that has its figures. */
  readonly column: MoneyColumn
  /** Dollars. */
  readonly read: (sums: ReportSums) => number
}

const bars: readonly Bar[] = [
  { look: 'series-1', name: 'charged', column: 'credits', read: ({ credits }) => Number(credits) / 1e6 },
  { look: 'series-3', name: 'cost', column: 'cost', read: ({ cost }) => Number(cost) / nanosPerDollar },
]

/** Nothing where no turn was charged or cost anything. `rows` are those of the table beside it, which has no days without figures. */
export function renderMoneyChart(context: OperatorContext, search: MoneySearch, rows: readonly MoneyRow[]): Html {
  const { t, language } = context
  const { money: texts } = t.console
  const largest = Math.max(0, ...rows.flatMap(({ turns }) => bars.map(({ read }) => read(turns))))
  if (largest === 0) return html``
  const days = listDays(context, search).map((key) => {
    const row = rows.findIndex((each) => each.key === key)
    return { key, row, turns: rows[row]?.turns ?? zeroSums }
  })
  const step = 1000 / days.length
  const round = (value: number): number => Math.round(value * 10) / 10
  const format = (dollars: number): string => formatMoney(dollars, 'USD', language)
  return html`<div class="chart-box" data-chart>
    <span class="chart-scale" aria-hidden="true">${format(largest)}</span>
    <svg viewBox="0 0 1000 ${height}" preserveAspectRatio="none" class="chart" aria-hidden="true">
      ${[0, 0.5, 1].map((share) => {
        const y = height - share * (height - topMargin)
        return html`<line x1="0" x2="1000" y1="${y}" y2="${y}" class="chart-line" />`
      })}
      ${days.map(
        ({ key, row, turns }, day) =>
          html`<g ${row >= 0 && html`data-row="${row}"`}>
            <title>
              ${key}: ${texts.charged} ${format(bars[0]?.read(turns) ?? 0)}, ${texts.cost} ${format(bars[1]?.read(turns) ?? 0)}
            </title>
            ${bars.map(({ look, read }, index) => {
              const tall = (read(turns) / largest) * (height - topMargin)
              const x = round((day + 0.14 + index * 0.38) * step)
              return (
                tall > 0 &&
                html`<rect
                  x="${x}"
                  y="${round(height - Math.max(tall, 1.5))}"
                  width="${round(step * 0.34)}"
                  height="${round(Math.max(tall, 1.5))}"
                  class="${look}"
                />`
              )
            })}
          </g>`,
      )}
    </svg>
    <ul class="chart-legend money-legend" role="list">
      ${bars.map(
        ({ look, name, column }) =>
          html`<li data-column="${moneyColumns.indexOf(column) + 1}">
            <span class="swatch ${look}" aria-hidden="true"></span> <span class="legend-name">${texts[name]}</span>
          </li>`,
      )}
    </ul>
  </div>`
}

function listDays({ services }: OperatorContext, { from, to }: MoneySearch): readonly string[] {
  const format = createDayFormat(services.config.timeZone)
  const days: string[] = []
  for (let start = from; start < to; start = services.calendar.getPeriods(start).day.end) days.push(format(start))
  return days
}
