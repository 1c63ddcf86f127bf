/** Loads the OAuth library with the first request that needs it. */
import type { Logger } from 'pino'
import type * as ProviderModule from './provider.ts'

/**
 * The library writes notices to the console: that this Node is not an LTS release, which our tests cover. A plain line would break a log of JSON
 * lines, so they go to the log, at debug level.
 */
export async function loadProviderModule(log: Pick<Logger, 'debug'>): Promise<typeof ProviderModule> {
  const { warn, info } = console
  const redirect =
    (write: (...parts: unknown[]) => void) =>
    (...parts: unknown[]): void => {
      if (typeof parts[0] === 'string' && parts[0].includes('oidc-provider '))
        log.debug({ notice: parts[0] }, 'the OAuth library')
      else write(...parts)
    }
  Object.assign(console, { warn: redirect(warn), info: redirect(info) })
  try {
    return await import('./provider.ts')
  } finally {
    Object.assign(console, { warn, info })
  }
}
