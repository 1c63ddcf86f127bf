/** Sign-in with a third party: OpenID Connect, authorization code with PKCE, by openid-client. */
import type { Context } from 'koa'
import type * as Oidc from 'openid-client'
import { finishProvider, listProviders, startProvider } from '../../../api/membership/sign-in.ts'
import { createCheckedFetch } from '../../../access/checked-fetch.ts'
import type { GatewayConfig } from '../../../config/config.ts'
import { GatewayError } from '../../../errors.ts'
import { hashToken } from '../../../domain/identity/api-key.ts'
import { providerLoginLifetimeMs } from '../../../domain/identity/provider-identity.ts'
import { TooManyAttempts } from '../../../domain/identity/limits/attempt-limits.ts'
import type { ProviderClaims } from '../../../domain/services/sign-in-service.ts'
import type { ClientInfo } from '../../../domain/identity/client-info.ts'
import type { Services } from '../../../services/services.ts'
import { toSafeReturnPath } from '../../../pages/return-path.ts'
import { isLoopbackHost } from '../../request/origin.ts'
import { readBrowserToken, setBrowserToken, clearBrowserToken } from '../../request/member-cookies.ts'
import type { ServeEndpoint } from '../../endpoint-handler.ts'
import { completeSignIn } from './sign-in.ts'

type ProviderConfig = GatewayConfig['signIn']['providers'][string]

/** Error codes in the URL of the page that a failed sign-in ends on. */
type ProviderSignInError =
  | 'provider_failed'
  | 'email_unverified'
  | 'link_refused'
  | 'access_denied'
  | 'account_unavailable'
  | 'sign_up_closed'
  | 'too_many'

/** Parameters of the start request, kept until the sign-in completes. */
interface ReturnTarget {
  readonly next: string
  readonly invite: string | null
}

const defaultNext = '/account'
const timeoutSeconds = 10
/** openid-client's error code for a provider whose metadata names another issuer. */
const issuerMismatchCode = 'OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED'

export function mountProviderRoutes(serve: ServeEndpoint, services: Services): void {
  const { config, membership, origins, store, clock, log } = services
  const providers = config.signIn.providers
  const discovery = new Discovery(providers)

  serve(listProviders, async () => ({
    object: 'list',
    data: Object.entries(providers).map(([id, { name }]) => ({
      id,
      name,
      start_url: `${origins.site}/api/membership/auth/oauth/${id}/start`,
    })),
  }))

  const isLimited = async ({ network }: ClientInfo): Promise<boolean> => {
    try {
      await membership.attemptLimits.consumeForNetwork('provider-by-network', network, clock.now())
      return false
    } catch (error) {
      if (error instanceof TooManyAttempts) return true
      throw error
    }
  }

  serve(startProvider, async ({ ctx, params, query, clientInfo }) => {
    const { id, provider } = findProvider(params.provider, providers)
    const target = { next: toSafeReturnPath(query.next, defaultNext), invite: query.invite ?? null }
    if (await isLimited(clientInfo)) return redirect(ctx, buildErrorUrl('too_many', target))
    let client: Oidc.Configuration
    try {
      client = await discovery.get(id)
    } catch (error) {
      log.warn({ provider: id, err: error }, 'a sign-in provider cannot be reached')
      return redirect(ctx, buildErrorUrl('provider_failed', target))
    }
    // The token is both the OAuth state and the browser's cookie, so a response is valid only in the browser that started.
    const token = setBrowserToken(ctx, services, 'provider')
    const oidc = await loadOidcClient()
    const nonce = oidc.randomNonce()
    const verifier = oidc.randomPKCECodeVerifier()
    await store.providerLogins.create({
      state: hashToken(token),
      provider: id,
      nonce,
      verifier,
      ...target,
      expiresAt: clock.now() + providerLoginLifetimeMs,
    })
    const url = oidc.buildAuthorizationUrl(client, {
      redirect_uri: getCallbackUrl(id, services),
      scope: provider.scopes.join(' '),
      state: token,
      nonce,
      code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    })
    return redirect(ctx, url.href)
  })

  serve(finishProvider, async ({ ctx, params, clientInfo }) => {
    const { id } = findProvider(params.provider, providers)
    if (await isLimited(clientInfo)) return redirect(ctx, buildErrorUrl('too_many'))
    const token = readBrowserToken(ctx, services, 'provider')
    // The response may belong to an older tab: only the newest sign-in of this browser continues.
    if (token === null || ctx.query['state'] !== token) return redirect(ctx, buildErrorUrl('provider_failed'))
    clearBrowserToken(ctx, services, 'provider')
    const login = await store.providerLogins.consume(hashToken(token), clock.now())
    if (login === undefined || login.provider !== id) return redirect(ctx, buildErrorUrl('provider_failed'))
    if (ctx.query['error'] === 'access_denied') return redirect(ctx, buildErrorUrl('access_denied', login))
    let claims: ProviderClaims
    try {
      // Built from the configured origin, never from the Host header.
      const url = new URL(`${getCallbackUrl(id, services)}${ctx.search}`)
      claims = await fetchClaims(id, await discovery.get(id), url, { ...login, state: token })
    } catch (error) {
      log.warn({ requestId: clientInfo.requestId, provider: id, err: error }, 'a sign-in by provider failed')
      return redirect(ctx, buildErrorUrl('provider_failed', login))
    }
    const result = await membership.signIn.signInWithProvider(claims, clientInfo, login.invite)
    if (result.kind === 'no-sign-up') return redirect(ctx, buildErrorUrl('sign_up_closed', login))
    if (result.kind !== 'signed-in') return redirect(ctx, buildErrorUrl(result.kind, login))
    await completeSignIn(ctx, services, result)
    return redirect(ctx, login.next)
  })
}

/** Imported at the first sign-in: most installations have no provider, and the start should not wait for it. */
function loadOidcClient(): Promise<typeof Oidc> {
  return import('openid-client')
}

/** Metadata of each provider, fetched once; a failure is not cached. */
class Discovery {
  readonly #providers: Readonly<Record<string, ProviderConfig>>
  readonly #configurations = new Map<string, Promise<Oidc.Configuration>>()

  constructor(providers: Readonly<Record<string, ProviderConfig>>) {
    this.#providers = providers
  }

  get(id: string): Promise<Oidc.Configuration> {
    const configuration = this.#configurations.get(id) ?? this.#discover(id)
    this.#configurations.set(id, configuration)
    configuration.catch(() => this.#configurations.delete(id))
    return configuration
  }

  async #discover(id: string): Promise<Oidc.Configuration> {
    const provider = this.#providers[id]
    if (provider === undefined) throw new GatewayError('not_found')
    const oidc = await loadOidcClient()
    const issuer = new URL(provider.issuer)
    // Plain http is allowed for a provider on this machine only; the configuration check enforces the same.
    const plain = issuer.protocol === 'http:' && isLoopbackHost(issuer.hostname)
    const discover = (server: URL): Promise<Oidc.Configuration> =>
      oidc.discovery(
        server,
        provider.clientId,
        undefined,
        provider.clientSecret === null ? oidc.None() : oidc.ClientSecretBasic(provider.clientSecret),
        {
          timeout: timeoutSeconds,
          // The library passes only the address and options of its own.
          [oidc.customFetch]: createCheckedFetch(fetch) as Oidc.CustomFetch,
          ...(plain ? { execute: [oidc.allowInsecureRequests] } : {}),
        },
      )
    try {
      return await discover(issuer)
    } catch (error) {
      // Configured issuers have no trailing slash; the names of some providers have one.
      if ((error as { code?: unknown }).code !== issuerMismatchCode) throw error
      return discover(new URL(`${provider.issuer}/`))
    }
  }
}

async function fetchClaims(
  provider: string,
  client: Oidc.Configuration,
  url: URL,
  login: { readonly verifier: string; readonly nonce: string; readonly state: string },
): Promise<ProviderClaims> {
  const oidc = await loadOidcClient()
  const tokens = await oidc.authorizationCodeGrant(client, url, {
    pkceCodeVerifier: login.verifier,
    expectedNonce: login.nonce,
    expectedState: login.state,
    idTokenExpected: true,
  })
  const claims = tokens.claims()
  if (claims === undefined) throw new Error('the provider sent no id token')
  // Some providers return the email address only from the userinfo endpoint.
  const profile = typeof claims['email'] === 'string' ? claims : await oidc.fetchUserInfo(client, tokens.access_token, claims.sub)
  return {
    provider,
    subject: claims.sub,
    email: typeof profile['email'] === 'string' ? profile['email'] : null,
    emailVerified: profile['email_verified'] === true,
  }
}

function findProvider(
  id: string,
  providers: Readonly<Record<string, ProviderConfig>>,
): { readonly id: string; readonly provider: ProviderConfig } {
  const provider = Object.hasOwn(providers, id) ? providers[id] : undefined
  if (provider === undefined) throw new GatewayError('not_found')
  return { id, provider }
}

function getCallbackUrl(id: string, { origins }: Services): string {
  return `${origins.site}/api/membership/auth/oauth/${id}/callback`
}

/** Keeps the return path and the invitation, so that another way of signing in continues with them. */
function buildErrorUrl(error: ProviderSignInError, { next, invite }: ReturnTarget = { next: defaultNext, invite: null }): string {
  const query = new URLSearchParams({ error })
  if (next !== defaultNext) query.set('next', next)
  if (invite !== null) query.set('invite', invite)
  return `/sign-in?${query}`
}

function redirect(ctx: Context, to: string): void {
  ctx.status = 302
  ctx.set('location', to)
  ctx.body = ''
}
