/**
 * Prints an answer as it arrives. Whatever the output is, control sequences are taken out, because a pipe often ends in a terminal;
 * on a terminal with styles Markdown is rendered unless `raw`. The answer ends with exactly one line feed.
 */
import type { Context } from '../context.ts'
import { MarkdownRenderer } from '../markdown.ts'
import { TerminalTextFilter } from '../terminal-text.ts'

export function answerPrinter(context: Context, raw: boolean): { push(text: string): void; end(): void } {
  const filter = new TerminalTextFilter()
  const markdown = context.stdout.styled && !raw ? new MarkdownRenderer() : undefined
  let last = '\n'
  const write = (text: string) => {
    if (text === '') return
    context.stdout.write(text)
    last = text.slice(-1)
  }
  return {
    push(text) {
      const clean = filter.push(text)
      write(markdown === undefined ? clean : markdown.push(clean))
    },
    end() {
      const clean = filter.end()
      write(markdown === undefined ? clean : markdown.push(clean) + markdown.end())
      if (last !== '\n') write('\n')
    },
  }
}
