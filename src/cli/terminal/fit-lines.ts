/** Breaks sentences at words where a terminal would cut them; lines after the first keep its indentation. */
import { measureWidth } from '../../system/terminal/measure-width.ts'
import { wrapText } from '../../system/terminal/wrap-text.ts'
import type { OutputSink } from '../context.ts'

/** A line with styles was made to fit when it was drawn; in a pipe lines stay whole. */
export function fitLines({ isTerminal, columns }: Pick<OutputSink, 'isTerminal' | 'columns'>, text: string): string {
  if (!isTerminal) return text
  return text
    .split('\n')
    .map((line) => (measureWidth(line) <= columns || line.includes('\u001b') ? line : wrapLine(line, columns)))
    .join('\n')
}

function wrapLine(line: string, columns: number): string {
  const indent = /^ */.exec(line)?.[0] ?? ''
  return wrapText(line.trimStart(), Math.max(20, columns - indent.length))
    .map((part) => indent + part)
    .join('\n')
}
