/** Live figures of the console's first page. Without it a reload shows them. */
import './member.ts'
import { findElements } from '../page.ts'
import type { LiveFigures } from '../../views/operator/now/now.ts'

const reopenMs = 30_000

const [box] = findElements('[data-live-figures]', HTMLElement)
if (box !== undefined) watch(box)

/** Other rows are drawn by the server, so that the page has one template; a page that is not looked at waits. */
function watch({ dataset }: HTMLElement): void {
  const places = new Map(findElements('[data-live]', HTMLElement).map((place) => [place.dataset['live'] ?? '', place]))
  const liveLinks = findElements('[data-live-link]', HTMLAnchorElement)
  const show = ({ data }: MessageEvent<string>): void => {
    const { shape, texts, links }: LiveFigures = JSON.parse(data)
    if (shape !== dataset['liveFigures'] && !document.hidden) return location.reload()
    for (const [name, text] of Object.entries(texts)) {
      const place = places.get(name)
      if (place !== undefined && place.textContent !== text) place.textContent = text
    }
    for (const link of liveLinks) {
      const address = links[link.dataset['liveLink'] ?? '']
      if (address !== undefined) link.href = address
    }
  }
  const open = (): void => {
    const source = new EventSource('/operator/live')
    source.addEventListener('message', show)
    // A browser opens a stream that has ended again, but not one that is refused, as while the server restarts.
    source.addEventListener('error', () => {
      if (source.readyState === EventSource.CLOSED) setTimeout(open, reopenMs)
    })
  }
  open()
}
