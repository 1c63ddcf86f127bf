/**
 * The classes used of prom-client. Its entry also loads the collectors of Node's metrics and the whole OpenTelemetry API: eighty modules,
 * a tenth of the start time. The package has no `exports`, and its version is pinned.
 */
import { createRequire } from 'node:module'
import type prom from 'prom-client'

const load = createRequire(import.meta.url)

export const Registry = load('prom-client/lib/registry.js') as typeof prom.Registry
export const Counter = load('prom-client/lib/counter.js') as typeof prom.Counter
export const Gauge = load('prom-client/lib/gauge.js') as typeof prom.Gauge
