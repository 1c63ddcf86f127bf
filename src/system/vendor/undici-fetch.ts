/**
 * Importing this makes the `fetch` of its thread, and undici's `request` without a dispatcher, use the connections of the package. Those of
 * Node's own copy of undici throw where a server ends the connection before its answer is read (`assert(!this.paused)`): outside of every
 * handler, so that the process ends.
 */
import { createRequire } from 'node:module'
import type undici from 'undici'

const require = createRequire(import.meta.url)
const { setGlobalDispatcher } = require('undici/lib/global.js') as Pick<typeof undici, 'setGlobalDispatcher'>

// As Node does: HTTP/1.1, and a proxy only where Node was told to use that of the environment.
const options = { allowH2: false }
const dispatcher = Reflect.get(globalThis, Symbol.for('undici.globalDispatcher.1')) as object | undefined
setGlobalDispatcher(
  dispatcher?.constructor.name === 'EnvHttpProxyAgent'
    ? new (require('undici/lib/dispatcher/env-http-proxy-agent.js') as typeof undici.EnvHttpProxyAgent)(options)
    : new (require('undici/lib/dispatcher/agent.js') as typeof undici.Agent)(options),
)
