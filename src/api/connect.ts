/**
 * Programs that sign in to the tool server for a member (OAuth 2.1; RFC 8414, 9728, 7591, 7009). Failures of these protocols are told in
 * their own words (`oauthFailure`), not in the envelope.
 */
import { z } from 'zod'
import { endpoint } from './endpoint.ts'
import { count, ok, optionalText, seconds } from './fields.ts'

const oauthFailure = z.looseObject({ error: z.string(), error_description: z.string().optional() }).meta({ id: 'OAuthFailure' })
const words = z.array(z.string())

export const describeResource = endpoint({
  method: 'get',
  path: '/.well-known/oauth-protected-resource',
  alsoAt: ['/.well-known/oauth-protected-resource/v1/mcp'],
  who: 'anybody',
  about: 'The tool server as a protected resource.',
  answer: z.strictObject({
    resource: z.url(),
    resource_name: z.string(),
    resource_documentation: z.url(),
    authorization_servers: z.array(z.url()),
    scopes_supported: words,
    bearer_methods_supported: words,
  }),
  errors: [],
})

export const describeIssuer = endpoint({
  method: 'get',
  path: '/.well-known/oauth-authorization-server',
  alsoAt: ['/.well-known/openid-configuration'],
  who: 'anybody',
  about: 'The site as the place where programs sign in.',
  answer: z.strictObject({
    issuer: z.url(),
    authorization_endpoint: z.url(),
    token_endpoint: z.url(),
    registration_endpoint: z.url(),
    revocation_endpoint: z.url(),
    scopes_supported: words,
    response_types_supported: words,
    response_modes_supported: words,
    grant_types_supported: words,
    code_challenge_methods_supported: words,
    token_endpoint_auth_methods_supported: words,
    revocation_endpoint_auth_methods_supported: words,
    authorization_response_iss_parameter_supported: z.literal(true),
    client_id_metadata_document_supported: z.literal(true),
    service_documentation: z.url(),
    jwks_uri: z.url(),
    subject_types_supported: words,
    id_token_signing_alg_values_supported: words,
  }),
  errors: [],
})

export const listSigningKeys = endpoint({
  method: 'get',
  path: '/oauth/keys',
  who: 'anybody',
  about: 'The keys that tokens are signed with: none, because nothing is.',
  answer: z.strictObject({ keys: z.array(z.never()) }),
  errors: [],
})

export const registerApp = endpoint({
  method: 'post',
  path: '/oauth/register',
  who: 'anybody',
  about: 'A program registers itself (RFC 7591); it is public and gets no secret.',
  body: z.looseObject({ redirect_uris: words, client_name: z.string().optional(), client_uri: z.string().optional() }),
  status: 201,
  answer: z.looseObject({
    client_id: z.string(),
    client_id_issued_at: count,
    client_name: z.string().optional(),
    client_uri: z.string().optional(),
    redirect_uris: words,
    grant_types: words,
    response_types: words,
    token_endpoint_auth_method: z.literal('none'),
    scope: z.string(),
  }),
  others: { 400: oauthFailure, 503: oauthFailure },
  errors: [],
})

export const authorize = endpoint({
  method: 'get',
  path: '/oauth/authorize',
  who: 'anybody',
  about: "Where a program sends a member's browser.",
  status: 303,
  media: 'text/html',
  errors: [],
})

export const resumeAuthorize = endpoint({
  method: 'get',
  path: '/oauth/authorize/{uid}',
  who: 'anybody',
  about: 'Where the browser goes when the member has decided, and from there back to the program.',
  status: 303,
  media: 'text/html',
  errors: [],
})

export const exchangeToken = endpoint({
  method: 'post',
  path: '/oauth/token',
  who: 'anybody',
  about: 'Turns a code or a refresh token into an access token; form-encoded, as the protocol says.',
  answer: z.looseObject({ access_token: z.string(), token_type: z.literal('Bearer'), expires_in: seconds }),
  others: { 400: oauthFailure, 401: oauthFailure },
  errors: [],
})

export const revokeToken = endpoint({
  method: 'post',
  path: '/oauth/revoke',
  who: 'anybody',
  about: 'Gives a token back (RFC 7009); form-encoded.',
  others: { 400: oauthFailure, 401: oauthFailure },
  errors: [],
})

export const showRequest = endpoint({
  method: 'get',
  path: '/connect/{uid}/request',
  who: 'cookie',
  about: 'Which program asks, for the page on which the member decides.',
  answer: z.strictObject({
    app: z.strictObject({ name: z.string(), address: z.string().nullable() }),
    redirect: z.strictObject({ place: z.string(), local: z.boolean() }),
    account: z.string(),
    expires_in: seconds,
  }),
  errors: ['invalid_request'],
})

export const decideRequest = endpoint({
  method: 'post',
  path: '/connect/{uid}',
  who: 'cookie',
  about: 'The decision; `location` is where the browser goes on to.',
  body: z.object({
    decision: z.enum(['approve', 'deny']),
    account: optionalText(320).meta({
      description: 'Whose account the member was shown; refused where another has signed in since.',
    }),
  }),
  answer: z.strictObject({ ok, location: z.url() }),
  errors: ['invalid_request'],
})
