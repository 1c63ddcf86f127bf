/**
 * Columns of many rows as PostgreSQL's array literals: made by hand, because the driver's own way costs more than the statement. A turn
 * makes some forty of their elements, so nothing is made for them that is then thrown away.
 */

export type Value = string | number | Uint8Array | null

export function arrayOf(values: readonly Value[]): string {
  let text = '{'
  for (let index = 0; index < values.length; index += 1) text += (index === 0 ? '' : ',') + elementOf(values[index] ?? null)
  return `${text}}`
}

/** One column of these rows. */
export function columnOf(rows: readonly (readonly Value[])[], column: number): string {
  let text = '{'
  for (let index = 0; index < rows.length; index += 1) text += (index === 0 ? '' : ',') + elementOf(rows[index]?.[column] ?? null)
  return `${text}}`
}

function elementOf(value: Value): string {
  if (value === null) return 'NULL'
  if (typeof value === 'number') return String(value)
  if (typeof value === 'string') return `"${isPlain(value) ? value : value.replaceAll(/["\\]/g, String.raw`\$&`)}"`
  return String.raw`"\\x${Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('hex')}"`
}

function isPlain(text: string): boolean {
  return !text.includes('"') && !text.includes('\\')
}
