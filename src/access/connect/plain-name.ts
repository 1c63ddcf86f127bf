/** A program's name as it may be shown to the member who decides on it: text that is what it looks like, on one line, short. Null for none. */
const shownChars = 80
/** Controls, marks of direction and letters without a shape could make a name read as another, or run on. */
const invisible = /(?:[\p{C}\p{Z}\p{Variation_Selector}\p{Default_Ignorable_Code_Point}])+/gu

export function plainName(name: unknown): string | null {
  if (typeof name !== 'string') return null
  const plain = name.normalize('NFC').replaceAll(invisible, ' ').trim()
  return plain === '' ? null : [...plain].slice(0, shownChars).join('')
}
