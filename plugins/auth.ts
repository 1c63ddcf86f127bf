/** Bearer token → account. A key, a session token, an app's token, the site's own cookie, or a trusted issuer's JWT; else `sign_in_required`. */
import { bearerToken, definePlugin, GatewayError, planFor } from '../src/index.ts'
import type { Caller, Credential, Exchange, PluginServices } from '../src/index.ts'

export const auth = definePlugin({
  name: 'auth',
  gives: ['caller'],
  onRequest(x, services) {
    const caller = x.within?.caller ?? identify(x, services)
    if (!(caller instanceof Promise)) x.caller = caller
    else return caller.then((found) => void (x.caller = found))
  },
})

/** A token that is remembered is answered at once, without a promise. */
function identify(x: Exchange, services: PluginServices): Caller | Promise<Caller> {
  const header = x.inbound.headers['authorization']
  const token = header === undefined ? x.inbound.cookieToken : bearerToken(header)
  if (token === null) throw signInRequired(x, services, header !== undefined)
  const found = services.credentials.resolve(token)
  if (found !== null && !(found instanceof Promise)) return callerOf(found, x, services)
  return Promise.resolve(found).then(async (known) => callerOf(known ?? (await services.jwt.resolve(token)), x, services))
}

function callerOf(found: Credential | null, x: Exchange, services: PluginServices): Caller {
  if (found === null) throw signInRequired(x, services, true)
  // What a member let a program have is for the tools, and buys nothing else.
  if (found.kind === 'app' && !isToolServer(x.inbound.path)) throw signInRequired(x, services, true)
  // A cookie is only good where the door saw that the request is the site's own; a key pasted into a cookie is no cookie session.
  const byCookie = x.inbound.headers['authorization'] === undefined
  if (byCookie !== (found.kind === 'cookie')) throw signInRequired(x, services, true)
  return { account: found.account, plan: planFor(services.config, found.account.plan), credential: found.kind }
}

function isToolServer(path: string): boolean {
  return path === '/v1/mcp' || path === '/v1/mcp/tools/call'
}

/** The tool server says besides where a program may sign in for a member (RFC 9728, 5.1). */
function signInRequired(x: Exchange, { origins }: PluginServices, tokenSent: boolean): GatewayError {
  const parts = [`realm="${x.names.slug}"`]
  if (tokenSent) parts.push('error="invalid_token"')
  if (x.inbound.path === '/v1/mcp') {
    parts.push(`resource_metadata="${origins.base}/.well-known/oauth-protected-resource/v1/mcp"`, 'scope="tools"')
  }
  return new GatewayError('sign_in_required', { headers: { 'www-authenticate': `Bearer ${parts.join(', ')}` } })
}
