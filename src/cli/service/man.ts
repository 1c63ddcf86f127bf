/** `svc man`: prints the manual page, or the README's list of commands. */
import type { Run } from '../command.ts'
import { commands } from '../commands.ts'
import { manPage, markdownTable } from '../man-page.ts'
import { version } from '../version.ts'

export const run: Run = async (context, _args, options) => {
  const markdown = options.flag('markdown')
  const page = markdown ? markdownTable(commands, context.language) : manPage(commands, version(), context.language)
  context.result({ format: markdown ? 'markdown' : 'roff', page }, () => page)
}
