/** `svc man`: prints the manual page, or the README's list of commands. */
import type { CommandHandler } from '../command.ts'
import { renderManPage, renderMarkdownTable } from '../../command-table/man-page.ts'
import { readVersion } from '../../system/version.ts'

export const run: CommandHandler = async (context, _args, options, program) => {
  const markdown = options.getFlag('markdown')
  const page = markdown ? renderMarkdownTable(program, context.language) : renderManPage(program, readVersion(), context.language)
  context.printResult({ format: markdown ? 'markdown' : 'roff', page }, () => page)
}
