/** Sign-in with a third party: OpenID Connect, authorization code with PKCE. */
import type { Context } from 'koa'
import type * as Oidc from 'openid-client'
import { finishProvider, listProviders, startProvider } from '../../../api/membership/sign-in.ts'
import { describeProviderError, loadOidcClient } from '../../../access/sign-in-providers.ts'
import type { ProviderClients, SignInProviders } from '../../../access/sign-in-providers.ts'
import { GatewayError } from '../../../errors.ts'
import { hashToken } from '../../../domain/identity/api-key.ts'
import { maskEmail } from '../../../domain/identity/audit.ts'
import { providerLoginLifetimeMs } from '../../../domain/identity/provider-identity.ts'
import { TooManyAttempts } from '../../../domain/identity/limits/attempt-limits.ts'
import type { ProviderRefusal } from '../../../domain/services/sign-in/provider-sign-in-service.ts'
import type { ClientInfo } from '../../../domain/identity/client-info.ts'
import type { Services } from '../../../services/services.ts'
import { toSafeReturnPath } from '../../../pages/return-path.ts'
import {
  clearBrowserToken,
  listSessionTokens,
  readBrowserToken,
  rememberOfferedEmail,
  setBrowserToken,
  setProviderSession,
} from '../../request/member-cookies.ts'
import { openSession } from '../../auth/open-session.ts'
import { isOwnOriginPage } from '../../request/origin.ts'
import type { ServeEndpoint } from '../../endpoint-handler.ts'

/** Error codes in the URL of the page that a failed sign-in ends on. */
type ProviderSignInError = ProviderRefusal | 'provider_failed' | 'access_denied' | 'too_many'

/** Parameters of the start request, kept until the sign-in completes. */
interface ReturnTarget {
  readonly next: string
  readonly invite: string | null
}

const defaultNext = '/account'

export function mountProviderRoutes(serve: ServeEndpoint, services: Services, clients: ProviderClients): void {
  const { config, membership, origins, store, clock, log, credentials } = services
  const providers = config.signIn.providers

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

  /** A sign-in replaces the browser's session, so a page of another site may not start one unasked. */
  const isForeignStart = async (ctx: Context): Promise<boolean> => {
    if (isOwnOriginPage(ctx.req.headers, origins.site)) return false
    for (const token of listSessionTokens(ctx, services)) if ((await credentials.resolve(token))?.kind === 'cookie') return true
    return false
  }

  serve(startProvider, async ({ ctx, params, query, clientInfo }) => {
    const { id, provider } = findProvider(params.provider, providers)
    const target = { next: toSafeReturnPath(query.next, defaultNext), invite: query.invite ?? null }
    if (await isForeignStart(ctx)) return redirect(ctx, buildSwitchUrl(id, target))
    // The callback needs the state of a start, so a sign-in counts once.
    if (await isLimited(clientInfo)) return redirect(ctx, buildErrorUrl('too_many', target))
    let client: Oidc.Configuration
    try {
      client = await clients.get(id)
    } catch (error) {
      const reason = describeProviderError(error)
      log.warn({ requestId: clientInfo.requestId, provider: id, reason }, 'a sign-in provider cannot be reached')
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
    const { id, provider } = findProvider(params.provider, providers)
    const token = readBrowserToken(ctx, services, 'provider')
    // The response may belong to an older tab: only the newest sign-in of this browser continues.
    if (token === null || ctx.query['state'] !== token) return redirect(ctx, buildErrorUrl('provider_failed'))
    clearBrowserToken(ctx, services, 'provider')
    const login = await store.providerLogins.consume(hashToken(token), clock.now())
    if (login === undefined || login.provider !== id) return redirect(ctx, buildErrorUrl('provider_failed'))
    if (ctx.query['error'] === 'access_denied') return redirect(ctx, buildErrorUrl('access_denied', login))
    const { requestId } = clientInfo
    // Built from the configured origin, never from the Host header.
    const url = new URL(`${getCallbackUrl(id, services)}${ctx.search}`)
    const claims = await clients.exchangeCode(id, url, { ...login, state: token }).catch((error: unknown) => {
      log.warn({ requestId, provider: id, reason: describeProviderError(error) }, 'a sign-in by provider failed')
      return null
    })
    if (claims === null) return redirect(ctx, buildErrorUrl('provider_failed', login))
    const result = await membership.providerSignIn.signIn({ provider: id, ...claims }, clientInfo, login.invite)
    if (result.kind === 'refused') {
      const { reason, account } = result
      // Masked, because the log keeps no personal data; printable, because the provider's users chose it.
      const email = maskEmail(claims.email)
        ?.replaceAll(/[^ -~]/g, '?')
        .slice(0, 80)
      log.warn({ requestId, provider: id, reason, account, email }, 'a sign-in by provider was refused')
      return redirect(ctx, buildErrorUrl(reason, login))
    }
    await openSession(ctx, services, result.account.id, result.token)
    if (provider.endSession) setProviderSession(ctx, services, { provider: id, idToken: claims.idToken })
    const { account, changedEmail } = result
    // The member decides whether an address that changed at the provider becomes the account's.
    if (changedEmail !== null && !rememberOfferedEmail(ctx, services, account.id, changedEmail))
      return redirect(ctx, `/account/security?${new URLSearchParams({ offer: changedEmail })}`)
    return redirect(ctx, login.next)
  })
}

function findProvider(
  id: string,
  providers: SignInProviders,
): { readonly id: string; readonly provider: SignInProviders[string] } {
  const provider = Object.hasOwn(providers, id) ? providers[id] : undefined
  if (provider === undefined) throw new GatewayError('not_found')
  return { id, provider }
}

function getCallbackUrl(id: string, { origins }: Pick<Services, 'origins'>): string {
  return `${origins.site}/api/membership/auth/oauth/${id}/callback`
}

/** Keeps the return path and the invitation, so that another way of signing in continues with them. */
function buildErrorUrl(error: ProviderSignInError, { next, invite }: ReturnTarget = { next: defaultNext, invite: null }): string {
  const query = new URLSearchParams({ error })
  if (next !== defaultNext) query.set('next', next)
  if (invite !== null) query.set('invite', invite)
  return `/sign-in?${query}`
}

/** The page that asks a signed-in member whether to sign in anew. */
function buildSwitchUrl(provider: string, { next, invite }: ReturnTarget): string {
  return `/sign-in/switch?${new URLSearchParams({ provider, next, ...(invite === null ? {} : { invite }) })}`
}

function redirect(ctx: Context, to: string): void {
  ctx.status = 302
  ctx.set('location', to)
  ctx.body = ''
}
