/**
 * Reads values off the charts of a page, by pointer, touch and keyboard. The values are those of the table beside the chart: the server marks
 * each step with the place of its row, and each series with its column.
 */
import { createElement, createSvgElement, findElement, findElements } from '../page.ts'

/** Of the picture, which is stretched. */
const viewWidth = 1000

interface Step {
  readonly name: string
  readonly values: readonly Value[]
}

interface Value {
  readonly series: string
  readonly text: string
  /** The class of its colour; none where the picture does not have it. */
  readonly look: string
}

export function setUpCharts(boxes: readonly HTMLElement[]): void {
  for (const box of boxes) setUpChart(box)
}

function setUpChart(box: HTMLElement): void {
  const picture = findElement('svg', SVGSVGElement, box)
  const steps = readSteps(box, picture)
  if (steps.length === 0) return
  const mark = createSvgElement('rect', { class: 'chart-chosen', y: 0, width: viewWidth / steps.length, height: '100%' })
  const panel = createElement('div', { class: 'chart-values', 'aria-hidden': 'true', hidden: true })
  // The control has the time, and this has the values. Only the keyboard fills it: a pointer would make it speak at each step.
  const announcement = createElement('p', { class: 'unseen', 'aria-live': 'polite' })
  box.append(panel, announcement)
  let chosenIndex = steps.length - 1

  const setTime = (): void => {
    picture.setAttribute('aria-valuenow', String(chosenIndex))
    picture.setAttribute('aria-valuetext', steps[chosenIndex]?.name ?? '')
  }
  const choose = (index: number): void => {
    chosenIndex = Math.max(0, Math.min(steps.length - 1, index))
    const step = steps[chosenIndex]
    if (step === undefined) return
    mark.setAttribute('x', String((chosenIndex * viewWidth) / steps.length))
    if (!mark.isConnected) picture.prepend(mark)
    panel.replaceChildren(...renderStep(step))
    panel.hidden = false
    placePanel(panel, chosenIndex, steps.length)
    setTime()
  }
  const announce = (): void => {
    announcement.textContent = (steps[chosenIndex]?.values ?? []).map(({ series, text }) => `${series} ${text}`).join(', ')
  }
  const hide = (): void => {
    panel.hidden = true
    mark.remove()
    announcement.textContent = ''
  }

  picture.removeAttribute('aria-hidden')
  const { ariaLabel } = findTable(box)
  const control = { role: 'slider', tabindex: 0, 'aria-label': ariaLabel, 'aria-valuemin': 0, 'aria-valuemax': steps.length - 1 }
  for (const [name, value] of Object.entries(control)) picture.setAttribute(name, String(value))
  setTime()

  const follow = ({ clientX }: PointerEvent): void => {
    const { left, width } = picture.getBoundingClientRect()
    choose(Math.floor(((clientX - left) / width) * steps.length))
  }
  picture.addEventListener('pointerdown', follow)
  picture.addEventListener('pointermove', follow)
  // A finger leaves the picture when it is lifted, and the values stay until a tap elsewhere takes the focus.
  picture.addEventListener('pointerleave', ({ pointerType }) => {
    if (pointerType !== 'touch') hide()
  })
  picture.addEventListener('focus', () => {
    if (!picture.matches(':focus-visible')) return
    choose(chosenIndex)
    announce()
  })
  picture.addEventListener('blur', hide)
  picture.addEventListener('keydown', (event) => {
    if (event.key === 'Escape') return hide()
    const nextIndex = findStep(event, chosenIndex, steps.length)
    if (nextIndex === null) return
    event.preventDefault()
    choose(nextIndex)
    announce()
  })
}

/** Takes over the titles of the picture, which the browser would show beside the values. */
function readSteps(box: HTMLElement, picture: SVGSVGElement): readonly Step[] {
  const table = findElement('table', HTMLTableElement, findTable(box))
  const titles = findElements('thead th', HTMLTableCellElement, table).map(readText)
  const rows = findElements('tbody tr', HTMLTableRowElement, table)
  const looks = new Map(
    findElements('[data-column]', HTMLElement, box.parentElement ?? box).map((entry) => [
      Number(entry.dataset['column']),
      entry.querySelector('.swatch')?.className ?? '',
    ]),
  )
  return findElements('g', SVGGElement, picture).map((group) => {
    const title = findElement('title', SVGTitleElement, group)
    title.remove()
    const row = rows[Number(group.dataset['row'] ?? Number.NaN)]
    if (row === undefined) return { name: readText(title), values: [] }
    const [name = '', ...cells] = [...row.cells].map(readText)
    const values = cells.map((text, index) => ({ series: titles[index + 1] ?? '', text, look: looks.get(index + 1) ?? '' }))
    return { name, values }
  })
}

function findTable(box: HTMLElement): HTMLElement {
  return findElement('.table-box', HTMLElement, box.closest('section') ?? document)
}

function readText({ textContent }: Node): string {
  return (textContent ?? '').trim().replaceAll(/\s+/g, ' ')
}

function renderStep({ name, values }: Step): readonly HTMLElement[] {
  const lines = values.map(({ series, text, look }) =>
    createElement(
      'p',
      {},
      createElement('span', { class: look }),
      createElement('span', {}, series),
      createElement('strong', {}, text),
    ),
  )
  return [createElement('strong', {}, name), ...lines]
}

/** On the side of the step that has more room, so that the step stays visible. */
function placePanel({ style, classList }: HTMLElement, step: number, count: number): void {
  const isBefore = step >= count / 2
  const sharePercent = (isBefore ? 1 - step / count : (step + 1) / count) * 100
  const inset = `${Math.min(50, sharePercent)}%`
  style.left = isBefore ? '0' : inset
  style.right = isBefore ? inset : '0'
  classList.toggle('before', isBefore)
}

function findStep({ key }: KeyboardEvent, index: number, count: number): number | null {
  switch (key) {
    case 'ArrowLeft':
    case 'ArrowDown':
      return index - 1
    case 'ArrowRight':
    case 'ArrowUp':
      return index + 1
    case 'Home':
      return 0
    case 'End':
      return count - 1
    default:
      return null
  }
}
