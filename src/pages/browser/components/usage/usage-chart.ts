/**
 * Usage by day as stacked bars. A slider below the bars chooses a day, by touch, keyboard or screen reader alike, and the day's numbers stand
 * above; a pointer over a bar does the same. A table has all numbers.
 */
import type { UsageGroup, UsageHistory } from '../../api-types.ts'
import { formatCompact, formatCount, formatNumber, formatPercent } from '../../format.ts'
import { createElement, createSvgElement, getTexts, interpolate, locale } from '../../page.ts'
import { createTable } from '../table.ts'
import { nameGroup } from './usage-names.ts'

/** Further groups are drawn and listed as one. */
const maxGroups = 5
const topMargin = 14
const height = 220
const texts = getTexts('account')

interface Series extends Pick<UsageGroup, 'turns' | 'credits' | 'credits_by_day'> {
  readonly name: string
  readonly look: string
}

export function renderUsageHistory(history: UsageHistory): Node[] {
  const { days, total } = history
  if (total.turns + total.failed === 0) return [createElement('p', { class: 'sub empty chart-empty' }, texts.chartEmpty)]
  const series = toSeries(history)
  const sums = days.map((_, day) => series.reduce((sum, { credits_by_day: credits }) => sum + (credits[day] ?? 0), 0))
  const readout = createElement('p', { class: 'chart-readout', 'aria-hidden': 'true' })
  const { picture, scale, mark } = drawBars(series, days, sums)
  const slider = createElement('input', {
    type: 'range',
    class: 'chart-slider',
    min: 0,
    max: days.length - 1,
    step: 1,
    'aria-label': texts.chartDay,
  })
  const show = (day: number) => {
    const summary = describeDay(series, days[day] ?? '', day, sums[day] ?? 0)
    readout.textContent = summary
    slider.value = String(day)
    slider.setAttribute('aria-valuetext', summary)
    mark(day)
  }
  slider.addEventListener('input', () => show(Number(slider.value)))
  picture.addEventListener('pointermove', (event) => {
    const { left, width } = picture.getBoundingClientRect()
    show(Math.min(days.length - 1, Math.max(0, Math.floor(((event.clientX - left) / width) * days.length))))
  })
  show(days.length - 1)
  return [
    createElement(
      'p',
      { class: 'chart-total' },
      interpolate(texts.chartTotal, { credits: formatCount('credits', total.credits), turns: formatCount('turns', total.turns) }),
      total.failed > 0 && ` ${interpolate(texts.chartFailed, { turns: formatNumber(total.failed) })}`,
    ),
    readout,
    createElement(
      'div',
      { class: 'chart-box' },
      createElement('span', { class: 'chart-scale', 'aria-hidden': 'true' }, formatCompact(scale)),
      picture,
      slider,
    ),
    renderLegend(series, total.credits),
    renderTable(series, days),
  ]
}

function toSeries({ by, groups }: UsageHistory): Series[] {
  const shown = groups.length > maxGroups + 1 ? groups.slice(0, maxGroups) : groups
  const rest = groups.slice(shown.length)
  const series = shown.map(({ id, name, turns, credits, credits_by_day }, place) => ({
    name: nameGroup(by, id, name),
    look: by === 'tier' ? id : `series-${place + 1}`,
    turns,
    credits,
    credits_by_day,
  }))
  if (rest.length === 0) return series
  return [
    ...series,
    {
      name: interpolate(texts.otherGroups, { count: rest.length }),
      look: 'series-rest',
      turns: rest.reduce((sum, { turns }) => sum + turns, 0),
      credits: rest.reduce((sum, { credits }) => sum + credits, 0),
      credits_by_day: (rest[0]?.credits_by_day ?? []).map((_, day) =>
        rest.reduce((sum, group) => sum + (group.credits_by_day[day] ?? 0), 0),
      ),
    },
  ]
}

/** `mark` shows which day is chosen. The picture is stretched to the width of the page, so it has no letters of its own. */
function drawBars(
  series: readonly Series[],
  days: readonly string[],
  sums: readonly number[],
): { readonly picture: SVGSVGElement; readonly scale: number; readonly mark: (day: number) => void } {
  const scale = roundUpToNiceNumber(Math.max(1, ...sums))
  const toHeight = (credits: number) => (credits / scale) * (height - topMargin)
  const step = 1000 / days.length
  const chosen = createSvgElement('rect', { y: 0, width: step, height, class: 'chart-chosen' })
  const bars = days.flatMap((_, day) => {
    let top = height
    return series.map(({ look, credits_by_day: credits }) => {
      const tall = toHeight(credits[day] ?? 0)
      top -= tall
      return (
        tall > 0 &&
        createSvgElement('rect', {
          x: day * step + step * 0.14,
          y: top,
          width: step * 0.72,
          height: Math.max(tall, 1.5),
          class: look,
        })
      )
    })
  })
  const lines = [0, 0.5, 1].map((share) => {
    const y = height - share * (height - topMargin)
    return createSvgElement('line', { x1: 0, x2: 1000, y1: y, y2: y, class: 'chart-line' })
  })
  const picture = createSvgElement(
    'svg',
    {
      viewBox: `0 0 1000 ${height}`,
      preserveAspectRatio: 'none',
      class: 'chart',
      'aria-hidden': 'true',
    },
    ...lines,
    chosen,
    ...bars,
  )
  return { picture, scale, mark: (day) => chosen.setAttribute('x', String(day * step)) }
}

function describeDay(series: readonly Series[], date: string, day: number, sum: number): string {
  const parts = series
    .filter(({ credits_by_day: credits }) => (credits[day] ?? 0) > 0)
    .map(({ name, credits_by_day: credits }) => `${name} ${formatNumber(credits[day] ?? 0)}`)
  const summary = interpolate(texts.chartDayTotal, { day: formatDay(date), credits: formatCount('credits', sum) })
  return [summary, ...parts].join(' · ')
}

function renderLegend(series: readonly Series[], total: number): HTMLElement {
  return createElement(
    'ul',
    { class: 'chart-legend', role: 'list' },
    ...series.map(({ name, look, turns, credits }) =>
      createElement(
        'li',
        {},
        createElement('span', { class: `swatch ${look}`, 'aria-hidden': 'true' }),
        createElement('span', { class: 'legend-name' }, name),
        createElement('span', { class: 'sub' }, formatCount('turns', turns)),
        createElement('strong', {}, formatNumber(credits)),
        createElement('span', { class: 'sub' }, formatPercent(total === 0 ? 0 : credits / total)),
      ),
    ),
  )
}

function renderTable(series: readonly Series[], days: readonly string[]): HTMLElement {
  const used = days
    .map((date, day) => ({ date, day }))
    .filter(({ day }) => series.some((each) => (each.credits_by_day[day] ?? 0) > 0))
  return createElement(
    'details',
    { class: 'fold' },
    createElement('summary', {}, texts.chartTable),
    createTable(
      texts.chartTitle,
      [texts.date, ...series.map(({ name }) => ({ content: name, class: 'number' }))],
      used
        .toReversed()
        .map(({ date, day }) => [
          formatDay(date),
          ...series.map(({ credits_by_day: credits }) => ({ content: formatNumber(credits[day] ?? 0), class: 'number' })),
        ]),
    ),
  )
}

/** A day of the service's calendar: the same date wherever its reader is. */
function formatDay(day: string): string {
  return new Intl.DateTimeFormat(locale, { month: 'short', day: 'numeric', timeZone: 'UTC' }).format(new Date(`${day}T00:00:00Z`))
}

/** The next amount with a round name, and a round half. */
function roundUpToNiceNumber(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value))
  return [1, 2, 3, 4, 6, 8, 10].map((step) => step * power).find((step) => step >= value) ?? value
}
