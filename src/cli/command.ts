/** The entries of the command table of `svc`, and what runs them. */
import type * as table from '../command-table/command.ts'
import type { ParsedValues } from '../command-table/parsed-values.ts'
import type { Context } from './context.ts'
import type { ExitCode } from './exit-code.ts'

export type { Argument, Option } from '../command-table/command.ts'

export type CommandSpec = table.CommandSpec<CommandModule>
export type Command = table.Command<CommandModule>
export type CommandGroup = table.CommandGroup<CommandModule>
export type Program = table.Program<CommandModule>

interface CommandModule {
  readonly run: CommandHandler
}

/**
 * Runs the command. Prints through the context, throws `CommandFailure` for expected failures, and may return an exit code
 * other than 0 for a success; returning nothing means 0.
 */
export type CommandHandler = (
  context: Context,
  args: ParsedValues,
  options: ParsedValues,
  program: Program,
) => Promise<ExitCode | void>
