/** Draws a table to the width of the user's terminal; in a pipe all columns are whole. */
import { formatTable } from '../../system/terminal/table.ts'
import type { Column } from '../../system/terminal/table.ts'
import type { Context } from '../context.ts'

export function drawTable<Item>(
  { stdout }: Pick<Context, 'stdout'>,
  items: readonly Item[],
  columns: readonly Column<Item>[],
): string {
  return formatTable(items, columns, stdout.isTerminal ? stdout.columns : Infinity)
}
