/**
 * Lets emphasis begin and end beside Chinese, Japanese and Korean text. CommonMark takes `**注意:**请` for no emphasis, because a mark
 * after punctuation has to be followed by white space, which these languages do not write.
 */
import type { MarkdownIt } from 'markdown-it'

export function addCjkEmphasis(parser: MarkdownIt): void {
  parser.inline.State = class extends parser.inline.State {
    override scanDelims(
      start: number,
      canSplitWord: boolean,
    ): ReturnType<InstanceType<MarkdownIt['inline']['State']>['scanDelims']> {
      const delimiters = super.scanDelims(start, canSplitWord)
      const before = getCharacterBefore(this.src, start)
      const after = getCharacterAt(this.src, start + delimiters.length, this.posMax)
      if (!canSplitWord || !(cjk.test(before) || cjk.test(after))) return delimiters
      return { ...delimiters, can_open: !space.test(after), can_close: !space.test(before) }
    }
  }
}

const space = /^(?:\s|$)/
/** Characters and full-width punctuation. */
const cjk =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Bopomofo}\u3000-\u303f\uff00-\uffef]/u

function getCharacterBefore(text: string, at: number): string {
  const unit = text.charCodeAt(at - 1)
  return at === 0 ? '' : unit >= 0xdc00 && unit <= 0xdfff ? text.slice(Math.max(0, at - 2), at) : text.slice(at - 1, at)
}

function getCharacterAt(text: string, at: number, limit: number): string {
  return at >= limit ? '' : String.fromCodePoint(text.codePointAt(at) ?? 32)
}
