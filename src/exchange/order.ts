/** Whether a list of plugins can work in the order it is in: checked at start, so that a wrong order never meets a request. */
import type { Slot } from './exchange.ts'
import type { AnyPlugin } from './plugin.ts'

const hooks = ['onRequest', 'onResponse', 'onEvent', 'onFailure', 'onSettle']

/** One sentence for each thing wrong; empty when the order holds. */
export function orderFaults(plugins: readonly AnyPlugin[]): string[] {
  const malformed = plugins.flatMap(formFaults)
  // Of what is not even a plugin's form no order can be told.
  if (malformed.length > 0) return malformed
  const faults: string[] = []
  const giver = new Map<Slot, AnyPlugin>()
  const names = new Set<string>()
  for (const [index, plugin] of plugins.entries()) {
    for (const name of plugin.followedBy ?? []) {
      if (!plugins.slice(index).some((later) => later.name === name))
        faults.push(`plugin '${plugin.name}' leaves work to '${name}', which is not listed after it; list '${name}' after it`)
    }
    if (names.has(plugin.name)) faults.push(`plugin '${plugin.name}' is listed twice; list it once`)
    names.add(plugin.name)
    for (const slot of plugin.needs ?? []) {
      const earlier = giver.get(slot)
      if (earlier === undefined) faults.push(missing(plugin, slot, plugins))
      else if (earlier.on === 'turn' && plugin.on !== 'turn') {
        faults.push(
          `plugin '${plugin.name}' runs on every exchange but needs '${slot}', which '${earlier.name}' fills only on turns; add on: 'turn'`,
        )
      }
    }
    for (const slot of plugin.gives ?? []) {
      const other = giver.get(slot)
      if (other !== undefined) faults.push(`plugins '${other.name}' and '${plugin.name}' both fill '${slot}'; only one can`)
      giver.set(slot, plugin)
    }
  }
  return faults
}

/**
 * What a plugin's type forbids, said again for configurations, which are run without a look at their types: a hook of another name would
 * never run, and what it was to keep out would come in.
 */
function formFaults(plugin: AnyPlugin): string[] {
  const faults: string[] = []
  const { name, on } = plugin as { readonly name: unknown; readonly on?: unknown }
  if (typeof name !== 'string' || name === '') return ['plugins: one has no name; a plugin is called by one word']
  for (const property in plugin) {
    if (/^on[A-Z]/.test(property) && !hooks.includes(property))
      faults.push(`plugin '${name}' has '${property}', which is no hook and would never run; the hooks are ${hooks.join(', ')}`)
  }
  for (const hook of hooks) {
    const value: unknown = Reflect.get(plugin, hook)
    if (value !== undefined && typeof value !== 'function') faults.push(`plugin '${name}': ${hook} must be a function`)
  }
  for (const list of ['needs', 'gives', 'followedBy']) {
    const value: unknown = Reflect.get(plugin, list)
    if (value !== undefined && !Array.isArray(value)) faults.push(`plugin '${name}': ${list} must be a list, as in ['chat']`)
  }
  if (on !== undefined && on !== 'turn') faults.push(`plugin '${name}': on must be 'turn', or left out`)
  return faults
}

function missing(plugin: AnyPlugin, slot: Slot, plugins: readonly AnyPlugin[]): string {
  const later = plugins.find((other) => other !== plugin && (other.gives ?? []).includes(slot))
  if (later !== undefined)
    return `plugin '${plugin.name}' needs '${slot}', which '${later.name}' fills; list '${later.name}' before it`
  return `plugin '${plugin.name}' needs '${slot}', which no listed plugin fills`
}
