/** `svc completion <shell>`: prints the completion script. */
import type { CommandHandler } from '../command-table/command.ts'
import type { Shell } from '../command-table/shell-completion.ts'
import { createCompletionScript, shells } from '../command-table/shell-completion.ts'
import { createUsageFailure } from '../failure.ts'

export const run: CommandHandler = async (context, args, _options, table) => {
  const shell = args.requireText('shell')
  if (!isShell(shell)) throw createUsageFailure(`shell: ${shells.join(', ')}`)
  const script = createCompletionScript(shell, table, context.language)
  context.printResult({ shell, script }, () => script)
}

function isShell(word: string): word is Shell {
  return shells.some((shell) => shell === word)
}
