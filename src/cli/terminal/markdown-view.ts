/**
 * Shows an answer while it arrives: blocks that are complete are printed for good, and the one that still grows is drawn again below them
 * at most some times a second. A preview is never higher than the screen, because lines that have scrolled away cannot be drawn again.
 */
import { MarkdownStream } from '../../markdown/parse-markdown.ts'
import type { Block } from '../../markdown/markdown-tree.ts'
import { measureWidth } from '../../system/terminal/measure-width.ts'
import { stripVTControlCharacters } from 'node:util'
import type { OutputSink } from '../context.ts'
import { renderBlock } from './markdown.ts'

const clearLineAbove = '\u001b[A\u001b[K'
/** A drawing that takes long makes the next one wait longer, so that drawing never takes more than a fifth of the time. */
const minDrawIntervalMs = 60

export class MarkdownView {
  readonly #sink: OutputSink
  readonly #now: () => number
  readonly #stream = new MarkdownStream()
  #blocks: readonly Block[] = []
  #printedCount = 0
  #pending = ''
  /** The width in columns of each line of the preview. */
  #preview: readonly number[] = []
  #drawnAt = 0
  #intervalMs = minDrawIntervalMs
  #timer: NodeJS.Timeout | undefined

  constructor(sink: OutputSink, now: () => number) {
    this.#sink = sink
    this.#now = now
  }

  /** The text must be sanitized. */
  push(text: string): void {
    this.#pending += text
    const wait = this.#drawnAt + this.#intervalMs - this.#now()
    if (wait <= 0) this.#draw()
    else this.#timer ??= setTimeout(() => this.#draw(), wait).unref()
  }

  /** Prints the rest. */
  end(): void {
    clearTimeout(this.#timer)
    this.#parse()
    this.#sink.write(this.#erasePreview() + this.#printUntil(this.#blocks.length))
  }

  #draw(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const startedMs = this.#now()
    const settledCount = this.#parse()
    const settledText = this.#erasePreview() + this.#printUntil(settledCount)
    this.#sink.write(settledText + this.#drawPreview())
    this.#drawnAt = this.#now()
    this.#intervalMs = Math.max(minDrawIntervalMs, 5 * (this.#drawnAt - startedMs))
  }

  #parse(): number {
    const { blocks, settledCount } = this.#stream.push(this.#pending)
    this.#pending = ''
    this.#blocks = blocks
    return settledCount
  }

  #printUntil(count: number): string {
    const text = this.#render(this.#printedCount, count)
    this.#printedCount = Math.max(count, this.#printedCount)
    return text
  }

  #render(from: number, to: number): string {
    return this.#blocks
      .slice(from, to)
      .map((block, at) => (from + at === 0 ? '' : '\n') + renderBlock(block, this.#sink))
      .join('')
  }

  /** Only a terminal can take back what was printed. */
  #drawPreview(): string {
    if (!this.#sink.isTerminal) return ''
    const { columns, rows } = this.#sink
    const lines = this.#render(this.#printedCount, this.#blocks.length).split('\n').slice(0, -1)
    const previewLines: string[] = []
    let height = 0
    for (const line of lines.toReversed()) {
      height += countRows(measureWidth(stripVTControlCharacters(line)), columns)
      if (height > rows - 2) break
      previewLines.unshift(line)
    }
    this.#preview = previewLines.map((line) => measureWidth(stripVTControlCharacters(line)))
    return previewLines.map((line) => `${line}\n`).join('')
  }

  /**
   * Clears the lines of the preview, the last one first, and ends at the first. The window may have another width by now. Not the rest of
   * the screen in one command: at its top, tmux would move it to the history, where each drawing would leave a copy.
   */
  #erasePreview(): string {
    const height = this.#preview.reduce((sum, width) => sum + countRows(width, this.#sink.columns), 0)
    this.#preview = []
    return height === 0 ? '' : `\r${clearLineAbove.repeat(height)}`
  }
}

function countRows(width: number, columns: number): number {
  return Math.max(1, Math.ceil(width / columns))
}
