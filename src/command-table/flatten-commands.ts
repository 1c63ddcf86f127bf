/** Flattens the command table for code that needs all entries: help, completions, man page. */
import type { CommandSpec } from './command.ts'
import { isCommandGroup } from './command.ts'

/** An entry and the command names that lead to it. */
export interface CommandPath<Handler> {
  readonly path: readonly string[]
  readonly spec: CommandSpec<Handler>
}

/** Every visible entry, groups before their commands. */
export function flattenCommands<Handler>(
  specs: readonly CommandSpec<Handler>[],
  above: readonly string[] = [],
): readonly CommandPath<Handler>[] {
  return specs
    .filter((row) => row.hidden !== true)
    .flatMap((spec) => {
      const path = [...above, spec.name]
      return [{ path, spec }, ...(isCommandGroup(spec) ? flattenCommands(spec.commands, path) : [])]
    })
}
