/** Columns of many rows as PostgreSQL's array literals: made by hand, because the driver's own way costs more than the statement. */

export type Value = string | number | Uint8Array | null

export function arrayOf(values: readonly Value[]): string {
  return `{${values.map(elementOf).join(',')}}`
}

function elementOf(value: Value): string {
  if (value === null) return 'NULL'
  if (typeof value === 'number') return String(value)
  if (typeof value === 'string') return `"${value.replaceAll(/["\\]/g, String.raw`\$&`)}"`
  return String.raw`"\\x${Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('hex')}"`
}
