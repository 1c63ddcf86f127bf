/**
 * undici's connection pool alone. The package's entry also loads `fetch`, web sockets, caches and mocks: a tenth of the start time.
 * The package has no `exports`, and its version is pinned. Code that needs `request` imports the whole package lazily.
 */
import { createRequire } from 'node:module'
import type undici from 'undici'

export const Agent = createRequire(import.meta.url)('undici/lib/dispatcher/agent.js') as typeof undici.Agent
export type Agent = undici.Agent
