/** Formats an instant as RFC 3339 in UTC. Null for an instant that is unset. */
export function formatInstant(at: number): string
export function formatInstant(at: number | null): string | null
export function formatInstant(at: number | null): string | null {
  return at === null ? null : new Date(at).toISOString()
}
