/**
 * OAuth for programs that use the MCP server for a member (OAuth 2.1; RFC 8414, 9728, 7591, 7009). Errors have the protocols' own format
 * (`oauthError`), not the envelope.
 */
import { z } from 'zod'
import { defineEndpoint } from './endpoint.ts'
import { count, ok, optionalText, seconds } from './fields.ts'

const oauthError = z.looseObject({ error: z.string(), error_description: z.string().optional() }).meta({ id: 'OAuthError' })
const stringList = z.array(z.string())
const ignoredUnlessText = z.unknown().meta({ description: 'A string; anything else is ignored.' }).optional()
const formMediaType = 'application/x-www-form-urlencoded'

export const describeResource = defineEndpoint({
  method: 'get',
  path: '/.well-known/oauth-protected-resource',
  aliases: ['/.well-known/oauth-protected-resource/v1/mcp'],
  security: 'public',
  summary: 'Metadata of the MCP server as a protected resource.',
  response: z.strictObject({
    resource: z.url(),
    resource_name: z.string(),
    resource_documentation: z.url(),
    authorization_servers: z.array(z.url()),
    scopes_supported: stringList,
    bearer_methods_supported: stringList,
  }),
  errors: [],
})

export const describeIssuer = defineEndpoint({
  method: 'get',
  path: '/.well-known/oauth-authorization-server',
  aliases: ['/.well-known/openid-configuration'],
  security: 'public',
  summary: 'Metadata of the site as an authorization server.',
  response: z.strictObject({
    issuer: z.url(),
    authorization_endpoint: z.url(),
    token_endpoint: z.url(),
    registration_endpoint: z.url(),
    revocation_endpoint: z.url(),
    scopes_supported: stringList,
    response_types_supported: stringList,
    response_modes_supported: stringList,
    grant_types_supported: stringList,
    code_challenge_methods_supported: stringList,
    token_endpoint_auth_methods_supported: stringList,
    revocation_endpoint_auth_methods_supported: stringList,
    authorization_response_iss_parameter_supported: z.literal(true),
    client_id_metadata_document_supported: z.boolean(),
    service_documentation: z.url(),
    jwks_uri: z.url(),
    subject_types_supported: stringList,
    id_token_signing_alg_values_supported: stringList,
  }),
  errors: [],
})

export const listSigningKeys = defineEndpoint({
  method: 'get',
  path: '/oauth/keys',
  security: 'public',
  summary: 'The keys that sign tokens: none, because tokens are opaque.',
  response: z.strictObject({ keys: z.array(z.never()) }),
  errors: [],
})

export const registerOAuthClient = defineEndpoint({
  method: 'post',
  path: '/oauth/register',
  security: 'public',
  summary: 'Registers a client (RFC 7591); clients are public and get no secret.',
  body: z.looseObject({
    redirect_uris: z
      .array(z.url().max(500))
      .min(1)
      .max(16)
      .meta({ description: 'https, or http on loopback, or the scheme of a desktop program that the operator allowed.' }),
    client_name: ignoredUnlessText,
    client_uri: ignoredUnlessText,
  }),
  status: 201,
  response: z.looseObject({
    client_id: z.string(),
    client_id_issued_at: count,
    client_name: z.string().optional(),
    client_uri: z.string().optional(),
    redirect_uris: stringList,
    grant_types: stringList,
    response_types: stringList,
    token_endpoint_auth_method: z.literal('none'),
    scope: z.string(),
  }),
  otherResponses: { 400: oauthError, 503: oauthError },
  errors: [],
})

export const authorize = defineEndpoint({
  method: 'get',
  path: '/oauth/authorize',
  security: 'public',
  summary: "Starts authorization: a client sends the member's browser here.",
  query: z.object({
    client_id: z.string(),
    response_type: z.literal('code'),
    redirect_uri: z.url(),
    code_challenge: z.string().regex(/^[\w-]{43}$/),
    code_challenge_method: z.literal('S256'),
    state: z.string().optional(),
    resource: z.url().optional(),
    prompt: z.string().optional(),
  }),
  status: 303,
  mediaType: 'text/html',
  otherMediaTypes: { 400: 'text/html', 429: 'text/html' },
  errors: [],
})

export const resumeAuthorize = defineEndpoint({
  method: 'get',
  path: '/oauth/authorize/{uid}',
  security: 'public',
  summary: 'Resumes authorization after the decision and redirects back to the client.',
  status: 303,
  mediaType: 'text/html',
  otherMediaTypes: { 400: 'text/html' },
  errors: [],
})

export const exchangeToken = defineEndpoint({
  method: 'post',
  path: '/oauth/token',
  security: 'public',
  summary: 'Exchanges a code or a refresh token for an access token; form-encoded.',
  body: z.looseObject({
    grant_type: z.enum(['authorization_code', 'refresh_token']),
    client_id: z.string(),
    code: z.string().optional(),
    code_verifier: z.string().optional(),
    redirect_uri: z.string().optional(),
    refresh_token: z.string().optional(),
    resource: z.string().optional(),
  }),
  bodyMediaType: formMediaType,
  response: z.looseObject({ access_token: z.string(), token_type: z.literal('Bearer'), expires_in: seconds }),
  otherResponses: { 400: oauthError, 401: oauthError },
  errors: [],
})

export const revokeToken = defineEndpoint({
  method: 'post',
  path: '/oauth/revoke',
  security: 'public',
  summary: 'Revokes a token (RFC 7009); form-encoded.',
  body: z.looseObject({ token: z.string(), client_id: z.string(), token_type_hint: z.string().optional() }),
  bodyMediaType: formMediaType,
  otherResponses: { 400: oauthError, 401: oauthError },
  errors: [],
})

export const showConsentRequest = defineEndpoint({
  method: 'get',
  path: '/connect/{uid}/request',
  security: 'session_cookie',
  summary: 'The requesting client, for the consent page.',
  response: z.strictObject({
    app: z.strictObject({ name: z.string(), address: z.string().nullable() }),
    redirect: z.strictObject({ place: z.string(), local: z.boolean() }),
    account: z.string(),
    expires_in: seconds,
  }),
  errors: ['invalid_request'],
})

export const decideConsentRequest = defineEndpoint({
  method: 'post',
  path: '/connect/{uid}',
  security: 'session_cookie',
  summary: 'Approves or denies; `location` is the next address of the browser.',
  body: z.object({
    decision: z.enum(['approve', 'deny']),
    account: optionalText(320).meta({
      description: 'The account shown to the member; refused if another has signed in since.',
    }),
  }),
  response: z.strictObject({ ok, location: z.url() }),
  errors: ['invalid_request'],
})
