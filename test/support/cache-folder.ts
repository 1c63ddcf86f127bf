import { homedir } from 'node:os'
import { join } from 'node:path'

/** Where tests keep what they install, between runs. */
export const cacheFolder = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'svc-gateway-tests')
