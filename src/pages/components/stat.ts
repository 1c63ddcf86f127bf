/** A figure that a page is about: its name, the figure, and a word beside it. */
import { html } from '../html.ts'
import type { Html } from '../html.ts'

/** `figure` has the number in a `strong` element, because languages differ in what comes first. */
export function renderStat(name: string, figure: Html): Html {
  return html`<div class="stat">
    <p class="stat-name">${name}</p>
    <p class="stat-figure">${figure}</p>
  </div>`
}
