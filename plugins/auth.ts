/** Bearer token → account. A key, a session token, the site's own cookie, or a trusted issuer's JWT; else `sign_in_required`. */
import { definePlugin, GatewayError } from '../src/index.ts'
import type { Caller, Exchange, Services } from '../src/index.ts'

export const auth = definePlugin({
  name: 'auth',
  gives: ['caller'],
  async onRequest(x, services) {
    x.caller = x.within?.caller ?? (await identify(x, services))
  },
})

async function identify(x: Exchange, { credentials, config, jwt }: Services): Promise<Caller> {
  const header = x.inbound.headers['authorization']
  const token = header === undefined ? x.inbound.cookieToken : bearerOf(header)
  if (token === null) throw signInRequired(x, header !== undefined)
  const found = (await credentials.resolve(token)) ?? (await jwt.resolve(token))
  const plan = found === null ? undefined : config.plans[found.account.plan]
  if (found === null || plan === undefined) throw signInRequired(x, true)
  // A cookie is only good where the door saw that the request is the site's own; a key pasted into a cookie is no cookie session.
  if (header === undefined && found.kind !== 'cookie') throw signInRequired(x, true)
  if (header !== undefined && found.kind === 'cookie') throw signInRequired(x, true)
  return { account: found.account, plan: { id: found.account.plan, ...plan }, credential: found.kind }
}

function bearerOf(header: string | string[]): string | null {
  if (typeof header !== 'string') return null
  return /^Bearer +([^\s]{1,8192})$/i.exec(header)?.[1] ?? null
}

function signInRequired(x: Exchange, tokenSent: boolean): GatewayError {
  const challenge = `Bearer realm="${x.names.slug}"${tokenSent ? ', error="invalid_token"' : ''}`
  return new GatewayError('sign_in_required', { headers: { 'www-authenticate': challenge } })
}
