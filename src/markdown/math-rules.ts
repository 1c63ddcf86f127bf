/** Formulas for the parser: `\(…\)` and `$…$` in a line, `\[…\]` and `$$…$$` as blocks. Their text is TeX, not Markdown. */
import type { MarkdownIt, StateBlock, StateInline } from 'markdown-it'

export function addMathRules(parser: MarkdownIt): void {
  parser.inline.ruler.before('escape', 'inline_math', parseInlineMath)
  parser.block.ruler.before('fence', 'math', parseMathBlock, { alt: ['paragraph', 'reference', 'blockquote', 'list'] })
}

/** Longer formulas are no formulas but two amounts of money far apart. */
const maxInlineLength = 1000
const maxBlockLines = 60
const space = /\s/
const digit = /\d/

function parseInlineMath(state: StateInline, silent: boolean): boolean {
  const { src, pos, posMax } = state
  const bracketed = src.startsWith(String.raw`\(`, pos)
  if (!bracketed && src[pos] !== '$') return false
  const begin = pos + (bracketed ? 2 : 1)
  const end = bracketed ? findBracket(src, begin) : findDollar(src, begin)
  if (end === -1 || end >= posMax) return false
  if (!silent) state.push('inline_math', '', 0).content = src.slice(begin, end).trim()
  state.pos = end + (bracketed ? 2 : 1)
  return true
}

function findBracket(text: string, from: number): number {
  const end = text.slice(from, from + maxInlineLength).indexOf(String.raw`\)`)
  return end === -1 ? -1 : from + end
}

/** Money is no formula: the opening dollar stands before a character, the closing one after a character and before no digit. */
function findDollar(text: string, from: number): number {
  if (isMissing(text[from], space) || text[from] === '$' || text[from - 2] === '$') return -1
  const limit = Math.min(text.length, from + maxInlineLength)
  for (let at = from; at < limit; at++) {
    if (text[at] === '\\') at++
    else if (text[at] === '\n' && text[at + 1] === '\n') return -1
    else if (text[at] === '$')
      return space.test(text[at - 1] ?? '') || digit.test(text[at + 1] ?? '') || text[at + 1] === '$' ? -1 : at
  }
  return -1
}

function isMissing(character: string | undefined, kind: RegExp): boolean {
  return character === undefined || kind.test(character)
}

function parseMathBlock(state: StateBlock, startLine: number, endLine: number, silent: boolean): boolean {
  const opening = readLine(state, startLine)
  const marks = opening.startsWith('$$') ? '$$' : opening.startsWith(String.raw`\[`) ? String.raw`\]` : undefined
  if (marks === undefined || (state.sCount[startLine] ?? 0) - state.blkIndent >= 4) return false
  const lines: string[] = []
  for (let line = startLine; line < Math.min(endLine, startLine + maxBlockLines); line++) {
    const text = line === startLine ? opening.slice(2) : readLine(state, line)
    if (text.trim() === '' && line > startLine) return false
    if (!text.trimEnd().endsWith(marks)) {
      lines.push(text)
      continue
    }
    if (silent) return true
    lines.push(text.trimEnd().slice(0, -2))
    const token = state.push('math', '', 0)
    token.content = lines.join('\n').trim()
    token.map = [startLine, line + 1]
    state.line = line + 1
    return true
  }
  return false
}

function readLine({ src, bMarks, tShift, eMarks }: StateBlock, line: number): string {
  return src.slice((bMarks[line] ?? 0) + (tShift[line] ?? 0), eMarks[line])
}
