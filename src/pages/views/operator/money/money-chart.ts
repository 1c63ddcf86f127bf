/** What turns brought and cost each day, as pairs of bars. The table beside it has the figures, so that the picture is decoration. */
import type { ReportSums } from '../../../../domain/billing/report.ts'
import { formatMoney } from '../../../format.ts'
import { html } from '../../../html.ts'
import type { Html } from '../../../html.ts'
import type { OperatorContext } from '../../../page.ts'
import { moneyColumns } from './money-figures.ts'
import type { MoneyColumn, MoneyRow } from './money-figures.ts'

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

/** Nothing where no turn was charged or cost anything. The table beside it has the same days in reverse. */
export function renderMoneyChart({ t, language }: OperatorContext, days: readonly MoneyRow[]): Html {
  const { money: texts } = t.console
  const largest = Math.max(0, ...days.flatMap(({ turns }) => bars.map(({ read }) => read(turns))))
  if (largest === 0) return html``
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
        ({ key, turns }, day) =>
          html`<g data-row="${days.length - 1 - day}">
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
