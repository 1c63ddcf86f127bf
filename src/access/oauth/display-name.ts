/** Sanitises a client's name for the member who decides on it: one short line without misleading characters. Null if nothing is left. */
const maxLength = 80
/** Control characters, direction marks and invisible characters could make a name read as another, or run on. */
const invisible = /(?:[\p{C}\p{Z}\p{Variation_Selector}\p{Default_Ignorable_Code_Point}])+/gu

export function toDisplayName(name: unknown): string | null {
  if (typeof name !== 'string') return null
  const plain = name.normalize('NFC').replaceAll(invisible, ' ').trim()
  return plain === '' ? null : [...plain].slice(0, maxLength).join('')
}
