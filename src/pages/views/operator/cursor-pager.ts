/** The foot of a list whose next page begins at a cursor, so that no page of a long list is read to be skipped. */
import { html } from '../../html.ts'
import type { Html } from '../../html.ts'
import type { PageContext } from '../../page.ts'

interface CursorPager {
  readonly label: string
  /** Where the list begins. */
  readonly first: string
  readonly isFirst: boolean
  /** Null at the end. */
  readonly next: string | null
}

/** Nothing where the list has one page. */
export function renderCursorPager({ t }: PageContext, { label, first, isFirst, next }: CursorPager): Html {
  if (isFirst && next === null) return html``
  return html`<nav class="pager" aria-label="${label}">
    ${isFirst ? html`<span></span>` : html`<a class="button quiet small" href="${first}">${t.console.pager.first}</a>`}
    ${next !== null && html`<a class="button quiet small" href="${next}">${t.console.pager.next}</a>`}
  </nav>`
}
