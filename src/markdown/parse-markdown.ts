/**
 * Parses Markdown (CommonMark with GitHub's tables, tasks, strikethrough and footnotes, and formulas) into a tree, whole or as it arrives.
 *
 * Model output is untrusted: HTML stays text, links lead to http, https or mail only, and nesting is bounded. `markdown-it` is chosen
 * for its bounds in time: 30 KB of `a*_` take it a tenth of a second, mdast-util-from-markdown 2.1 and the lexer of marked 18.2 more
 * than eight, and a megabyte of ordinary text a second instead of ten.
 */
import createMarkdownIt from 'markdown-it'
import { addCjkEmphasis } from './cjk-emphasis.ts'
import { addFootnoteRules } from './footnote-rules.ts'
import { addMathRules } from './math-rules.ts'
import { buildBlocks } from './build-blocks.ts'
import type { Block } from './markdown-tree.ts'
import type { Env, MarkdownIt, StateBlock, StateCore } from 'markdown-it'

/** Quotes, lists and footnotes nested deeper than this are one paragraph of their source. */
const maxBlockDepth = 24
/** A longer paragraph is shown as written, because some marks cost the library the square of their number. */
const maxInlineLength = 100_000

const parser = createParser()

export function parseMarkdown(text: string): readonly Block[] {
  return buildBlocks(parser.parse(text, {})).map(({ block }) => block)
}

/**
 * An answer while it arrives. Only the last block can change with the next piece of text, so only it is parsed again; blocks before it
 * stay the same objects, and a view may keep what it drew for them. Link definitions and footnotes that come later do not change them:
 * a view that wants them resolved parses the whole text at the end.
 */
export class MarkdownStream {
  readonly #env: Env = {}
  #settled: readonly Block[] = []
  #rest = ''

  /** Returns all blocks so far; the first `settledCount` of them are final. */
  push(piece: string): { readonly blocks: readonly Block[]; readonly settledCount: number } {
    this.#rest += piece
    const placedBlocks = buildBlocks(parser.parse(this.#rest, this.#env))
    // A line that is not complete may yet belong to the block before it: `2` becomes `2. next`.
    const lineCount = this.#rest.split('\n').length - 1
    const open = placedBlocks.findLast(({ line }) => line < lineCount)?.line ?? 0
    const blocks = [...this.#settled, ...placedBlocks.map(({ block }) => block)]
    this.#settled = blocks.slice(0, this.#settled.length + placedBlocks.filter(({ line }) => line < open).length)
    this.#rest = cutLines(this.#rest, open)
    return { blocks, settledCount: this.#settled.length }
  }
}

function createParser(): MarkdownIt {
  const parser = createMarkdownIt({ html: false, linkify: true, typographer: false, maxNesting: 100 })
  // Only addresses with a scheme: `README.md` and `node.js` would be hosts.
  parser.linkify.set({ fuzzyLink: false, fuzzyEmail: false, fuzzyIP: false })
  // The tree decides which addresses are links, and shows the others as text.
  Object.assign(parser, { validateLink: () => true })
  parser.core.ruler.before('inline', 'too_long', keepLongText)
  parser.block.ruler.before('table', 'too_deep', parseTooDeep)
  addMathRules(parser)
  addFootnoteRules(parser)
  addCjkEmphasis(parser)
  return parser
}

/** The parser would drop what is nested deeper than its own bound. */
function parseTooDeep(state: StateBlock, startLine: number, endLine: number, silent: boolean): boolean {
  if (silent || state.level < maxBlockDepth) return false
  const token = state.push('too_deep', '', 0)
  token.content = state.getLines(startLine, endLine, state.blkIndent, false)
  token.map = [startLine, endLine]
  state.line = endLine
  return true
}

function keepLongText({ tokens, Token }: StateCore): void {
  for (const token of tokens) {
    if (token.type !== 'inline' || token.content.length <= maxInlineLength) continue
    const text = new Token('text', '', 0)
    text.content = token.content
    token.type = 'long_text'
    token.children = [text]
  }
}

function cutLines(text: string, count: number): string {
  let at = 0
  for (let line = 0; line < count; line++) at = text.indexOf('\n', at) + 1
  return text.slice(at)
}
