/**
 * What the service says of itself to programs that want to sign in for a member: as the tool server (RFC 9728) and as the place that signs
 * in (RFC 8414). Written here and not asked of the library, which need not be there before somebody really signs in.
 */
import type { AnswerOf } from '../../api/endpoint.ts'
import type { describeIssuer, describeResource } from '../../api/connect.ts'
import type { ConnectParts } from './parts.ts'

/** The only permission there is: to use the hosted tools on the member's quota. */
export const toolsScope = 'tools'

export const connectPaths = {
  authorize: '/oauth/authorize',
  token: '/oauth/token',
  register: '/oauth/register',
  revoke: '/oauth/revoke',
  keys: '/oauth/keys',
} as const

/** The tool server's name as a resource (RFC 8707): tokens are for it alone. */
export function toolsResource({ origins }: Pick<ConnectParts, 'origins'>): string {
  return `${origins.base}/v1/mcp`
}

export function resourceMetadata(parts: Pick<ConnectParts, 'origins' | 'config'>): AnswerOf<typeof describeResource> {
  const { origins, config } = parts
  return {
    resource: toolsResource(parts),
    resource_name: `${config.brand.name} tools`,
    resource_documentation: `${origins.site}/docs`,
    authorization_servers: [origins.site],
    scopes_supported: [toolsScope],
    bearer_methods_supported: ['header'],
  }
}

export function issuerMetadata({ origins: { site } }: Pick<ConnectParts, 'origins'>): AnswerOf<typeof describeIssuer> {
  return {
    issuer: site,
    authorization_endpoint: site + connectPaths.authorize,
    token_endpoint: site + connectPaths.token,
    registration_endpoint: site + connectPaths.register,
    revocation_endpoint: site + connectPaths.revoke,
    scopes_supported: [toolsScope],
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: ['authorization_code', 'refresh_token'],
    code_challenge_methods_supported: ['S256'],
    token_endpoint_auth_methods_supported: ['none'],
    revocation_endpoint_auth_methods_supported: ['none'],
    authorization_response_iss_parameter_supported: true,
    client_id_metadata_document_supported: true,
    service_documentation: `${site}/docs`,
    // Nothing here is signed. These are what a reader of the OpenID document insists on (OpenID Connect Discovery 1.0, 3).
    jwks_uri: site + connectPaths.keys,
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['RS256'],
  }
}
