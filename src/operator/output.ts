/** How commands speak: tables for people, one JSON document for programs. */

export interface Output {
  readonly json: boolean
}

/** What a command has to say, and whether all is well: it ends with 1 where not. */
export interface Said {
  readonly text: string
  readonly ok: boolean
}

/** What a terminal may act on although it is no line feed: members choose their keys' names, and programs their own. */
// oxlint-disable-next-line no-control-regex -- these are what is looked for
const unprintable = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g

const escaped = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`

/** A result: as it is with `--json`, else as `text` says. */
export function say(output: Output, result: unknown, text: () => string, ok = true): Said {
  return { ok, text: `${(output.json ? JSON.stringify(result, null, 2) : text().trimEnd()).replaceAll(unprintable, escaped)}\n` }
}

/** Columns aligned, headings first; numbers to the right. */
export function table(headings: readonly string[], rows: readonly (readonly (string | number | null)[])[]): string {
  const cells = [headings, ...rows.map((row) => row.map((cell) => (cell === null ? '-' : String(cell).replaceAll(/\n/g, ' '))))]
  const widths = headings.map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)))
  const isNumber = headings.map((_, column) => rows.length > 0 && rows.every((row) => typeof row[column] === 'number'))
  return cells
    .map((row) =>
      row
        .map((cell, column) =>
          isNumber[column] === true ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0),
        )
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

/** `1 account`, `2 accounts`; where more than an ending differs, `many` is the words of several. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`
}
