/**
 * Where the console and the operator API are: on an origin of their own, and within networks, where the configuration names them. Elsewhere
 * they answer as a path that does not exist.
 */
import type { Context } from 'koa'
import { getPaths } from '../../api/endpoint.ts'
import { health, readiness } from '../../api/operations.ts'
import type { Services } from '../../services/services.ts'
import { parseNetworks } from '../../system/cidr.ts'
import { isInNetworks } from '../request/client-ip.ts'
import type { RequestState } from '../request-context.ts'

export interface ConsoleGate {
  /** The services under the console's own origin, for links, cookies, `Origin` checks and the content policy; null: it has none. */
  readonly services: Services | null
  /** Whether the request is for the console's own origin, by its `Host`. */
  isConsoleHost(ctx: Context): boolean
  /** Whether the website of the members' origin, or of the console's, has nothing at this path for this client. */
  isHidden(ctx: Context, site: 'members' | 'console'): boolean
}

/** Of the console's own origin: the console, what its sign-in pages and their scripts need, and files. */
const consoleSitePaths =
  /^\/(?:operator|api\/operator|assets|sign-in|sign-out|favicon\.ico|apple-touch-icon\.png|api\/membership\/(?:v1\/)?auth\/(?:oauth|passkeys|sign-out))(?:\/|$)/

const probePaths: ReadonlySet<string> = new Set([...getPaths(health), ...getPaths(readiness)])

export function createConsoleGate(services: Services): ConsoleGate {
  const { origin, networks } = services.config.console
  const allowedNetworks = parseNetworks(networks)
  const isOutside = (ctx: Context): boolean =>
    networks.length > 0 && !isInNetworks((ctx.state as RequestState).address, allowedNetworks)
  return {
    services: origin === null ? null : withOrigin(services, origin),
    // Probes of a balancer may have any host.
    isConsoleHost: (ctx) => origin !== null && isHostOf(ctx.host, origin) && !probePaths.has(ctx.path),
    isHidden(ctx, site) {
      if (site === 'console') return isOutside(ctx) || !(consoleSitePaths.test(ctx.path) || isFrontPage(ctx))
      return isConsolePath(ctx.path) && (origin !== null || isOutside(ctx))
    },
  }
}

export function isConsolePath(path: string): boolean {
  return /^\/(?:api\/)?operator(?:\/|$)/.test(path)
}

/** Where signing in and out lead, which on the console's origin is the console. */
export function isFrontPage({ path }: Pick<Context, 'path'>): boolean {
  return path === '/' || path === '/account' || path === '/chat'
}

/** The port may be written although it is the scheme's own. */
function isHostOf(host: string, origin: string): boolean {
  const { protocol, host: originHost } = new URL(origin)
  return host !== '' && URL.parse(`${protocol}//${host}`)?.host === originHost
}

function withOrigin(services: Services, site: string): Services {
  const origins = {
    site,
    // Known once the server listens.
    get base() {
      return services.origins.base
    },
  }
  return { ...services, origins }
}
