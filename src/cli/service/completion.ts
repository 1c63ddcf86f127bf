/** `svc completion <shell>`: prints the script. */
import type { Run } from '../command.ts'
import type { Shell } from '../completion.ts'
import { completionScript, shells } from '../completion.ts'
import { usageFailure } from '../failure.ts'

export const run: Run = async (context, args, _options, table) => {
  const shell = args.need('shell')
  if (!isShell(shell)) throw usageFailure(`shell: ${shells.join(', ')}`)
  const script = completionScript(shell, table, context.language)
  context.result({ shell, script }, () => script)
}

function isShell(word: string): word is Shell {
  return shells.some((shell) => shell === word)
}
