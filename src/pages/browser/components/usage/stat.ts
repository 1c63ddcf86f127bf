/** A figure that a page is about: its name, the figure, and a word beside it. */
import type { Child } from '../../page.ts'
import { createElement } from '../../page.ts'

/** `content` has the figure in a `strong` element, because languages differ in what comes first. */
export function createStat(name: string, ...content: readonly Child[]): HTMLElement {
  return createElement(
    'div',
    { class: 'stat' },
    createElement('p', { class: 'stat-name' }, name),
    createElement('p', { class: 'stat-figure' }, ...content),
  )
}
