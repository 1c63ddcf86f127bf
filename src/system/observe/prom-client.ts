/**
 * The parts of prom-client that are used here. Its own entry also loads the collectors of Node's metrics, and with them the whole API of
 * OpenTelemetry: eighty modules, a tenth of a start. The package names no `exports`, and its version is pinned.
 */
import { createRequire } from 'node:module'
import type prom from 'prom-client'

const part = createRequire(import.meta.url)

export const Registry = part('prom-client/lib/registry.js') as typeof prom.Registry
export const Counter = part('prom-client/lib/counter.js') as typeof prom.Counter
export const Gauge = part('prom-client/lib/gauge.js') as typeof prom.Gauge
