/** Live figures of the usage page: the chosen day of the chart, choices without a button, and the first request as it arrives. */
import './member.ts'
import { callApi } from '../api-client.ts'
import { findElement, findElements, getTexts, interpolate } from '../page.ts'

const { steps } = getTexts('account')
const watchEveryMs = 2000
/** A page that was left open does not ask for ever. */
const watchForMs = 30 * 60_000

for (const form of findElements('[data-auto-submit]', HTMLFormElement))
  form.addEventListener('change', () => form.requestSubmit())
for (const box of findElements('.chart-box', HTMLElement)) setUpChart(box)
for (const card of findElements('[data-first-turn]', HTMLElement))
  void watchFirstTurn(findElement('[data-watch]', HTMLElement, card))

/** A slider chooses a day, by touch, keyboard or screen reader alike; a pointer over a bar does the same. */
function setUpChart(box: HTMLElement): void {
  const picture = findElement('svg', SVGSVGElement, box)
  const slider = findElement('input', HTMLInputElement, box)
  const chosenBar = findElement('.chart-chosen', SVGRectElement, picture)
  const readout = findElement('.chart-readout', HTMLElement)
  const days = findElements('g > title', SVGTitleElement, picture)
  const show = (day: number): void => {
    const summary = days[day]?.textContent ?? ''
    readout.textContent = summary
    slider.value = String(day)
    slider.setAttribute('aria-valuetext', summary)
    chosenBar.setAttribute('x', String((day * 1000) / days.length))
  }
  slider.addEventListener('input', () => show(Number(slider.value)))
  picture.addEventListener('pointermove', ({ clientX }) => {
    const { left, width } = picture.getBoundingClientRect()
    show(Math.min(days.length - 1, Math.max(0, Math.floor(((clientX - left) / width) * days.length))))
  })
}

async function watchFirstTurn(status: HTMLElement): Promise<void> {
  const until = Date.now() + watchForMs
  while (Date.now() < until) {
    await new Promise((resolve) => setTimeout(resolve, watchEveryMs))
    if (document.hidden) continue
    // A request that fails here is asked again: what the page shows stays true.
    const turn = await callApi('get', '/api/membership/turns', { query: { limit: 1 } }).then(
      ({ data }) => data[0],
      () => undefined,
    )
    if (turn === undefined) continue
    status.textContent = interpolate(steps.running, { model: turn.model })
    // The page of an account with turns has its usage.
    if (turn.state !== 'held') return location.replace(`/account?done=${turn.state === 'settled' ? 'received' : 'failed'}`)
  }
  status.textContent = steps.stoppedWaiting
}
