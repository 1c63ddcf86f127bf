/** Reads values of a JSON document whose shape is not known. */
export type Fields = Readonly<Record<string, unknown>>

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The objects of a list; none for any other value. */
export function readObjects(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? (value as unknown[]).filter(isFields) : []
}

/** A string; empty for any other value. */
export function readString(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
