/** New turns at the top of the console's list, as they end. Without it a reload shows them. */
import './member.ts'
import { showLocalTimes } from '../components/local-times.ts'
import { findElement, findElements } from '../page.ts'
import type { LiveTurns } from '../../views/operator/turns/turns.ts'

const [list] = findElements('[data-live-turns]', HTMLElement)
const [pause] = findElements('[data-live-pause]', HTMLButtonElement)
if (list !== undefined && pause !== undefined) setUpTail(list, pause)

function setUpTail(list: HTMLElement, pause: HTMLButtonElement): void {
  const { liveTurns: address = '' } = list.dataset
  const progress = findElement('[data-live-progress]', HTMLElement)
  const words = { running: pause.textContent, paused: pause.dataset['livePause'] ?? '' }
  let source: EventSource | null = null
  let rows: XMLHttpRequest | null = null
  let isDue = false
  const start = (): void => {
    source = new EventSource(address)
    source.addEventListener('message', ({ data }) => {
      const { added, progress: text }: LiveTurns = JSON.parse(data)
      if (progress.textContent !== text) progress.textContent = text
      if (!added.every((id) => list.querySelector(`a[href="/operator/turns/${id}"]`) !== null)) load()
    })
    // A browser opens a stream that has ended again, but not one that is refused: the session has ended, or too many are open.
    source.addEventListener('error', () => {
      if (source?.readyState === EventSource.CLOSED) stop()
    })
    pause.textContent = words.running
  }
  /** One request at a time: a slow one is not lost to the next event. */
  const load = (): void => {
    isDue = rows !== null
    if (isDue) return
    rows = loadRows(list)
    rows.addEventListener('loadend', () => {
      rows = null
      if (isDue && source !== null) load()
    })
  }
  const stop = (): void => {
    source?.close()
    source = null
    rows?.abort()
    pause.textContent = words.paused
  }
  pause.hidden = false
  pause.addEventListener('click', () => {
    if (source === null) start()
    else stop()
  })
  start()
}

/** The page has one template, so its rows come from the page itself. Such a document runs no script, and needs no text turned into markup. */
function loadRows(list: HTMLElement): XMLHttpRequest {
  const request = new XMLHttpRequest()
  request.responseType = 'document'
  request.addEventListener('load', () => {
    const next = request.responseXML?.querySelector('[data-live-turns]')
    if (request.status === 200 && next != null) showRows(list, next)
  })
  request.open('GET', location.href)
  request.setRequestHeader('accept', 'text/html')
  request.send()
  return request
}

/** Rows that the page has stay, so that the reader's place and focus stay too. */
function showRows(list: HTMLElement, next: Element): void {
  const [body] = findElements('tbody', HTMLTableSectionElement, list)
  const nextBody = next.querySelector('tbody')
  if (body === undefined || nextBody === null) list.replaceChildren(...next.childNodes)
  else {
    const shownRows = new Map([...body.children].map((row) => [findAddress(row), row]))
    const rows = [...nextBody.children].map((row) => shownRows.get(findAddress(row)) ?? row)
    for (const row of shownRows.values()) if (!rows.includes(row)) row.remove()
    for (const [index, row] of rows.entries()) {
      const place = body.children[index]
      if (place !== row) body.insertBefore(row, place ?? null)
    }
    const [pager, nextPager] = [list.querySelector('.pager'), next.querySelector('.pager')]
    pager?.remove()
    if (nextPager !== null) list.append(nextPager)
  }
  showLocalTimes()
}

function findAddress(row: Element): string {
  return row.querySelector('a')?.getAttribute('href') ?? ''
}
