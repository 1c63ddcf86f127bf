/**
 * The OAuth 2.1 server for programs, as the Model Context Protocol requires it, built on oidc-provider. Authorization codes with PKCE for
 * public clients, access tokens for the tool server alone, rotating refresh tokens. Identity and consent are ours.
 */
import { generateKeyPairSync } from 'node:crypto'
import { Provider, errors } from 'oidc-provider'
import type { Client, Configuration, KoaContextWithOIDC } from 'oidc-provider'
import { sessionLifetimes } from '../../domain/identity/session.ts'
import { createCheckedFetch } from '../checked-fetch.ts'
import type { OAuthDeps } from './oauth-deps.ts'
import { createAdapter } from './adapter.ts'
import { createDocumentFetcher } from './document-fetcher.ts'
import { oauthPaths, getToolsResource, toolsScope } from './metadata.ts'
import { isSameRedirect, isAllowedRedirect } from './redirects.ts'

interface ProviderOptions {
  /** Renders an error that cannot be redirected to the client. */
  readonly renderError: (ctx: KoaContextWithOIDC, detail: string) => Promise<void>
  /** For tests. */
  readonly fetch?: typeof globalThis.fetch
}

/** A member may have to open their mail first. */
const consentTimeoutSeconds = 900
const codeLifetimeSeconds = 60
const accessTokenLifetimeSeconds = 3_600

export function createProvider(deps: OAuthDeps, options: ProviderOptions): Provider {
  const { origins, config, names, store } = deps
  const resource = getToolsResource(deps)
  const provider = new Provider(origins.site, {
    adapter: (kind) => createAdapter(kind, deps, (why) => new errors.InvalidGrant(why)),
    // Never signs anything, because tokens are opaque; the library does not start without a key.
    jwks: { keys: [generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'jwk' })] },
    routes: {
      authorization: oauthPaths.authorize,
      token: oauthPaths.token,
      revocation: oauthPaths.revoke,
      jwks: oauthPaths.keys,
    },
    responseTypes: ['code'],
    clientAuthMethods: ['none'],
    clientDefaults: {
      token_endpoint_auth_method: 'none',
      grant_types: ['authorization_code', 'refresh_token'],
      id_token_signed_response_alg: 'ES256',
    },
    pkce: { required: () => true },
    scopes: [],
    claims: {},
    features: {
      devInteractions: { enabled: false },
      // Not announced; its proofs are tokens of any depth, which the library decodes.
      dPoP: { enabled: false },
      userinfo: { enabled: false },
      rpInitiatedLogout: { enabled: false },
      revocation: { enabled: true },
      clientIdMetadataDocument: {
        enabled: config.oauth.clientIdDocuments !== 'off',
        ack: 'draft-02',
        allowClient: (_, client) =>
          (client.redirectUris ?? []).every((address) => isAllowedRedirect(address, config.oauth.redirectSchemes)),
      },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => resource,
        useGrantedResource: () => true,
        getResourceServerInfo: (_, requested) => {
          if (requested !== resource) throw new errors.InvalidTarget()
          return { scope: toolsScope, audience: resource, accessTokenFormat: 'opaque' }
        },
      },
    },
    issueRefreshToken: async (_, client) => client.grantTypeAllowed('refresh_token'),
    rotateRefreshToken: true,
    expiresWithSession: () => false,
    ttl: {
      AccessToken: accessTokenLifetimeSeconds,
      AuthorizationCode: codeLifetimeSeconds,
      RefreshToken: sessionLifetimes.app.idleMs / 1000,
      Interaction: consentTimeoutSeconds,
      Session: consentTimeoutSeconds,
      Grant: sessionLifetimes.app.absoluteMs / 1000,
    },
    cookies: {
      names: {
        session: `${names.slug}_connect_session`,
        interaction: `${names.slug}_connect`,
        resume: `${names.slug}_connect_resume`,
      },
      long: { httpOnly: true, sameSite: 'lax', path: oauthPaths.authorize },
      short: { httpOnly: true, sameSite: 'lax' },
    },
    interactions: { url: (_, { uid }) => `/connect/${uid}` },
    findAccount: async (_, id) => {
      const account = await store.accounts.find(id)
      return account?.status === 'active' ? { accountId: id, claims: () => ({ sub: id }) } : undefined
    },
    // No cookie is read at these addresses, so any page may send requests.
    clientBasedCORS: () => true,
    renderError: (ctx, out) => options.renderError(ctx, out.error_description ?? out.error),
    fetch: createCheckedFetch(options.fetch ?? createDocumentFetcher()),
  } satisfies Configuration as Configuration)

  // The extension point that the library's guide names for comparing redirect addresses.
  provider.Client.prototype.redirectUriAllowed = function (this: Client, address: string) {
    return (
      isAllowedRedirect(address, config.oauth.redirectSchemes) &&
      (this.redirectUris ?? []).some((registered) => isSameRedirect(address, registered))
    )
  }
  prefixTokens(provider.AccessToken.prototype, names.appTokenPrefix)
  prefixTokens(provider.RefreshToken.prototype, names.appRefreshPrefix)
  return provider
}

/** Prefixes identify tokens to people, secret scanners and our own credential look-up. */
function prefixTokens(model: object, prefix: string): void {
  const { generateTokenId } = model as { generateTokenId(): string }
  Object.assign(model, {
    generateTokenId(this: object) {
      return prefix + generateTokenId.call(this)
    },
  })
}
