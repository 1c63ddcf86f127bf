/**
 * Signing in for programs: OAuth 2.1 as the Model Context Protocol wants it, spoken by oidc-provider. Authorization codes with PKCE for
 * public clients, tokens for the tool server alone, refresh tokens that turn; who the member is and what they decide is ours.
 */
import { generateKeyPairSync } from 'node:crypto'
import { Provider, errors } from 'oidc-provider'
import type { Client, Configuration, KoaContextWithOIDC } from 'oidc-provider'
import { fetch } from 'undici'
import type { RequestInit } from 'undici'
import { lifetimes } from '../../membership/session.ts'
import { mayAsk, publicAgent } from '../public-network.ts'
import type { ConnectParts } from './parts.ts'
import { adapterFor } from './adapter.ts'
import { connectPaths, toolsResource, toolsScope } from './metadata.ts'
import { isSameRedirect, mayRedirect } from './redirects.ts'

export interface ProviderOptions {
  /** Draws a failure that cannot be told to the program, because nobody knows where it would be sent. */
  readonly show: (ctx: KoaContextWithOIDC, detail: string) => Promise<void>
  /** For tests. */
  readonly fetch?: typeof globalThis.fetch
}

/** A member may have to find their mail first. */
const decideSeconds = 900
const codeSeconds = 60
const accessSeconds = 3_600
const documentMs = 5_000

export function openProvider(parts: ConnectParts, options: ProviderOptions): Provider {
  const { origins, config, names, store } = parts
  const resource = toolsResource(parts)
  const provider = new Provider(origins.site, {
    adapter: (kind) => adapterFor(kind, parts, (why) => new errors.InvalidGrant(why)),
    // Nothing is ever signed with it, because tokens are random words; the library will not start without one.
    jwks: { keys: [generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'jwk' })] },
    routes: {
      authorization: connectPaths.authorize,
      token: connectPaths.token,
      revocation: connectPaths.revoke,
      jwks: connectPaths.keys,
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
      userinfo: { enabled: false },
      rpInitiatedLogout: { enabled: false },
      revocation: { enabled: true },
      clientIdMetadataDocument: {
        enabled: true,
        ack: 'draft-02',
        allowClient: (_, client) =>
          (client.redirectUris ?? []).every((address) => mayRedirect(address, config.connect.appSchemes)),
      },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => resource,
        useGrantedResource: () => true,
        getResourceServerInfo: (_, asked) => {
          if (asked !== resource) throw new errors.InvalidTarget()
          return { scope: toolsScope, audience: resource, accessTokenFormat: 'opaque' }
        },
      },
    },
    issueRefreshToken: async (_, client) => client.grantTypeAllowed('refresh_token'),
    rotateRefreshToken: true,
    expiresWithSession: () => false,
    ttl: {
      AccessToken: accessSeconds,
      AuthorizationCode: codeSeconds,
      RefreshToken: lifetimes.app.idleMs / 1000,
      Interaction: decideSeconds,
      Session: decideSeconds,
      Grant: lifetimes.app.absoluteMs / 1000,
    },
    cookies: {
      names: {
        session: `${names.slug}_connect_session`,
        interaction: `${names.slug}_connect`,
        resume: `${names.slug}_connect_resume`,
      },
      long: { httpOnly: true, sameSite: 'lax', path: connectPaths.authorize },
      short: { httpOnly: true, sameSite: 'lax' },
    },
    interactions: { url: (_, { uid }) => `/connect/${uid}` },
    findAccount: async (_, id) => {
      const account = await store.accounts.find(id)
      return account?.status === 'active' ? { accountId: id, claims: () => ({ sub: id }) } : undefined
    },
    // No cookie counts at these addresses, so any page may ask.
    clientBasedCORS: () => true,
    renderError: (ctx, out) => options.show(ctx, out.error_description ?? out.error),
    fetch: options.fetch ?? documentFetcher(),
  } satisfies Configuration as Configuration)

  // As the library's own guide has it: what an address must be like to count as registered.
  provider.Client.prototype.redirectUriAllowed = function (this: Client, address: string) {
    return (
      mayRedirect(address, config.connect.appSchemes) &&
      (this.redirectUris ?? []).some((registered) => isSameRedirect(address, registered))
    )
  }
  prefixWords(provider.AccessToken.prototype, names.appTokenPrefix)
  prefixWords(provider.RefreshToken.prototype, names.appRefreshPrefix)
  return provider
}

/** People, scanners and our own door shall know what they have before them. */
function prefixWords(model: object, prefix: string): void {
  const { generateTokenId } = model as { generateTokenId(): string }
  Object.assign(model, {
    generateTokenId(this: object) {
      return prefix + generateTokenId.call(this)
    },
  })
}

/** Asks for what a program says of itself, at an address of its own, which a stranger chose. */
function documentFetcher(): typeof globalThis.fetch {
  const dispatcher = publicAgent(documentMs)
  return async (address, init = {}) => {
    const url = new URL(address instanceof Request ? address.url : address)
    if (!mayAsk(url)) throw new Error('an address that may not be asked')
    const { method, headers, signal } = init
    return (await fetch(url, { method, headers, signal, redirect: 'error', dispatcher } as RequestInit)) as unknown as Response
  }
}
