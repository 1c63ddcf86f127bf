/** Taking an address to listen on; what keeps us from it is told in one sentence. */
import type { Server } from 'node:net'
import { ConfigError } from '../config/config.ts'

export interface Place {
  readonly host: string
  readonly port: number
  /** The setting that the operator would change, as in `PORT`. */
  readonly names: string
  /** Whether others of this user who say so may listen there as well: the system then shares out who connects. */
  readonly isShared?: boolean
}

/** @throws ConfigError */
export function bind(
  server: Pick<Server, 'once' | 'off' | 'listen'>,
  { host, port, names, isShared = false }: Place,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const refused = (error: NodeJS.ErrnoException): void => reject(new ConfigError(whyNot(error, { host, port, names })))
    server.once('error', refused)
    server.listen({ host, port, ...(isShared ? { reusePort: true } : {}) }, () => {
      server.off('error', refused)
      resolve()
    })
  })
}

/** Where a server that listens everywhere is reached. Of `[::]` browsers do not know that it is this machine, and keep no session of it. */
const everywhere = new Map([
  ['0.0.0.0', '127.0.0.1'],
  ['::', '::1'],
])

/** The host as it stands in an address. */
export function shownHost(host: string): string {
  const reached = everywhere.get(host) ?? host
  return reached.includes(':') ? `[${reached}]` : reached
}

function whyNot(error: NodeJS.ErrnoException, { host, port, names }: Place): string {
  if (error.code === 'EADDRINUSE') return `${host}:${port} is in use by another program. Stop it, or choose another ${names}.`
  if (error.code === 'EACCES') return `${host}:${port} may not be opened by this user. Choose a ${names} above 1023.`
  if (error.code === 'EADDRNOTAVAIL' || error.code === 'ENOTFOUND')
    return `${host} is no address of this machine. Check ${names === 'PORT' ? 'HOST' : 'metrics.host'}.`
  return `${host}:${port} cannot be opened: ${error.message}`
}
