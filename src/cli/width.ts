/**
 * How many columns a text takes on a terminal: East Asian wide characters and emoji take two, combining marks none. By hand because the
 * library for it (string-width) costs 60 ms of processor time whenever the command starts, as much as all else together.
 */
export function width(text: string): number {
  if (!notPlain.test(text)) return text.length
  if (!joined.test(text)) return sum(text)
  let columns = 0
  for (const { segment } of new Intl.Segmenter().segment(text)) columns += joined.test(segment) ? 2 : sum(segment)
  return columns
}

/** The text filled with spaces to `columns`; a longer one stays as it is. */
export function pad(text: string, columns: number): string {
  return text + ' '.repeat(Math.max(0, columns - width(text)))
}

/** Filled on the left, for numbers. */
export function padLeft(text: string, columns: number): string {
  return ' '.repeat(Math.max(0, columns - width(text))) + text
}

const notPlain = /[^ -~]/
const unseen = /\p{Mark}|\p{Default_Ignorable_Code_Point}/u
const wide =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}/u
/** Emoji of several characters: families, flags, keycaps, and hearts that are no letters. */
const joined =
  /\p{Extended_Pictographic}\ufe0f?\u200d\p{Extended_Pictographic}|\p{Regional_Indicator}{2}|[\p{Extended_Pictographic}\d#*]\ufe0f|\p{Emoji_Modifier_Base}\p{Emoji_Modifier}/u

function sum(text: string): number {
  let columns = 0
  for (const character of text) columns += unseen.test(character) ? 0 : wide.test(character) ? 2 : 1
  return columns
}
