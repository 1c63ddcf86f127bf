/**
 * Dynamic client registration (RFC 7591). Each client is public: it gets no secret, because a program on a member's computer could not keep
 * one. Requested features that are not offered are left out, as the protocol allows, and the response shows it.
 */
import type { OAuthClientMetadata } from '../../domain/identity/oauth-client.ts'
import { toolsScope } from './metadata.ts'
import { isLoopback, isAllowedRedirect } from './redirects.ts'

const maxRedirectUris = 16
const maxNameLength = 200
const maxUriLength = 500
/** Strangers register without end, so each registration takes little room. Known programs send less than 1 KB. */
const maxMetadataBytes = 4_096

/** A refusal with the protocol's error code. */
export class RegistrationError extends Error {
  readonly code: 'invalid_redirect_uri' | 'invalid_client_metadata'

  constructor(code: RegistrationError['code'], message: string) {
    super(message)
    this.code = code
  }
}

/** The metadata to store for a registration. @throws RegistrationError */
export function toClientMetadata(
  request: Readonly<Record<string, unknown>>,
  redirectSchemes: readonly string[],
  { id, now }: { readonly id: string; readonly now: number },
): OAuthClientMetadata {
  const redirectUris = parseRedirectUris(request['redirect_uris'], redirectSchemes)
  const { response_types: responses, client_name: name, client_uri: home } = request
  if (responses !== undefined && !(Array.isArray(responses) && responses.includes('code')))
    throw new RegistrationError('invalid_client_metadata', "'response_types' must contain 'code'.")
  const metadata = {
    client_id: id,
    client_id_issued_at: Math.floor(now / 1000),
    ...(typeof name === 'string' && name !== '' ? { client_name: name.slice(0, maxNameLength) } : {}),
    ...(typeof home === 'string' && home.length <= maxUriLength && URL.parse(home)?.protocol === 'https:'
      ? { client_uri: home }
      : {}),
    redirect_uris: redirectUris,
    grant_types: parseGrantTypes(request['grant_types']),
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
    application_type: redirectUris.some((address) => isLoopback(address) || !address.startsWith('https:')) ? 'native' : 'web',
  }
  if (Buffer.byteLength(JSON.stringify(metadata)) > maxMetadataBytes)
    throw new RegistrationError('invalid_client_metadata', `the metadata must not take more than ${maxMetadataBytes} bytes.`)
  return metadata
}

/** The response to the client. */
export function toRegistrationResponse(metadata: OAuthClientMetadata): Record<string, unknown> {
  return { ...metadata, scope: toolsScope }
}

function parseRedirectUris(sent: unknown, redirectSchemes: readonly string[]): readonly string[] {
  if (!Array.isArray(sent) || sent.length === 0 || sent.length > maxRedirectUris)
    throw new RegistrationError('invalid_redirect_uri', `'redirect_uris' must contain 1 to ${maxRedirectUris} addresses.`)
  return sent.map((address: unknown) => {
    if (typeof address === 'string' && address.length <= maxUriLength && isAllowedRedirect(address, redirectSchemes))
      return address
    throw new RegistrationError(
      'invalid_redirect_uri',
      "an address in 'redirect_uris' is longer than 500 characters, or neither https, nor http on loopback, nor of a configured desktop program.",
    )
  })
}

function parseGrantTypes(sent: unknown): readonly string[] {
  if (sent === undefined) return ['authorization_code', 'refresh_token']
  if (!Array.isArray(sent) || !sent.includes('authorization_code'))
    throw new RegistrationError('invalid_client_metadata', "'grant_types' must contain 'authorization_code'.")
  return sent.includes('refresh_token') ? ['authorization_code', 'refresh_token'] : ['authorization_code']
}
