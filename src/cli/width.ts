/** How many columns a text takes on a terminal: East Asian wide characters and emoji take two, combining marks none. */
export function width(text: string): number {
  let columns = 0
  for (const character of text) columns += mark.test(character) ? 0 : wide.test(character) ? 2 : 1
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

const mark = /\p{Mark}|\u200d|\ufe0f/u
const wide =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}/u
