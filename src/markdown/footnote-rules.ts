/**
 * Footnotes for the parser: `[^label]` and `[^label]: text`. Own rules because `markdown-it-footnote` drops a definition that is not
 * referenced, and in an answer that is still arriving the two are parsed apart.
 */
import type { MarkdownIt, StateBlock, StateInline } from 'markdown-it'

export function addFootnoteRules(parser: MarkdownIt): void {
  parser.inline.ruler.before('link', 'footnote_reference', parseReference)
  parser.block.ruler.before('reference', 'footnote', parseDefinition, { alt: ['paragraph', 'reference'] })
}

const reference = /\[\^([^\]\s[]{1,60})\]/y
const definition = /\[\^([^\]\s[]{1,60})\]:[ \t]*/y

function parseReference(state: StateInline, silent: boolean): boolean {
  reference.lastIndex = state.pos
  const label = reference.exec(state.src)?.[1]
  if (label === undefined) return false
  if (!silent) state.push('footnote_reference', '', 0).content = label
  state.pos += label.length + 3
  return true
}

/** The note is the rest of the line and the lines after it that are indented by four columns, blank lines between included. */
function parseDefinition(state: StateBlock, startLine: number, endLine: number, silent: boolean): boolean {
  const { bMarks, tShift, sCount } = state
  if ((sCount[startLine] ?? 0) - state.blkIndent >= 4) return false
  const begin = (bMarks[startLine] ?? 0) + (tShift[startLine] ?? 0)
  definition.lastIndex = begin
  const [mark, label = ''] = definition.exec(state.src) ?? []
  if (mark === undefined) return false
  if (silent) return true
  const opening = state.push('footnote_open', '', 1)
  opening.content = label
  opening.map = [startLine, endLine]
  const outer = { begin: bMarks[startLine] ?? 0, shift: tShift[startLine] ?? 0, count: sCount[startLine] ?? 0 }
  const { parentType } = state
  bMarks[startLine] = begin + mark.length
  tShift[startLine] = 0
  state.blkIndent += 4
  sCount[startLine] = state.blkIndent
  state.parentType = 'footnote'
  state.md.block.tokenize(state, startLine, endLine)
  state.blkIndent -= 4
  state.parentType = parentType
  bMarks[startLine] = outer.begin
  tShift[startLine] = outer.shift
  sCount[startLine] = outer.count
  opening.map = [startLine, state.line]
  state.push('footnote_close', '', -1)
  return true
}
