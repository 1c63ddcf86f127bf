/** Whether a list of plugins can work in the order it is in: checked at start, so that a wrong order never meets a request. */
import type { Slot } from './exchange.ts'
import type { AnyPlugin } from './plugin.ts'

/** One sentence for each thing wrong; empty when the order holds. */
export function orderFaults(plugins: readonly AnyPlugin[]): string[] {
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

function missing(plugin: AnyPlugin, slot: Slot, plugins: readonly AnyPlugin[]): string {
  const later = plugins.find((other) => other !== plugin && (other.gives ?? []).includes(slot))
  if (later !== undefined)
    return `plugin '${plugin.name}' needs '${slot}', which '${later.name}' fills; list '${later.name}' before it`
  return `plugin '${plugin.name}' needs '${slot}', which no listed plugin fills`
}
