/** Bars by day, drawn as SVG: fast below, premium on top. The same numbers stand in a table for those who do not see the drawing. */
import { drawing, element, figure, table, texts } from './page.js'

const top = 12
const locale = document.documentElement.lang

/** `days`: `{day, fast, premium}`, oldest first; `width` in pixels, so that letters keep their size on a phone. */
export function usageChart(days, width) {
  const words = texts.account
  const most = Math.max(...days.map(({ fast, premium }) => fast + premium))
  if (days.length === 0 || most === 0) return element('p', { class: 'sub empty' }, words.chartEmpty)
  const scale = roundUp(most)
  const height = width > 400 ? 330 : 220
  const floor = height - 24
  const step = width / days.length
  const tall = (credits) => (credits / scale) * (floor - top)
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
      drawing('title', {}, `${dayLabel(day)}: ${words.fast} ${figure(fast)}, ${words.premium} ${figure(premium)}`),
      drawing('rect', { x: place * step, y: 0, width: step, height: floor, class: 'chart-hit' }),
      fast > 0 && drawing('rect', { x, y: floor - below, width: wide, height: below, rx: 2, class: 'chart-fast' }),
      premium > 0 && drawing('rect', { x, y: floor - below - above, width: wide, height: above, rx: 2, class: 'chart-premium' }),
    )
  })
  const marks = [0, Math.floor(days.length / 2), days.length - 1].map((place, nth) =>
    drawing(
      'text',
      { x: [0, width / 2, width][nth], y: height - 6, class: 'chart-label', 'text-anchor': ['start', 'middle', 'end'][nth] },
      dayLabel(days[place].day),
    ),
  )
  const picture = drawing(
    'svg',
    { viewBox: `0 0 ${width} ${height}`, class: 'chart', role: 'img', 'aria-label': `${words.chartTitle}. ${words.chartLead}.` },
    ...lines.flat(),
    ...bars,
    ...marks,
  )
  const legend = element(
    'p',
    { class: 'legend' },
    element('span', { class: 'key fast' }, words.fast),
    element('span', { class: 'key premium' }, words.premium),
  )
  const used = days.filter(({ fast, premium }) => fast + premium > 0)
  const numbers = element(
    'details',
    { class: 'fold' },
    element('summary', {}, words.chartTable),
    table(
      words.chartTitle,
      [words.date, { content: words.fast, class: 'number' }, { content: words.premium, class: 'number' }],
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
function dayLabel(day) {
  return new Intl.DateTimeFormat(locale, { month: 'short', day: 'numeric', timeZone: 'UTC' }).format(new Date(`${day}T00:00:00Z`))
}

function short(value) {
  return new Intl.NumberFormat(locale, { notation: 'compact', maximumFractionDigits: 1 }).format(value)
}

/** The next amount with a round name, and a round half. */
function roundUp(value) {
  const power = 10 ** Math.floor(Math.log10(value))
  return [1, 2, 3, 4, 6, 8, 10].map((step) => step * power).find((step) => step >= value)
}
