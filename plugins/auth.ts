/**
 * Resolves the bearer token to an account: an API key, a session token, an OAuth client's token, the website's cookie, or a trusted
 * issuer's JWT. Otherwise fails with `sign_in_required`.
 */
import { parseBearerToken, definePlugin, GatewayError, resolvePlan } from '../src/index.ts'
import type { Caller, Credential, Exchange, PluginServices } from '../src/index.ts'

export const auth = definePlugin({
  name: 'auth',
  gives: ['caller'],
  onRequest(x, services) {
    const caller = x.parent?.caller ?? identify(x, services)
    if (!(caller instanceof Promise)) x.caller = caller
    else return caller.then((found) => void (x.caller = found))
  },
})

/** A cached token is resolved without a promise. */
function identify(x: Exchange, services: PluginServices): Caller | Promise<Caller> {
  const header = x.inbound.headers['authorization']
  const apiKey = header === undefined ? findApiKey(x) : undefined
  const token =
    header !== undefined ? parseBearerToken(header) : apiKey !== undefined ? parseApiKey(apiKey) : x.inbound.cookieToken
  if (token === null) throw signInRequiredError(x, services, header !== undefined || apiKey !== undefined)
  const credential = services.credentials.resolve(token)
  if (credential !== null && !(credential instanceof Promise)) return toCaller(credential, x, services)
  return Promise.resolve(credential).then(async (known) => toCaller(known ?? (await services.jwt.resolve(token)), x, services))
}

/** Clients of other APIs send the key in headers of their own. */
function findApiKey({ inbound: { headers } }: Pick<Exchange, 'inbound'>): string | readonly string[] | undefined {
  return headers['x-api-key'] ?? headers['x-goog-api-key']
}

function parseApiKey(header: string | readonly string[]): string | null {
  return typeof header === 'string' ? parseBearerToken(`Bearer ${header.trim()}`) : null
}

function toCaller(credential: Credential | null, x: Exchange, services: PluginServices): Caller {
  if (credential === null) throw signInRequiredError(x, services, true)
  // A token that a member granted to an OAuth client is valid for the tool server only.
  if (credential.kind === 'app' && !isToolServerPath(x.inbound.path)) throw signInRequiredError(x, services, true)
  // A cookie counts only for a same-origin request of the website; an API key in a cookie is not accepted, nor a cookie's token as a bearer
  // token.
  const hasNoAuthorization = x.inbound.headers['authorization'] === undefined && findApiKey(x) === undefined
  if (hasNoAuthorization !== (credential.kind === 'cookie')) throw signInRequiredError(x, services, true)
  return {
    account: credential.account,
    plan: resolvePlan(services.config, credential.account),
    credential: credential.kind,
    source: toSource(credential),
  }
}

/** As the turn log names it: a session is gone once it has ended, so only its kind is kept. */
function toSource({ kind, id }: Credential): string {
  if (kind === 'key') return id
  return { session: 'cli', cookie: 'web', app: 'app', jwt: 'jwt' }[kind]
}

function isToolServerPath(path: string): boolean {
  return path === '/v1/mcp' || path === '/v1/mcp/tools/call'
}

/** Responses of the tool server also name the address at which a client can sign in for a member (RFC 9728, 5.1). */
function signInRequiredError(x: Exchange, { origins }: PluginServices, isTokenSent: boolean): GatewayError {
  const parts = [`realm="${x.names.slug}"`]
  if (isTokenSent) parts.push('error="invalid_token"')
  if (x.inbound.path === '/v1/mcp') {
    parts.push(`resource_metadata="${origins.base}/.well-known/oauth-protected-resource/v1/mcp"`, 'scope="tools"')
  }
  return new GatewayError('sign_in_required', { headers: { 'www-authenticate': `Bearer ${parts.join(', ')}` } })
}
