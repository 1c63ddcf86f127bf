/** Checks at start that a list of plugins can work in its order. */
import type { Slot } from '../../exchange/exchange.ts'
import type { AnyPlugin } from '../../exchange/plugins/plugin.ts'

const hookNames = ['onRequest', 'onResponse', 'onEvent', 'onFailure', 'onSettle']

/** One sentence per error; empty if the order is valid. */
export function findOrderErrors(plugins: readonly AnyPlugin[]): string[] {
  const formErrors = plugins.flatMap(findFormErrors)
  // The order of malformed plugins cannot be checked.
  if (formErrors.length > 0) return formErrors
  const errors: string[] = []
  const providers = new Map<Slot, AnyPlugin>()
  const names = new Set<string>()
  for (const [index, plugin] of plugins.entries()) {
    for (const name of plugin.followedBy ?? []) {
      if (!plugins.slice(index).some((later) => later.name === name))
        errors.push(`plugin '${plugin.name}' needs '${name}' after it; list '${name}' after it`)
    }
    if (names.has(plugin.name)) errors.push(`plugin '${plugin.name}' is listed twice; list it once`)
    names.add(plugin.name)
    for (const slot of plugin.needs ?? []) {
      const earlierPlugin = providers.get(slot)
      if (earlierPlugin === undefined) errors.push(describeMissingSlot(plugin, slot, plugins))
      else if (earlierPlugin.on === 'turn' && plugin.on !== 'turn') {
        errors.push(
          `plugin '${plugin.name}' runs on every exchange but needs '${slot}', which '${earlierPlugin.name}' fills only on turns; add on: 'turn'`,
        )
      }
    }
    for (const slot of plugin.gives ?? []) {
      const other = providers.get(slot)
      if (other !== undefined) errors.push(`plugins '${other.name}' and '${plugin.name}' both fill '${slot}'; only one can`)
      providers.set(slot, plugin)
    }
  }
  return errors
}

/**
 * Repeats at run time what the plugin's type requires, because configurations run without a type check: a misspelt hook would never run,
 * and what it should reject would be accepted.
 */
function findFormErrors(plugin: AnyPlugin): string[] {
  const errors: string[] = []
  const { name, on } = plugin as { readonly name: unknown; readonly on?: unknown }
  if (typeof name !== 'string' || name === '') return ['plugins: one has no name; give it a name of one word']
  for (const property in plugin) {
    if (/^on[A-Z]/.test(property) && !hookNames.includes(property))
      errors.push(`plugin '${name}' has '${property}', which is no hook and would not run; the hooks are ${hookNames.join(', ')}`)
  }
  for (const hook of hookNames) {
    const value: unknown = Reflect.get(plugin, hook)
    if (value !== undefined && typeof value !== 'function') errors.push(`plugin '${name}': ${hook} must be a function`)
  }
  for (const list of ['needs', 'gives', 'followedBy']) {
    const value: unknown = Reflect.get(plugin, list)
    if (value !== undefined && !Array.isArray(value)) errors.push(`plugin '${name}': ${list} must be a list, as in ['chat']`)
  }
  if (on !== undefined && on !== 'turn') errors.push(`plugin '${name}': on must be 'turn', or left out`)
  return errors
}

function describeMissingSlot(plugin: AnyPlugin, slot: Slot, plugins: readonly AnyPlugin[]): string {
  const later = plugins.find((other) => other !== plugin && (other.gives ?? []).includes(slot))
  if (later !== undefined)
    return `plugin '${plugin.name}' needs '${slot}', which '${later.name}' fills; list '${later.name}' before it`
  return `plugin '${plugin.name}' needs '${slot}', which no listed plugin fills`
}
