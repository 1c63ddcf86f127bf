/**
 * Breaks text into lines of a width in columns. Words stay whole: one that is wider than the width has a line of its own, because a
 * link that is cut cannot be followed. Chinese, Japanese and Korean text breaks between characters, but never before closing punctuation.
 */
import { measureWidth } from './measure-width.ts'

/** A piece of text with the style of its view. */
export interface StyledText<Style> {
  readonly text: string
  readonly style: Style
}

/** Line feeds break the line; other white space between words becomes one space. */
export function wrapText(text: string, columns: number): string[] {
  return wrapStyledText([{ text, style: undefined }], columns).map((line) => line.map((piece) => piece.text).join(''))
}

/** The same for pieces of several styles; each line is a list of pieces without spaces at its ends. */
export function wrapStyledText<Style>(
  pieces: readonly StyledText<Style>[],
  columns: number,
  { cutsWords = false }: { readonly cutsWords?: boolean } = {},
): StyledText<Style>[][] {
  const lines: StyledText<Style>[][] = []
  let line: StyledText<Style>[] = []
  let usedColumns = 0
  let space: StyledText<Style> | undefined
  const endLine = () => {
    lines.push(line)
    line = []
    usedColumns = 0
    space = undefined
  }
  const words = joinWords(pieces)
  for (const word of cutsWords ? words.flatMap((one) => cutWord(one, columns)) : words) {
    if (word.kind === 'break') endLine()
    else if (word.kind === 'space') space = usedColumns === 0 ? undefined : word.piece
    else {
      if (usedColumns > 0 && usedColumns + (space === undefined ? 0 : 1) + word.columns > columns) endLine()
      if (space !== undefined) append(line, { ...space, text: ' ' })
      for (const piece of word.pieces) append(line, piece)
      usedColumns += (space === undefined ? 0 : 1) + word.columns
      space = undefined
    }
  }
  if (usedColumns > 0 || lines.length === 0) endLine()
  return lines
}

/** `wrapText` that cuts words which are wider than the width, for cells of a table. */
export function wrapCell(text: string, columns: number): string[] {
  return wrapStyledText([{ text, style: undefined }], columns, { cutsWords: true }).map((line) =>
    line.map((piece) => piece.text).join(''),
  )
}

type Word<Style> =
  | { readonly kind: 'break' }
  | { readonly kind: 'space'; readonly piece: StyledText<Style> }
  | { readonly kind: 'word'; readonly pieces: readonly StyledText<Style>[]; readonly columns: number }

/** Characters that a line may break before and after. */
const wide = String.raw`\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\u3001-\u3020\uff01-\uff60`
const isWide = new RegExp(`^[${wide}]`, 'u')
/** A line feed, white space that may be broken, one wide character, or a run of others. */
const units = new RegExp(String.raw`\n|[^\S\n\u00a0\u202f]+|[${wide}]\p{M}*|(?:(?![${wide}])[\S\u00a0\u202f])+`, 'gu')
const opening = /[([{“‘「『《〈【〔(]$/u
const closing = /^[)\]}”’」』》〉】〕)、。,.!?;:,.!?;:%…]/u

/** A word may have several styles: `**bold**ness`. */
function joinWords<Style>(pieces: readonly StyledText<Style>[]): Word<Style>[] {
  const words: Word<Style>[] = []
  let current: { pieces: StyledText<Style>[]; columns: number } | undefined
  const flush = () => {
    if (current !== undefined) words.push({ kind: 'word', ...current })
    current = undefined
  }
  let last = ''
  for (const { text, style } of pieces) {
    for (const [unit] of text.matchAll(units)) {
      if (/^\s/.test(unit) && !/^[\u00a0\u202f]/.test(unit)) {
        flush()
        words.push(unit === '\n' ? { kind: 'break' } : { kind: 'space', piece: { text: unit, style } })
        last = ''
        continue
      }
      const mayBreak = (isWide.test(last) || isWide.test(unit)) && !opening.test(last) && !closing.test(unit)
      if (mayBreak) flush()
      current ??= { pieces: [], columns: 0 }
      current.pieces.push({ text: unit, style })
      current.columns += measureWidth(unit)
      last = unit
    }
  }
  flush()
  return words
}

function append<Style>(line: StyledText<Style>[], piece: StyledText<Style>): void {
  const last = line.at(-1)
  if (last !== undefined && last.style === piece.style) line[line.length - 1] = { ...last, text: last.text + piece.text }
  else line.push(piece)
}

/** Pieces of at most the width; the first line is filled up by the next word, if it fits. */
function cutWord<Style>(word: Word<Style>, columns: number): readonly Word<Style>[] {
  if (word.kind !== 'word' || word.columns <= columns) return [word]
  const words: { kind: 'word'; pieces: StyledText<Style>[]; columns: number }[] = []
  for (const { text, style } of word.pieces) {
    for (const { segment } of new Intl.Segmenter().segment(text)) {
      const width = measureWidth(segment)
      const last = words.at(-1)
      if (last === undefined || last.columns + width > columns)
        words.push({ kind: 'word', pieces: [{ text: segment, style }], columns: width })
      else {
        append(last.pieces, { text: segment, style })
        last.columns += width
      }
    }
  }
  return words
}
