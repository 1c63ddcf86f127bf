/** Draws rows under headings within the width of a terminal. */
import { padToWidth, padStartToWidth, measureWidth } from './measure-width.ts'
import { wrapCell } from './wrap-text.ts'

export interface Column<Item> {
  readonly heading: string
  readonly cell: (item: Item) => string
  readonly align?: 'right'
  /** Stands for `cell` where the table would be too wide. */
  readonly short?: (item: Item) => string
  /** The column is left out where the table would still be too wide, the one with the highest number first. Without it the column stays. */
  readonly drop?: number
}

/**
 * Columns are two spaces apart; the last column is not padded, and a column without any text is left out. Cells must be sanitized text
 * on one line. A table that is too wide is made narrower in steps: short cells, fewer columns, cells of several lines.
 */
export function formatTable<Item>(items: readonly Item[], columns: readonly Column<Item>[], width = Infinity): string {
  const filledColumns = columns.filter(({ cell, drop }) => drop === undefined || items.some((item) => cell(item) !== ''))
  let drawnColumns = filledColumns.map((column) => drawColumn(items, column, false))
  if (sumWidths(drawnColumns) > width) drawnColumns = filledColumns.map((column) => drawColumn(items, column, true))
  while (sumWidths(drawnColumns) > width) {
    const droppedColumn = findDropped(drawnColumns)
    if (droppedColumn === undefined) break
    drawnColumns = drawnColumns.filter((column) => column !== droppedColumn)
  }
  return renderRows(wrapColumns(drawnColumns, width))
}

interface DrawnColumn {
  readonly cells: readonly string[]
  readonly width: number
  readonly isRight: boolean
  readonly drop: number | undefined
}

const gap = 2
/** Narrower cells of several lines are not readable. */
const minWidth = 8

function drawColumn<Item>(
  items: readonly Item[],
  { heading, cell, short, align, drop }: Column<Item>,
  isNarrow: boolean,
): DrawnColumn {
  const cells = [heading, ...items.map(isNarrow ? (short ?? cell) : cell)]
  return { cells, width: measureWidest(cells), isRight: align === 'right', drop }
}

function findDropped(columns: readonly DrawnColumn[]): DrawnColumn | undefined {
  const [first] = columns.filter(({ drop }) => drop !== undefined).toSorted((one, other) => (other.drop ?? 0) - (one.drop ?? 0))
  return first
}

function sumWidths(columns: readonly DrawnColumn[]): number {
  return columns.reduce((sum, { width }) => sum + width, gap * (columns.length - 1))
}

/** The widest columns of text give way, down to a width that can still be read. */
function wrapColumns(columns: readonly DrawnColumn[], width: number): readonly DrawnColumn[] {
  const widths = columns.map((column) => column.width)
  const sum = () => widths.reduce((total, one) => total + one, gap * (columns.length - 1))
  for (let excess = sum() - width; excess > 0; excess = sum() - width) {
    const widest = Math.max(...columns.map(({ isRight }, at) => (isRight ? 0 : (widths[at] ?? 0))))
    if (widest <= minWidth) break
    const at = columns.findIndex(({ isRight }, index) => !isRight && widths[index] === widest)
    widths[at] = Math.max(minWidth, widest - excess, Math.min(widest - 1, findNextWidest(columns, widths, widest)))
  }
  return columns.map((column, at) => ({ ...column, width: widths[at] ?? column.width }))
}

function findNextWidest(columns: readonly DrawnColumn[], widths: readonly number[], widest: number): number {
  return Math.max(minWidth, ...widths.filter((width, at) => columns[at]?.isRight === false && width < widest))
}

function renderRows(columns: readonly DrawnColumn[]): string {
  const count = columns[0]?.cells.length ?? 0
  return Array.from({ length: count }, (_, row) => {
    const cells = columns.map(({ cells, width }) => wrapCell(cells[row] ?? '', width))
    const height = Math.max(1, ...cells.map((lines) => lines.length))
    return Array.from({ length: height }, (_, line) =>
      columns
        .map(({ width, isRight }, at) => (isRight ? padStartToWidth : padToWidth)(cells[at]?.[line] ?? '', width))
        .join(' '.repeat(gap))
        .trimEnd(),
    ).join('\n')
  }).join('\n')
}

function measureWidest(cells: readonly string[]): number {
  return cells.reduce((widest, cell) => Math.max(widest, measureWidth(cell)), 0)
}
