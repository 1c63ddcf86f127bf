/**
 * undici's pool of connections by itself. The package's entry also loads `fetch`, web sockets, caches and stand-ins for tests: a tenth of a
 * start. The package names no `exports`, and its version is pinned. Whoever needs `request` loads the whole when asked.
 */
import { createRequire } from 'node:module'
import type undici from 'undici'

export const Agent = createRequire(import.meta.url)('undici/lib/dispatcher/agent.js') as typeof undici.Agent
export type Agent = undici.Agent
