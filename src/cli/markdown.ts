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

/** Code first: nothing inside it means anything else. */
function inline(text: string): string {
  return text
    .split(/(`+)(?!`)(.+?)(?<!`)\1(?!`)/)
    .map((part, index) => {
      if (index % 3 === 1) return ''
      return index % 3 === 2 ? style('cyan', part) : emphasis(part)
    })
    .join('')
}

function emphasis(text: string): string {
  return text
    .replaceAll(/!?\[([^\]\n]*)\]\((\S+?)\)/g, (_, label: string, url: string) =>
      label === '' || label === url ? style('underline', url) : `${label} (${style('underline', url)})`,
    )
    .replaceAll(/(\*\*|__)(?=\S)(.+?)(?<=\S)\1/g, (_, _mark, words: string) => style('bold', words))
    .replaceAll(/(?<![\w*])\*(?=[^\s*])([^*]+?)(?<=[^\s*])\*(?![\w*])/g, (_, words: string) => style('italic', words))
    .replaceAll(/~~(?=\S)(.+?)(?<=\S)~~/g, (_, words: string) => style('strikethrough', words))
}

function style(format: Parameters<typeof styleText>[0], text: string): string {
  // The caller has decided that there are styles; what Node thinks of its own standard output does not matter here.
  return styleText(format, text, { validateStream: false })
}
