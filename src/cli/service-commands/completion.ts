/** `svc completion <shell>`: prints the completion script. */
import type { CommandHandler } from '../command.ts'
import { createCompletionScript } from '../../command-table/shell-completion.ts'

export const run: CommandHandler = async (context, args, _options, program) => {
  const shell = args.requireText('shell')
  const script = createCompletionScript(shell, program, context.language)
  context.printResult({ shell, script }, () => script)
}
