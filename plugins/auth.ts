/** Bearer token → account. A key, a session token, the site's own cookie, or a trusted issuer's JWT; else `sign_in_required`. */
import { definePlugin, GatewayError, planFor } from '../src/index.ts'
import type { Caller, Credential, Exchange, Services } from '../src/index.ts'

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
function identify(x: Exchange, services: Services): Caller | Promise<Caller> {
  const header = x.inbound.headers['authorization']
  const token = header === undefined ? x.inbound.cookieToken : bearerOf(header)
  if (token === null) throw signInRequired(x, header !== undefined)
  const found = services.credentials.resolve(token)
  if (found !== null && !(found instanceof Promise)) return callerOf(found, x, services)
  return Promise.resolve(found).then(async (known) => callerOf(known ?? (await services.jwt.resolve(token)), x, services))
}

function callerOf(found: Credential | null, x: Exchange, { config }: Services): Caller {
  if (found === null) throw signInRequired(x, true)
  // A cookie is only good where the door saw that the request is the site's own; a key pasted into a cookie is no cookie session.
  const byCookie = x.inbound.headers['authorization'] === undefined
  if (byCookie !== (found.kind === 'cookie')) throw signInRequired(x, true)
  return { account: found.account, plan: planFor(config, found.account.plan), credential: found.kind }
}

function bearerOf(header: string | string[]): string | null {
  if (typeof header !== 'string') return null
  return /^Bearer +([^\s]{1,8192})$/i.exec(header)?.[1] ?? null
}

function signInRequired(x: Exchange, tokenSent: boolean): GatewayError {
  const challenge = `Bearer realm="${x.names.slug}"${tokenSent ? ', error="invalid_token"' : ''}`
  return new GatewayError('sign_in_required', { headers: { 'www-authenticate': challenge } })
}
