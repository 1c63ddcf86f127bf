/** A table for people: rows under headings. */
import { pad, padLeft, width } from './width.ts'

export interface Column<Item> {
  readonly heading: string
  readonly cell: (item: Item) => string
  readonly align?: 'right'
}

/** Columns are two spaces apart; the last column is not filled up. Cells must be clean text on one line. */
export function toTable<Item>(items: readonly Item[], columns: readonly Column<Item>[]): string {
  const cells = [columns.map((column) => column.heading), ...items.map((item) => columns.map((column) => column.cell(item)))]
  const widths = columns.map((_, index) => Math.max(...cells.map((row) => width(row[index] ?? ''))))
  return cells
    .map((row) =>
      row
        .map((cell, index) =>
          columns[index]?.align === 'right' ? padLeft(cell, widths[index] ?? 0) : pad(cell, widths[index] ?? 0),
        )
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}
