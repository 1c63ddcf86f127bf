/**
 * Prints an answer as it arrives. Control sequences are removed for every output, because a pipe often ends in a terminal.
 * On a terminal with styles Markdown is rendered unless `raw` is set, and the reasoning stands dim before the answer; elsewhere the
 * answer stands alone. The answer ends with exactly one line feed.
 */
import { styleText } from 'node:util'
import { wrapText } from '../../../system/terminal/wrap-text.ts'
import type { Context } from '../../context.ts'
import { MarkdownView } from '../../terminal/markdown-view.ts'
import { TerminalTextFilter } from '../../terminal/sanitize-text.ts'

export interface AnswerPrinter {
  push(text: string): void
  pushReasoning(text: string): void
  end(): void
}

export function createAnswerPrinter(context: Context, raw: boolean): AnswerPrinter {
  const { stdout, now } = context
  const filter = new TerminalTextFilter()
  const view = stdout.styled && !raw ? new MarkdownView(stdout, now) : undefined
  const reasoning = view !== undefined && stdout.isTerminal && !context.quiet ? new ReasoningPrinter(context) : undefined
  let last = '\n'
  const write = (text: string) => {
    if (text === '') return
    if (view !== undefined) return view.push(text)
    stdout.write(text)
    last = text.slice(-1)
  }
  return {
    push(text) {
      reasoning?.end()
      write(filter.push(text))
    },
    pushReasoning: (text) => reasoning?.push(text),
    end() {
      reasoning?.end()
      write(filter.end())
      view?.end()
      if (last !== '\n') stdout.write('\n')
    },
  }
}

/** Prints each line of the reasoning when it is certain where it breaks. */
class ReasoningPrinter {
  readonly #context: Context
  readonly #filter = new TerminalTextFilter()
  #rest = ''
  #beganAt: number | undefined
  #isEnded = false

  constructor(context: Context) {
    this.#context = context
  }

  push(text: string): void {
    if (this.#isEnded) return
    this.#beganAt ??= this.#context.now()
    this.#rest += this.#filter.push(text)
    const lines = wrapText(this.#rest, this.#columns)
    // The last two lines may yet change: a character of punctuation takes its word along.
    const certain = lines.slice(0, -2)
    if (certain.length === 0) return
    this.#rest = lines.slice(-2).join('\n') + (/\s+$/.exec(this.#rest)?.[0] ?? '')
    this.#print(certain)
  }

  end(): void {
    if (this.#isEnded || this.#beganAt === undefined) {
      this.#isEnded = true
      return
    }
    this.#isEnded = true
    const seconds = Math.max(1, Math.round((this.#context.now() - this.#beganAt) / 1000))
    const note = this.#context.localize({ en: `(thought for ${seconds} s)`, zh: `（思考 ${seconds} 秒）` })
    this.#print([...wrapText((this.#rest + this.#filter.end()).trimEnd(), this.#columns), note, ''])
  }

  get #columns(): number {
    return Math.min(100, this.#context.stdout.columns - 2)
  }

  #print(lines: readonly string[]): void {
    const dim = (line: string) => (line === '' ? '' : styleText('dim', `  ${line}`, { validateStream: false }))
    this.#context.stdout.write(lines.map((line) => `${dim(line)}\n`).join(''))
  }
}
