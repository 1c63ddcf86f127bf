/** `svc man`: prints the manual page, or the README's list of commands. */
import type { CommandHandler } from '../command-table/command.ts'
import { renderManPage, renderMarkdownTable } from '../command-table/man-page.ts'
import { readVersion } from '../../system/version.ts'

export const run: CommandHandler = async (context, _args, options, table) => {
  const markdown = options.getFlag('markdown')
  const page = markdown ? renderMarkdownTable(table, context.language) : renderManPage(table, readVersion(), context.language)
  context.printResult({ format: markdown ? 'markdown' : 'roff', page }, () => page)
}
