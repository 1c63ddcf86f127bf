/** Output of commands: tables for people, one JSON document for programs. */
import { formatTime, formatZone } from '../system/terminal/format-time.ts'
import { measureWidth } from '../system/terminal/measure-width.ts'
import { wrapText } from '../system/terminal/wrap-text.ts'
import { formatTable as drawColumns } from '../system/terminal/table.ts'
import type { Column } from '../system/terminal/table.ts'

export interface OutputOptions {
  readonly json: boolean
}

/** The output of a command; `ok: false` exits with 1. */
export interface CommandResult {
  readonly text: string
  readonly ok: boolean
}

/** An output that may be longer than memory. */
export interface StreamedResult {
  readonly pieces: AsyncIterable<string>
  readonly ok: boolean
}

/**
 * Control characters except the line feed, and characters that are invisible or change the direction of text: members choose the names of
 * keys, and clients their own names.
 */
const unprintableCharacters = /(?!\n)[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu

/** As JSON writes it, so that a document still holds the same text. */
function escapeCharacter(character: string): string {
  return character
    .split('')
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('')
}

/** For everything that a command writes to a terminal, a failure's sentence included. */
export function escapeUnprintable(text: string): string {
  return text.replaceAll(unprintableCharacters, escapeCharacter)
}

/** Renders a result: as JSON with `--json`, else with `text`. */
export function renderResult(output: OutputOptions, result: unknown, text: () => string, ok = true): CommandResult {
  return {
    ok,
    text: `${escapeUnprintable(output.json ? JSON.stringify(result, null, 2) : fitLines(text().trimEnd()))}\n`,
  }
}

/** Sentences break at words; the lines of a table fit already. */
function fitLines(text: string): string {
  const width = getWidth()
  return text
    .split('\n')
    .flatMap((line) => (measureWidth(line) <= width ? line : wrapText(line, width)))
    .join('\n')
}

function getWidth(): number {
  const { isTTY, columns } = process.stdout
  return isTTY ? columns : Infinity
}

/** A table of values under headings; numbers are aligned right, and no value is `-`. */
export function formatTable(headings: readonly string[], rows: readonly (readonly (string | number | null)[])[]): string {
  const isNumber = headings.map((_, column) => rows.length > 0 && rows.every((row) => typeof row[column] === 'number'))
  return drawTable(
    rows,
    headings.map((heading, column) => ({
      heading,
      cell: (row) => formatCell(row[column] ?? null),
      ...(isNumber[column] === true && { align: 'right' }),
      // The first columns say what the row is about; `--json` has them all.
      ...(column > 2 && { drop: column }),
    })),
  )
}

/** A table that is drawn to the width of the terminal; in a pipe all columns are whole. */
export function drawTable<Item>(items: readonly Item[], columns: readonly Column<Item>[]): string {
  return drawColumns(items, columns, getWidth())
}

export function formatCell(value: string | number | null): string {
  return value === null ? '-' : String(value).replaceAll('\n', ' ')
}

/** The end of an id, which tells rows apart. */
export function shortenId(id: string | null): string {
  return id === null ? '-' : id.length > 12 ? `…${id.slice(-8)}` : id
}

/** A time in a sentence, with its zone: `24 Nov 07:24 UTC+1`. */
export function formatMoment(at: number, now: number): string {
  return `${formatTime(at, 'en', now)} ${formatZone(at)}`
}

/** A time in a table, whose heading names the zone; null where it is unset. */
export function formatCellTime(at: number | string | null, now: number): string | null {
  return at === null ? null : formatTime(at, 'en', now)
}

/** `1 account`, `2 accounts`; `many` is an irregular plural. */
export function pluralize(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`
}
