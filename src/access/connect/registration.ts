/**
 * Programs that nobody here has heard of register themselves (RFC 7591). Each is a public client: it gets no secret, because a program on
 * somebody's computer could not keep one. What it asks for beyond what is offered is left out, as the protocol allows, and the answer says so.
 */
import type { AppMetadata } from '../../membership/app.ts'
import { toolsScope } from './metadata.ts'
import { isLoopback, mayRedirect } from './redirects.ts'

const mostRedirects = 16
const nameChars = 200

/** Refused, in the protocol's own words. */
export class RegistrationRefused extends Error {
  readonly code: 'invalid_redirect_uri' | 'invalid_client_metadata'

  constructor(code: RegistrationRefused['code'], message: string) {
    super(message)
    this.code = code
  }
}

/** What is kept of a registration. @throws RegistrationRefused */
export function toMetadata(
  sent: Readonly<Record<string, unknown>>,
  appSchemes: readonly string[],
  { id, now }: { readonly id: string; readonly now: number },
): AppMetadata {
  const redirects = redirectsOf(sent['redirect_uris'], appSchemes)
  const { response_types: responses, client_name: name, client_uri: home } = sent
  if (responses !== undefined && !(Array.isArray(responses) && responses.includes('code')))
    throw new RegistrationRefused('invalid_client_metadata', "'response_types' must have 'code'.")
  return {
    client_id: id,
    client_id_issued_at: Math.floor(now / 1000),
    ...(typeof name === 'string' && name !== '' ? { client_name: name.slice(0, nameChars) } : {}),
    ...(typeof home === 'string' && URL.parse(home)?.protocol === 'https:' ? { client_uri: home } : {}),
    redirect_uris: redirects,
    grant_types: grantsOf(sent['grant_types']),
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
    application_type: redirects.some((address) => isLoopback(address) || !address.startsWith('https:')) ? 'native' : 'web',
  }
}

/** The same, as the program is told it. */
export function toRegistrationRecord(metadata: AppMetadata): Record<string, unknown> {
  return { ...metadata, scope: toolsScope }
}

function redirectsOf(sent: unknown, appSchemes: readonly string[]): readonly string[] {
  if (!Array.isArray(sent) || sent.length === 0 || sent.length > mostRedirects)
    throw new RegistrationRefused('invalid_redirect_uri', `'redirect_uris' must have 1 to ${mostRedirects} addresses.`)
  return sent.map((address: unknown) => {
    if (typeof address === 'string' && mayRedirect(address, appSchemes)) return address
    throw new RegistrationRefused(
      'invalid_redirect_uri',
      "an address in 'redirect_uris' is neither https, nor http on loopback, nor of a desktop program that is known here.",
    )
  })
}

function grantsOf(sent: unknown): readonly string[] {
  if (sent === undefined) return ['authorization_code', 'refresh_token']
  if (!Array.isArray(sent) || !sent.includes('authorization_code'))
    throw new RegistrationRefused('invalid_client_metadata', "'grant_types' must have 'authorization_code'.")
  return sent.includes('refresh_token') ? ['authorization_code', 'refresh_token'] : ['authorization_code']
}
