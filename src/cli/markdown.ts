/** Markdown for a terminal, whole or line by line while an answer streams. */
import { styleText } from 'node:util'

/**
 * Markdown for a terminal with styles: headings, lists, quotes, fenced and inline code, emphasis, links, rules. Small on
 * purpose: what it does not know it prints as it came, so nothing is ever lost. The text must already be clean (`terminalText`).
 */
export function renderMarkdown(text: string): string {
  const renderer = new MarkdownRenderer()
  return renderer.push(text) + renderer.end()
}

/** The same for text that arrives in pieces: a line is rendered when it is finished, because only then is it known what it is. */
export class MarkdownRenderer {
  #rest = ''
  /** The fence that ends the code block we are in. */
  #fence: string | undefined

  push(piece: string): string {
    const lines = (this.#rest + piece).split('\n')
    this.#rest = lines.pop() ?? ''
    return lines.map((line) => `${this.#line(line)}\n`).join('')
  }

  end(): string {
    const rest = this.#rest === '' ? '' : this.#line(this.#rest)
    this.#rest = ''
    this.#fence = undefined
    return rest
  }

  #line(line: string): string {
    const fence = /^ {0,3}(`{3,}|~{3,})(.*)$/.exec(line)
    if (this.#fence !== undefined) {
      if (fence?.[1]?.startsWith(this.#fence) !== true || fence[2]?.trim() !== '') return style('cyan', line)
      this.#fence = undefined
      return style('dim', line)
    }
    if (fence?.[1] !== undefined) {
      this.#fence = fence[1]
      return style('dim', line)
    }
    return renderLine(line)
  }
}

function renderLine(line: string): string {
  const heading = /^ {0,3}#{1,6} +(.*?)(?: +#+)?$/.exec(line)
  if (heading?.[1] !== undefined) return style('bold', inline(heading[1]))
  if (/^ {0,3}([-*_])(?: *\1){2,} *$/.test(line)) return style('dim', '─'.repeat(40))
  const quote = /^ {0,3}> ?(.*)$/.exec(line)
  if (quote?.[1] !== undefined) return `${style('dim', '│')} ${renderLine(quote[1])}`
  const item = /^(\s*)([-*+]|\d{1,9}[.)])\s+(.*)$/.exec(line)
  if (item === null) return inline(line)
  const [, indent = '', marker = '', text = ''] = item
  return `${indent}${/^\d/.test(marker) ? marker : '•'} ${inline(text)}`
}

/**
 * Code first: nothing inside it means anything else. It ends with as many backticks as it began with; of a run that has no match, nothing
 * is sought again, so that a line of nothing but beginnings costs no more than another.
 */
function inline(text: string): string {
  const runs = [...text.matchAll(/`+/g)].map(({ index, 0: marks }) => ({ at: index, size: marks.length }))
  const over = new Set<number>()
  let shown = ''
  let done = 0
  for (const [index, { at, size }] of runs.entries()) {
    if (at < done || over.has(size)) continue
    const end = nextOf(runs, index + 1, size)
    if (end === undefined) {
      over.add(size)
      continue
    }
    shown += emphasis(text.slice(done, at)) + style('cyan', text.slice(at + size, end))
    done = end + size
  }
  return shown + emphasis(text.slice(done))
}

function nextOf(runs: readonly { readonly at: number; readonly size: number }[], from: number, size: number): number | undefined {
  for (let index = from; index < runs.length; index++) if (runs[index]?.size === size) return runs[index]?.at
  return undefined
}

function emphasis(text: string): string {
  const strong = paired(links(text), ['**', '__'], (words) => style('bold', words))
  const soft = strong.replaceAll(/(?<![\w*])\*(?=[^\s*])([^*]+?)(?<=[^\s*])\*(?![\w*])/g, (_, words: string) =>
    style('italic', words),
  )
  return paired(soft, ['~~'], (words) => style('strikethrough', words))
}

/** `[label](address)` and pictures. All beginnings before one `]` share it, so none of them is looked at twice. */
function links(text: string): string {
  let shown = ''
  let done = 0
  let addressEnd = -1
  for (let at = text.indexOf('['); at !== -1; at = text.indexOf('[', at)) {
    const close = text.indexOf(']', at)
    if (close === -1) break
    const begin = close + 2
    if (text[close + 1] === '(' && addressEnd < begin) addressEnd = indexOfAny(/[\s)]/g, text, begin)
    if (text[close + 1] === '(' && addressEnd > begin && text[addressEnd] === ')') {
      const label = text.slice(at + 1, close)
      const url = style('underline', text.slice(begin, addressEnd))
      const from = text[at - 1] === '!' && at > done ? at - 1 : at
      shown += text.slice(done, from) + (label === '' || label === text.slice(begin, addressEnd) ? url : `${label} (${url})`)
      done = addressEnd + 1
      at = done
    } else at = close + 1
  }
  return shown + text.slice(done)
}

function indexOfAny(pattern: RegExp, text: string, from: number): number {
  pattern.lastIndex = from
  return pattern.exec(text)?.index ?? text.length
}

/** Once a mark has no end left it is not looked at again; a pattern would look through the rest of the line at every beginning. */
function paired(text: string, marks: readonly string[], show: (words: string) => string): string {
  const next = new Map(marks.map((mark) => [mark, opening(text, mark, 0)]))
  let shown = ''
  let done = 0
  for (;;) {
    const [mark = '', at = never] = [...next].reduce((one, other) => (other[1] < one[1] ? other : one))
    if (at === never) return shown + text.slice(done)
    const end = closing(text, mark, at + mark.length + 1)
    if (end === -1) {
      next.set(mark, never)
      continue
    }
    shown += text.slice(done, at) + show(text.slice(at + mark.length, end))
    done = end + mark.length
    for (const [other, place] of next) if (place < done) next.set(other, opening(text, other, done))
  }
}

const never = Number.POSITIVE_INFINITY

function opening(text: string, mark: string, from: number): number {
  for (let at = text.indexOf(mark, from); at !== -1; at = text.indexOf(mark, at + 1))
    if (/\S/.test(text[at + mark.length] ?? '') && !(mark === '__' && inWord.test(text[at - 1] ?? ''))) return at
  return never
}

function closing(text: string, mark: string, from: number): number {
  for (let at = text.indexOf(mark, from); at !== -1; at = text.indexOf(mark, at + 1))
    if (/\S/.test(text[at - 1] ?? '') && !(mark === '__' && inWord.test(text[at + mark.length] ?? ''))) return at
  return -1
}

/** Underscores mark whole words only: `some__name` is a name. */
const inWord = /[\p{L}\p{N}_]/u

function style(format: Parameters<typeof styleText>[0], text: string): string {
  // The caller has decided that there are styles; what Node thinks of its own standard output does not matter here.
  return styleText(format, text, { validateStream: false })
}
