/**
 * Measures the columns of a text on a terminal: East Asian wide characters and emoji take two, combining marks none. Own code, because
 * the library for it (string-width) costs 60 ms of CPU time at each start of the command, as much as everything else together.
 */
export function measureWidth(text: string): number {
  if (!nonAscii.test(text)) return text.length
  if (!joinedEmoji.test(text)) return sumWidths(text)
  let columns = 0
  for (const { segment } of new Intl.Segmenter().segment(text)) columns += joinedEmoji.test(segment) ? 2 : sumWidths(segment)
  return columns
}

/** Pads the text with spaces to `columns`; a longer one stays unchanged. */
export function padToWidth(text: string, columns: number): string {
  return text + ' '.repeat(Math.max(0, columns - measureWidth(text)))
}

/** Pads on the left, for numbers. */
export function padStartToWidth(text: string, columns: number): string {
  return ' '.repeat(Math.max(0, columns - measureWidth(text))) + text
}

const nonAscii = /[^ -~]/
const zeroWidth = /\p{Mark}|\p{Default_Ignorable_Code_Point}/u
const doubleWidth =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}/u
/** Emoji of several characters: families, flags, keycaps, and hearts with an emoji selector. */
const joinedEmoji =
  /\p{Extended_Pictographic}\ufe0f?\u200d\p{Extended_Pictographic}|\p{Regional_Indicator}{2}|[\p{Extended_Pictographic}\d#*]\ufe0f|\p{Emoji_Modifier_Base}\p{Emoji_Modifier}/u

function sumWidths(text: string): number {
  let columns = 0
  for (const character of text) columns += zeroWidth.test(character) ? 0 : doubleWidth.test(character) ? 2 : 1
  return columns
}
