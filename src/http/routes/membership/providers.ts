/** Sign-in with a third party: OpenID Connect, authorization code with PKCE, by openid-client. */
import type { Context } from 'koa'
import type * as Oidc from 'openid-client'
import { finishProvider, listProviders, startProvider } from '../../../api/membership/sign-in.ts'
import type { GatewayConfig } from '../../../config/config.ts'
import { GatewayError } from '../../../errors.ts'
import { hashToken } from '../../../membership/api-key.ts'
import { providerLoginLifeMs } from '../../../membership/identity.ts'
import { Busy } from '../../../membership/refusal.ts'
import type { ProviderClaims } from '../../../membership/sign-in-desk.ts'
import type { Visitor } from '../../../membership/visitor.ts'
import type { Services } from '../../../gateway/services.ts'
import { returnPath } from '../../../pages/return-path.ts'
import { isLoopbackName } from '../../origin.ts'
import { browserToken, giveBrowserToken, takeBrowserToken } from '../../member-cookies.ts'
import type { Serve } from '../../serve.ts'
import { admit } from './sign-in.ts'

type ProviderConfig = GatewayConfig['signIn']['providers'][string]

/** Why a sign-in failed, for the page it ends on. */
type Trouble =
  | 'provider_failed'
  | 'email_unverified'
  | 'link_refused'
  | 'access_denied'
  | 'account_unavailable'
  | 'sign_up_closed'
  | 'too_many'

/** What came with the start of a sign-in. */
interface WayOn {
  readonly next: string
  readonly invite: string | null
}

const afterwards = '/account'
const timeoutSeconds = 10
/** openid-client's word for a provider whose own name is not the one it was asked by. */
const calledOtherwise = 'OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED'

export function providerRoutes(serve: Serve, services: Services): void {
  const { config, membership, origins, store, clock, log } = services
  const known = config.signIn.providers
  const discovered = new Discovery(known)

  serve(listProviders, async () => ({
    object: 'list',
    data: Object.entries(known).map(([id, { name }]) => ({
      id,
      name,
      start_url: `${origins.site}/api/membership/auth/oauth/${id}/start`,
    })),
  }))

  const isBusy = async ({ network }: Visitor): Promise<boolean> => {
    try {
      await membership.allowances.take('provider-by-network', network, clock.now())
      return false
    } catch (error) {
      if (error instanceof Busy) return true
      throw error
    }
  }

  serve(startProvider, async ({ ctx, params, query, visitor }) => {
    const { id, provider } = providerOf(params.provider, known)
    const wanted = { next: returnPath(query.next, afterwards), invite: query.invite ?? null }
    if (await isBusy(visitor)) return redirect(ctx, failed('too_many', wanted))
    let client: Oidc.Configuration
    try {
      client = await discovered.of(id)
    } catch (error) {
      log.warn({ provider: id, err: error }, 'a sign-in provider cannot be reached')
      return redirect(ctx, failed('provider_failed', wanted))
    }
    // The token is the protocol's state and the browser's cookie at once: an answer is good only where it was asked for.
    const token = giveBrowserToken(ctx, services, 'provider')
    const oidc = await library()
    const nonce = oidc.randomNonce()
    const verifier = oidc.randomPKCECodeVerifier()
    await store.providerLogins.put({
      state: hashToken(token),
      provider: id,
      nonce,
      verifier,
      ...wanted,
      expiresAt: clock.now() + providerLoginLifeMs,
    })
    const url = oidc.buildAuthorizationUrl(client, {
      redirect_uri: callbackOf(id, services),
      scope: provider.scopes.join(' '),
      state: token,
      nonce,
      code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    })
    return redirect(ctx, url.href)
  })

  serve(finishProvider, async ({ ctx, params, visitor }) => {
    const { id } = providerOf(params.provider, known)
    if (await isBusy(visitor)) return redirect(ctx, failed('too_many'))
    const token = browserToken(ctx, services, 'provider')
    // Perhaps an older tab's: the sign-in that was started last goes on.
    if (token === null || ctx.query['state'] !== token) return redirect(ctx, failed('provider_failed'))
    takeBrowserToken(ctx, services, 'provider')
    const login = await store.providerLogins.take(hashToken(token), clock.now())
    if (login === undefined || login.provider !== id) return redirect(ctx, failed('provider_failed'))
    if (ctx.query['error'] === 'access_denied') return redirect(ctx, failed('access_denied', login))
    let claims: ProviderClaims
    try {
      // From the configured origin, never from the Host header.
      const url = new URL(`${callbackOf(id, services)}${ctx.search}`)
      claims = await claimsOf(id, await discovered.of(id), url, { ...login, state: token })
    } catch (error) {
      log.warn({ requestId: visitor.requestId, provider: id, err: error }, 'a sign-in by provider failed')
      return redirect(ctx, failed('provider_failed', login))
    }
    const entered = await membership.signIn.enterByProvider(claims, visitor, login.invite)
    if (entered.kind === 'no-sign-up') return redirect(ctx, failed('sign_up_closed', login))
    if (entered.kind !== 'signed-in') return redirect(ctx, failed(entered.kind, login))
    await admit(ctx, services, entered)
    return redirect(ctx, login.next)
  })
}

/** Imported when somebody signs in so: most installations have no provider, and a start need not wait for it. */
function library(): Promise<typeof Oidc> {
  return import('openid-client')
}

/** What each provider says of itself, asked for once; a failure is not remembered. */
class Discovery {
  readonly #known: Readonly<Record<string, ProviderConfig>>
  readonly #found = new Map<string, Promise<Oidc.Configuration>>()

  constructor(known: Readonly<Record<string, ProviderConfig>>) {
    this.#known = known
  }

  of(id: string): Promise<Oidc.Configuration> {
    const found = this.#found.get(id) ?? this.#ask(id)
    this.#found.set(id, found)
    found.catch(() => this.#found.delete(id))
    return found
  }

  async #ask(id: string): Promise<Oidc.Configuration> {
    const provider = this.#known[id]
    if (provider === undefined) throw new GatewayError('not_found')
    const oidc = await library()
    const issuer = new URL(provider.issuer)
    // Plain http is for a provider on this machine alone; the configuration's check says so too.
    const plain = issuer.protocol === 'http:' && isLoopbackName(issuer.hostname)
    const ask = (server: URL): Promise<Oidc.Configuration> =>
      oidc.discovery(
        server,
        provider.clientId,
        undefined,
        provider.clientSecret === null ? oidc.None() : oidc.ClientSecretBasic(provider.clientSecret),
        { timeout: timeoutSeconds, ...(plain ? { execute: [oidc.allowInsecureRequests] } : {}) },
      )
    try {
      return await ask(issuer)
    } catch (error) {
      // The configuration's addresses have no slash at their end; what some providers call themselves has one.
      if ((error as { code?: unknown }).code !== calledOtherwise) throw error
      return ask(new URL(`${provider.issuer}/`))
    }
  }
}

async function claimsOf(
  provider: string,
  client: Oidc.Configuration,
  url: URL,
  login: { readonly verifier: string; readonly nonce: string; readonly state: string },
): Promise<ProviderClaims> {
  const oidc = await library()
  const tokens = await oidc.authorizationCodeGrant(client, url, {
    pkceCodeVerifier: login.verifier,
    expectedNonce: login.nonce,
    expectedState: login.state,
    idTokenExpected: true,
  })
  const claims = tokens.claims()
  if (claims === undefined) throw new Error('the provider sent no id token')
  // Some providers tell the address only when asked for it.
  const told = typeof claims['email'] === 'string' ? claims : await oidc.fetchUserInfo(client, tokens.access_token, claims.sub)
  return {
    provider,
    subject: claims.sub,
    email: typeof told['email'] === 'string' ? told['email'] : null,
    emailVerified: told['email_verified'] === true,
  }
}

function providerOf(
  id: string,
  known: Readonly<Record<string, ProviderConfig>>,
): { readonly id: string; readonly provider: ProviderConfig } {
  const provider = Object.hasOwn(known, id) ? known[id] : undefined
  if (provider === undefined) throw new GatewayError('not_found')
  return { id, provider }
}

function callbackOf(id: string, { origins }: Services): string {
  return `${origins.site}/api/membership/auth/oauth/${id}/callback`
}

/** Whoever takes another way in is led on to where they wanted to go, by the same invitation. */
function failed(trouble: Trouble, { next, invite }: WayOn = { next: afterwards, invite: null }): string {
  const query = new URLSearchParams({ error: trouble })
  if (next !== afterwards) query.set('next', next)
  if (invite !== null) query.set('invite', invite)
  return `/sign-in?${query}`
}

function redirect(ctx: Context, to: string): void {
  ctx.status = 302
  ctx.set('location', to)
  ctx.body = ''
}
