/** Binds a server to an address, with a one-sentence error when that fails. */
import type { Server } from 'node:net'
import { ConfigError } from '../../config/config.ts'

interface BindAddress {
  readonly host: string
  readonly port: number
  /** The setting that changes this address, as in `PORT`. */
  readonly settingName: string
  /** Whether other sockets of this user may listen on the same port; the kernel then distributes the connections. */
  readonly reusePort?: boolean
}

/** @throws ConfigError */
export function bind(
  server: Pick<Server, 'once' | 'off' | 'listen'>,
  { host, port, settingName, reusePort = false }: BindAddress,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const onError = (error: NodeJS.ErrnoException): void =>
      reject(new ConfigError(describeBindError(error, { host, port, settingName })))
    server.once('error', onError)
    server.listen({ host, port, ...(reusePort ? { reusePort: true } : {}) }, () => {
      server.off('error', onError)
      resolve()
    })
  })
}

function describeBindError(error: NodeJS.ErrnoException, { host, port, settingName }: BindAddress): string {
  if (error.code === 'EADDRINUSE')
    return `${host}:${port} is in use by another program. Stop it, or choose another ${settingName}.`
  if (error.code === 'EACCES') return `${host}:${port} may not be opened by this user. Choose a ${settingName} above 1023.`
  if (error.code === 'EADDRNOTAVAIL' || error.code === 'ENOTFOUND')
    return `${host} is no address of this machine. Check ${settingName === 'PORT' ? 'HOST' : 'metrics.host'}.`
  return `${host}:${port} cannot be opened: ${error.message}`
}
