/**
 * Builds PostgreSQL array literals of the columns of many rows. The driver's own conversion costs more than the statement; a turn
 * has about forty elements, so no intermediate objects are created.
 */

export type SqlValue = string | number | Uint8Array | null

export function toArrayLiteral(values: readonly SqlValue[]): string {
  let text = '{'
  for (let index = 0; index < values.length; index += 1)
    text += (index === 0 ? '' : ',') + toElementLiteral(values[index] ?? null)
  return `${text}}`
}

/** One column of these rows. */
export function toColumnLiteral(rows: readonly (readonly SqlValue[])[], column: number): string {
  let text = '{'
  for (let index = 0; index < rows.length; index += 1)
    text += (index === 0 ? '' : ',') + toElementLiteral(rows[index]?.[column] ?? null)
  return `${text}}`
}

function toElementLiteral(value: SqlValue): string {
  if (value === null) return 'NULL'
  if (typeof value === 'number') return String(value)
  if (typeof value === 'string') return `"${needsNoEscaping(value) ? value : value.replaceAll(/["\\]/g, String.raw`\$&`)}"`
  return String.raw`"\\x${Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('hex')}"`
}

function needsNoEscaping(text: string): boolean {
  return !text.includes('"') && !text.includes('\\')
}
