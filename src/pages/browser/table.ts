/** Tables, which on a phone become cards. */
import type { Child } from './page.ts'
import { element } from './page.ts'

/** `hidden`: a title for those alone who do not see the table. */
export interface Column {
  readonly content: string
  readonly class?: string
  readonly hidden?: boolean
}

export interface Cell {
  readonly content: Child
  readonly class?: string
}

/**
 * A table; each cell is text, an element, or `{ content, class }`. On a phone each row becomes a card of labelled lines; the roles are
 * written out because browsers forget them where a table is not laid out as one.
 */
export function table(
  label: string,
  head: readonly (string | Column)[],
  rows: readonly (readonly (string | Node | Cell)[])[],
): HTMLElement {
  const columns = head.map((title) => (typeof title === 'string' ? { content: title } : title))
  return element(
    'div',
    { class: 'table-box', tabindex: '0', role: 'region', 'aria-label': label },
    element(
      'table',
      { class: 'stacking', role: 'table' },
      element('thead', { role: 'rowgroup' }, element('tr', { role: 'row' }, ...columns.map(headCell))),
      element(
        'tbody',
        { role: 'rowgroup' },
        ...rows.map((cells) =>
          element('tr', { role: 'row' }, ...cells.map((content, place) => cell(content, place === 0, columns[place]))),
        ),
      ),
    ),
  )
}

function headCell({ content, class: look, hidden = false }: Column): HTMLElement {
  return element(
    'th',
    { scope: 'col', role: 'columnheader', class: look },
    element('span', { class: hidden ? 'unseen' : null }, content),
  )
}

function cell(given: string | Node | Cell, first: boolean, column: Column | undefined): HTMLElement {
  const { content, class: look }: Cell = typeof given === 'string' || given instanceof Node ? { content: given } : given
  // The content is one box, so that on a phone a line has two sides: its label and this.
  const box = element('span', { class: 'cell' }, content)
  return first
    ? element('th', { scope: 'row', role: 'rowheader', class: look }, box)
    : element('td', { role: 'cell', class: look, 'data-label': column?.hidden === true ? null : column?.content }, box)
}
