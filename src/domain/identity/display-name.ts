/**
 * Makes a text that a stranger chose displayable: the name of a program, a computer, a version. People approve requests by it, so it is one
 * short line without characters that hide, reverse or stack others. Null if nothing is left.
 */
const maxLength = 60
/** Control characters, direction marks, blanks and invisible characters. */
const invisible = /(?:[\p{C}\p{Z}\p{Variation_Selector}\p{Default_Ignorable_Code_Point}])+/gu
/** Marks upon a letter; more than two cover the lines around them. */
const stackedMarks = /(\p{M}{2})\p{M}+/gu

export function toDisplayName(name: unknown): string | null {
  if (typeof name !== 'string') return null
  const plain = name.normalize('NFC').replaceAll(invisible, ' ').replaceAll(stackedMarks, '$1').trim()
  if (plain === '') return null
  const characters = [...plain]
  return characters.length <= maxLength ? plain : `${characters.slice(0, maxLength - 1).join('')}…`
}
