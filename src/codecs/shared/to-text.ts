/** A string; empty for any other value. `String` throws for an object whose `toString` is no function. */
export function toText(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
