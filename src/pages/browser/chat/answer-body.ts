/** The text of an answer as elements that grow with it: blocks that are complete are drawn once and not touched again. */
import type { Block } from '../../../markdown/markdown-tree.ts'
import { MarkdownStream, parseMarkdown } from '../../../markdown/parse-markdown.ts'
import { morph } from '../components/morph.ts'
import { finishBlock } from './markdown-extras.ts'
import { findFootnotes, renderBlock } from './markdown.ts'
import type { MarkdownContext } from './markdown.ts'

/** Lines that may give a meaning to references before them. */
const definition = /^ {0,3}\[[^\]\n]+\]:/m

export class AnswerBody {
  readonly #host: HTMLElement
  readonly #context: Omit<MarkdownContext, 'footnotes'>
  readonly #transform: (blocks: readonly Block[]) => readonly Block[]
  #stream = new MarkdownStream()
  #text = ''
  #drawn: { block: Block; node: HTMLElement; isFinished: boolean }[] = []

  /** The host's children are the answer's blocks; `transform` may change them before they are drawn. */
  constructor(
    host: HTMLElement,
    context: Omit<MarkdownContext, 'footnotes'>,
    transform: (blocks: readonly Block[]) => readonly Block[] = (blocks) => blocks,
  ) {
    this.#host = host
    this.#context = context
    this.#transform = transform
  }

  /** Draws the text so far. */
  grow(text: string): void {
    if (!text.startsWith(this.#text)) {
      this.#stream = new MarkdownStream()
      this.#text = ''
    }
    const { blocks, settledCount } = this.#stream.push(text.slice(this.#text.length))
    this.#text = text
    this.#draw(blocks, settledCount)
  }

  /** Draws the whole text, in which links and footnotes are resolved that were defined behind them. */
  finish(text: string): void {
    if (this.#drawn.length === 0 || definition.test(text)) {
      const blocks = parseMarkdown(text)
      this.#draw(blocks, blocks.length)
    } else {
      // What is drawn stays: a long answer takes seconds to draw anew.
      if (text !== this.#text) this.grow(text)
      this.#draw(
        this.#drawn.map(({ block }) => block),
        this.#drawn.length,
      )
    }
    this.#text = ''
    this.#stream = new MarkdownStream()
  }

  #draw(source: readonly Block[], settledCount: number): void {
    const blocks = this.#transform(source)
    const context = { ...this.#context, footnotes: findFootnotes(blocks) }
    for (const [at, block] of blocks.entries()) {
      const isFinished = at < settledCount
      const presentBlock = this.#drawn[at]
      if (presentBlock?.block !== block)
        this.#drawn[at] = { block, node: this.#place(presentBlock?.node, renderBlock(block, context)), isFinished: false }
      const drawnBlock = this.#drawn[at]
      if (drawnBlock === undefined || drawnBlock.isFinished || !isFinished) continue
      drawnBlock.isFinished = true
      finishBlock(drawnBlock.node)
    }
    for (const { node } of this.#drawn.splice(blocks.length)) node.remove()
  }

  /** Elements of the same kind are kept with what the reader did to them. */
  #place(present: HTMLElement | undefined, wanted: HTMLElement): HTMLElement {
    if (present === undefined) {
      this.#host.append(wanted)
      return wanted
    }
    if (present.localName !== wanted.localName || present.className !== wanted.className) {
      present.replaceWith(wanted)
      return wanted
    }
    if (!present.isEqualNode(wanted)) {
      for (const name of present.getAttributeNames()) if (!wanted.hasAttribute(name)) present.removeAttribute(name)
      for (const { name, value } of wanted.attributes) present.setAttribute(name, value)
      morph(present, wanted)
    }
    return present
  }
}
