/** What the groups of commands share. A group adds its commands to the program, and a command is imported when it is used. */
import type { Command } from 'commander'
import type { CommandResult, StreamedResult } from '../output.ts'

/** Makes an action of a command, whose result the program prints. */
export type CollectOutput = <Words extends readonly unknown[]>(
  command: (...words: Words) => Promise<CommandResult | StreamedResult>,
) => (...words: Words) => Promise<void>

export function addJsonOption(command: Command): Command {
  return command.option('--json', 'print one JSON document')
}
