/** The foot of a list that is shown in pages: newer, the page's number, older. */
import { createElement, interpolate } from '../page.ts'

interface Pager {
  /** What is paged, for screen readers. */
  readonly label: string
  /** From 1. */
  readonly page: number
  readonly hasOlder: boolean
  readonly texts: { readonly newer: string; readonly older: string; readonly page: string }
  readonly turnTo: (page: number) => void
}

/** Nothing where the list has one page. */
export function createPager({ label, page, hasOlder, texts, turnTo }: Pager): HTMLElement | null {
  if (page === 1 && !hasOlder) return null
  const button = (text: string, next: number, disabled: boolean) =>
    createElement('button', { class: 'button quiet small', type: 'button', disabled, onclick: () => turnTo(next) }, text)
  return createElement(
    'nav',
    { class: 'pager', 'aria-label': label },
    button(texts.newer, page - 1, page === 1),
    createElement('span', { class: 'sub' }, interpolate(texts.page, { page })),
    button(texts.older, page + 1, !hasOlder),
  )
}
