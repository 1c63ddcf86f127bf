/** `svc man`: prints the manual page, or the README's list of commands. */
import type { Run } from '../command.ts'
import { manPage, markdownTable } from '../man-page.ts'
import { version } from '../version.ts'

export const run: Run = async (context, _args, options, table) => {
  const markdown = options.flag('markdown')
  const page = markdown ? markdownTable(table, context.language) : manPage(table, version(), context.language)
  context.result({ format: markdown ? 'markdown' : 'roff', page }, () => page)
}
