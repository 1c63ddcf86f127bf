/** An instant as people and programs read it: RFC 3339, in UTC. Null where it has not come, or never will. */
export function instant(at: number): string
export function instant(at: number | null): string | null
export function instant(at: number | null): string | null {
  return at === null ? null : new Date(at).toISOString()
}
