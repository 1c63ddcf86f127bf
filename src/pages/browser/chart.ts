/** Bars by day, drawn as SVG: fast below, premium on top. The same numbers stand in a table for those who do not see the drawing. */
import { figure } from './figures.ts'
import { drawing, element, locale, words } from './page.ts'
import { table } from './table.ts'
import type { UsedDay } from './wire.ts'

const top = 12
const texts = words('account')

/** `days`: `{day, fast, premium}`, oldest first; `width` in pixels, so that letters keep their size on a phone. */
export function usageChart(days: readonly UsedDay[], width: number): Node[] {
  const most = Math.max(...days.map(({ fast, premium }) => fast + premium))
  if (days.length === 0 || most === 0) return [element('p', { class: 'sub empty' }, texts.chartEmpty)]
  const scale = roundUp(most)
  const height = width > 400 ? 330 : 220
  const floor = height - 24
  const step = width / days.length
  const tall = (credits: number) => (credits / scale) * (floor - top)
  const lines = [0, 0.5, 1].map((share) => {
    const y = floor - share * (floor - top)
    return [
      drawing('line', { x1: 0, x2: width, y1: y, y2: y, class: 'chart-line' }),
      share > 0 && drawing('text', { x: 2, y: y - 4, class: 'chart-label' }, short(scale * share)),
    ]
  })
  const bars = days.map(({ day, fast, premium }, place) => {
    const x = place * step + step * 0.16
    const wide = step * 0.68
    const below = tall(fast)
    const above = tall(premium)
    return drawing(
      'g',
      { class: 'chart-day' },
      drawing('title', {}, `${dayLabel(day)}: ${texts.fast} ${figure(fast)}, ${texts.premium} ${figure(premium)}`),
      drawing('rect', { x: place * step, y: 0, width: step, height: floor, class: 'chart-hit' }),
      fast > 0 && drawing('rect', { x, y: floor - below, width: wide, height: below, rx: 2, class: 'chart-fast' }),
      premium > 0 && drawing('rect', { x, y: floor - below - above, width: wide, height: above, rx: 2, class: 'chart-premium' }),
    )
  })
  const marks = [
    { place: 0, x: 0, anchor: 'start' },
    { place: Math.floor(days.length / 2), x: width / 2, anchor: 'middle' },
    { place: days.length - 1, x: width, anchor: 'end' },
  ].map(({ place, x, anchor }) =>
    drawing('text', { x, y: height - 6, class: 'chart-label', 'text-anchor': anchor }, dayLabel(days[place]?.day ?? '')),
  )
  const picture = drawing(
    'svg',
    { viewBox: `0 0 ${width} ${height}`, class: 'chart', role: 'img', 'aria-label': `${texts.chartTitle}. ${texts.chartLead}.` },
    ...lines.flat(),
    ...bars,
    ...marks,
  )
  const legend = element(
    'p',
    { class: 'legend' },
    element('span', { class: 'key fast' }, texts.fast),
    element('span', { class: 'key premium' }, texts.premium),
  )
  const used = days.filter(({ fast, premium }) => fast + premium > 0)
  const numbers = element(
    'details',
    { class: 'fold' },
    element('summary', {}, texts.chartTable),
    table(
      texts.chartTitle,
      [texts.date, { content: texts.fast, class: 'number' }, { content: texts.premium, class: 'number' }],
      used.map(({ day, fast, premium }) => [
        dayLabel(day),
        { content: figure(fast), class: 'number' },
        { content: figure(premium), class: 'number' },
      ]),
    ),
  )
  return [legend, picture, numbers]
}

/** A day of the service's calendar: the same date wherever its reader is. */
function dayLabel(day: string): string {
  return new Intl.DateTimeFormat(locale, { month: 'short', day: 'numeric', timeZone: 'UTC' }).format(new Date(`${day}T00:00:00Z`))
}

function short(value: number): string {
  return new Intl.NumberFormat(locale, { notation: 'compact', maximumFractionDigits: 1 }).format(value)
}

/** The next amount with a round name, and a round half. */
function roundUp(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value))
  return [1, 2, 3, 4, 6, 8, 10].map((step) => step * power).find((step) => step >= value) ?? value
}
