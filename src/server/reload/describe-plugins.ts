/** Describes plugins as text, so that two lists of them can be compared across threads and processes. */
import type { AnyPlugin } from '../../exchange/plugins/plugin.ts'

/** Their order, settings and code. What a function has from outside itself is not visible. */
export function describePlugins(plugins: readonly AnyPlugin[]): string {
  return JSON.stringify(plugins, (_key, value: unknown) => (typeof value === 'function' ? value.toString() : value))
}
