/** The foot of a list that is shown in pages: newer, the page's number, older. */
import { html } from '../html.ts'
import type { Html } from '../html.ts'
import { interpolate } from '../page.ts'

interface Pager {
  /** What is paged, for screen readers. */
  readonly label: string
  /** From 1. */
  readonly page: number
  readonly hasOlder: boolean
  readonly texts: { readonly newer: string; readonly older: string; readonly page: string }
  readonly toHref: (page: number) => string
}

/** Nothing where the list has one page. */
export function renderPager({ label, page, hasOlder, texts, toHref }: Pager): Html {
  if (page === 1 && !hasOlder) return html``
  const link = (text: string, next: number, isShown: boolean): Html =>
    isShown ? html`<a class="button quiet small" href="${toHref(next)}">${text}</a>` : html`<span></span>`
  return html`<nav class="pager" aria-label="${label}">
    ${link(texts.newer, page - 1, page > 1)} <span class="sub">${interpolate(texts.page, { page })}</span>
    ${link(texts.older, page + 1, hasOlder)}
  </nav>`
}
