/** A table in a box, whose rows become cards of labelled lines where the box is narrow. */
import { html } from '../html.ts'
import type { Html } from '../html.ts'

export interface TableColumn {
  /** Also the label of its cells in a narrow box. */
  readonly title: string
  /** What the head shows, where that is more than the title. */
  readonly head?: Html
  readonly isNumber?: boolean
  /** The title is for screen readers alone: the column has buttons, at the end of their rows. */
  readonly isHidden?: boolean
}

export interface TableRow {
  /** Of the first cell, which names the row. */
  readonly id?: string | undefined
  readonly cells: readonly Html[]
}

interface DataTable {
  /** The name of the box, which can be scrolled by keyboard. */
  readonly label: string
  readonly caption?: string
  /** Classes of the box. */
  readonly look?: string
  readonly columns: readonly TableColumn[]
  readonly rows: readonly TableRow[]
}

/** The roles are written out because browsers forget them where a table is not laid out as one. */
export function renderDataTable({ label, caption, look: boxLook = '', columns, rows }: DataTable): Html {
  const look = ({ isNumber, isHidden }: TableColumn): Html =>
    isNumber === true ? html`class="number"` : html`${isHidden === true && html`class="end"`}`
  return html`<div class="table-box ${boxLook}" tabindex="0" role="region" aria-label="${label}">
    <table class="stacking" role="table">
      ${
        caption !== undefined &&
        html`<caption>
          ${caption}
        </caption>`
      }
      <thead role="rowgroup">
        <tr role="row">
          ${columns.map(
            (column) =>
              html`<th scope="col" role="columnheader" ${look(column)}>
                ${column.isHidden === true ? html`<span class="unseen">${column.title}</span>` : (column.head ?? column.title)}
              </th>`,
          )}
        </tr>
      </thead>
      <tbody role="rowgroup">
        ${rows.map(
          ({ id, cells: [first, ...others] }) =>
            html`<tr role="row">
              <th scope="row" role="rowheader" ${id !== undefined && html`id="${id}"`}><span class="cell">${first}</span></th>
              ${others.map((cell, index) => {
                const column = columns[index + 1] ?? { title: '' }
                const label = column.isHidden !== true && html`data-label="${column.title}"`
                return html`<td role="cell" ${look(column)} ${label}>
                  <span class="cell">${cell}</span>
                </td>`
              })}
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`
}
