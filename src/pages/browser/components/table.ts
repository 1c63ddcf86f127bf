/** Tables, which on a phone become cards. */
import type { Child } from '../page.ts'
import { createElement } from '../page.ts'

/** `hidden`: a title for screen readers only. */
interface Column {
  readonly content: string
  readonly class?: string
  readonly hidden?: boolean
}

interface Cell {
  readonly content: Child
  readonly class?: string
}

/**
 * A table; each cell is text, an element, or `{ content, class }`. On a phone each row becomes a card of labelled lines; the roles are
 * written out because browsers forget them where a table is not laid out as one.
 */
export function createTable(
  label: string,
  head: readonly (string | Column)[],
  rows: readonly (readonly (string | Node | Cell)[])[],
): HTMLElement {
  const columns = head.map((title) => (typeof title === 'string' ? { content: title } : title))
  return createElement(
    'div',
    { class: 'table-box', tabindex: '0', role: 'region', 'aria-label': label },
    createElement(
      'table',
      { class: 'stacking', role: 'table' },
      createElement('thead', { role: 'rowgroup' }, createElement('tr', { role: 'row' }, ...columns.map(createHeadCell))),
      createElement(
        'tbody',
        { role: 'rowgroup' },
        ...rows.map((cells) =>
          createElement(
            'tr',
            { role: 'row' },
            ...cells.map((content, place) => createCell(content, place === 0, columns[place])),
          ),
        ),
      ),
    ),
  )
}

function createHeadCell({ content, class: look, hidden = false }: Column): HTMLElement {
  return createElement(
    'th',
    { scope: 'col', role: 'columnheader', class: look },
    createElement('span', { class: hidden ? 'unseen' : null }, content),
  )
}

function createCell(value: string | Node | Cell, first: boolean, column: Column | undefined): HTMLElement {
  const { content, class: look }: Cell = typeof value === 'string' || value instanceof Node ? { content: value } : value
  // The content is one box, so that on a phone a line has two sides: its label and this.
  const box = createElement('span', { class: 'cell' }, content)
  return first
    ? createElement('th', { scope: 'row', role: 'rowheader', class: look }, box)
    : createElement('td', { role: 'cell', class: look, 'data-label': column?.hidden === true ? null : column?.content }, box)
}
