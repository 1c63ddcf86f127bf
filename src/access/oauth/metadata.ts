/**
 * The service's OAuth metadata documents: as a protected resource (RFC 9728) and as an authorization server (RFC 8414). Written here, because
 * the library is not loaded before the first sign-in.
 */
import type { ResponseOf } from '../../api/endpoint.ts'
import type { describeIssuer, describeResource } from '../../api/oauth.ts'
import type { OAuthDeps } from './oauth-deps.ts'

/** The only scope: use the hosted tools on the member's quota. */
export const toolsScope = 'tools'

export const oauthPaths = {
  authorize: '/oauth/authorize',
  token: '/oauth/token',
  register: '/oauth/register',
  revoke: '/oauth/revoke',
  keys: '/oauth/keys',
} as const

/** The tool server's resource identifier (RFC 8707): tokens are valid for it alone. */
export function getToolsResource({ origins }: Pick<OAuthDeps, 'origins'>): string {
  return `${origins.base}/v1/mcp`
}

export function buildResourceMetadata(deps: Pick<OAuthDeps, 'origins' | 'config'>): ResponseOf<typeof describeResource> {
  const { origins, config } = deps
  return {
    resource: getToolsResource(deps),
    resource_name: `${config.brand.name} tools`,
    resource_documentation: `${origins.site}/docs`,
    authorization_servers: [origins.site],
    scopes_supported: [toolsScope],
    bearer_methods_supported: ['header'],
  }
}

/** `readsClientDocuments`: whether to announce client id metadata documents. */
export function buildIssuerMetadata(
  { origins: { site } }: Pick<OAuthDeps, 'origins'>,
  readsClientDocuments: boolean,
): ResponseOf<typeof describeIssuer> {
  return {
    issuer: site,
    authorization_endpoint: site + oauthPaths.authorize,
    token_endpoint: site + oauthPaths.token,
    registration_endpoint: site + oauthPaths.register,
    revocation_endpoint: site + oauthPaths.revoke,
    scopes_supported: [toolsScope],
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: ['authorization_code', 'refresh_token'],
    code_challenge_methods_supported: ['S256'],
    token_endpoint_auth_methods_supported: ['none'],
    revocation_endpoint_auth_methods_supported: ['none'],
    authorization_response_iss_parameter_supported: true,
    client_id_metadata_document_supported: readsClientDocuments,
    service_documentation: `${site}/docs`,
    // Nothing here is signed. Readers of the OpenID document require these fields (OpenID Connect Discovery 1.0, 3).
    jwks_uri: site + oauthPaths.keys,
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['RS256'],
  }
}
