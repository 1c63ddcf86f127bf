/** The table laid out flat, for everything that is made of all rows at once: help, completions, man page. */
import type { Row } from './command.ts'
import { isGroup } from './command.ts'

/** A row and the words that lead to it. */
export interface Place {
  readonly path: readonly string[]
  readonly row: Row
}

/** Every row that people may see, groups before their commands. */
export function walk(rows: readonly Row[], above: readonly string[] = []): readonly Place[] {
  return rows
    .filter((row) => row.hidden !== true)
    .flatMap((row) => {
      const path = [...above, row.name]
      return [{ path, row }, ...(isGroup(row) ? walk(row.commands, path) : [])]
    })
}
