/**
 * OAuth for programs that use the MCP server for a member: metadata, client registration, and the member's consent. The authorization
 * endpoints are oidc-provider's, loaded at the first request.
 */
import type { Router } from '../../system/vendor/koa-router.ts'
import type { Context } from 'koa'
import type { Provider } from 'oidc-provider'
import { ClientDocuments } from '../../access/oauth/client-documents.ts'
import type { ClientDocumentMode } from '../../access/oauth/client-documents.ts'
import { loadProviderModule } from '../../access/oauth/load-provider.ts'
import { buildIssuerMetadata, buildResourceMetadata } from '../../access/oauth/metadata.ts'
import { isLoopback, getRedirectHost } from '../../access/oauth/redirects.ts'
import { RegistrationError, toClientMetadata, toRegistrationResponse } from '../../access/oauth/registration.ts'
import {
  authorize,
  decideConsentRequest,
  describeIssuer,
  describeResource,
  exchangeToken,
  listSigningKeys,
  registerOAuthClient,
  resumeAuthorize,
  revokeToken,
  showConsentRequest,
} from '../../api/oauth.ts'
import { getPaths } from '../../api/endpoint.ts'
import type { Endpoint } from '../../api/endpoint.ts'
import { toDisplayName } from '../../domain/identity/display-name.ts'
import { GatewayError } from '../../errors.ts'
import type { Account } from '../../domain/identity/account.ts'
import type { ClientInfo } from '../../domain/identity/client-info.ts'
import type { RequestingClient } from '../../domain/services/oauth-client-service.ts'
import type { Assets } from '../../pages/assets.ts'
import type { Services } from '../../services/services.ts'
import { readJson, reserveForeignBody } from '../request/read-body.ts'
import { toGatewayError } from '../response/attempt-limit-error.ts'
import type { RouteDeps } from '../route-deps.ts'
import { mount, getPathParams, createServeEndpoint, toBodyReadOptions } from '../endpoint-handler.ts'
import { getClientInfo, requireSessionCookie } from '../auth/session-auth.ts'
import { sendFailurePage } from './pages.ts'
import type { OpenConsent } from './pages.ts'

/** The authorization parameters passed to the library. There is one scope and no identity token, so others are dropped. */
const forwardedParams = [
  'client_id',
  'response_type',
  'redirect_uri',
  'state',
  'code_challenge',
  'code_challenge_method',
  'resource',
  'prompt',
]

/** Returns what the consent page needs. */
export function mountOAuthRoutes(router: Router, { services }: RouteDeps, assets: Assets): OpenConsent {
  const { config, membership, log, clock } = services
  const { clientIdDocuments: mode, internetProbeUrl: probeUrl } = config.oauth
  const documents = new ClientDocuments({ mode, probeUrl, clock })
  let loadingProvider: Promise<Provider> | undefined
  const provider = (): Promise<Provider> => {
    loadingProvider ??= open().catch((error: unknown) => {
      // The load fails when the process has no file descriptor left; the next request tries again.
      loadingProvider = undefined
      throw error
    })
    return loadingProvider
  }
  const open = async (): Promise<Provider> => {
    const { createProvider } = await loadProviderModule(log)
    const provider = createProvider(services, {
      renderError: (ctx, detail) =>
        sendFailurePage(
          ctx as unknown as Context,
          createDocumentError(ctx.query['client_id'], detail, mode) ?? createRestartSignInError(detail),
          services,
          assets,
        ),
    })
    provider.on('server_error', (_, error) => log.error({ err: error }, 'the OAuth provider failed'))
    return provider
  }

  for (const [endpoint, document] of [
    [describeResource, buildResourceMetadata],
    [describeIssuer, async () => buildIssuerMetadata(services, await documents.isAnnounced())],
    [listSigningKeys, () => ({ keys: [] })],
  ] as const) {
    mountPublic(router, endpoint, async (ctx) => {
      ctx.set('cache-control', 'public, max-age=300')
      ctx.body = await document(services)
    })
  }

  mountPublic(router, registerOAuthClient, async (ctx) => {
    ctx.set('cache-control', 'no-store')
    const sentBody = await readJson(ctx.req, toBodyReadOptions(ctx, services))
    try {
      const metadata = await membership.oauthClients.register(
        (id, now) => toClientMetadata(sentBody, config.oauth.redirectSchemes, { id, now }),
        getClientInfo(ctx, services),
      )
      ctx.status = metadata === undefined ? 503 : 201
      ctx.body =
        metadata === undefined
          ? { error: 'temporarily_unavailable', error_description: 'no more clients can be registered now; try again later.' }
          : toRegistrationResponse(metadata)
    } catch (error) {
      if (!(error instanceof RegistrationError)) throw error
      ctx.status = 400
      ctx.body = { error: error.code, error_description: error.message }
    }
  })

  mount(router, authorize, async (ctx) => {
    try {
      await membership.attemptLimits.consumeForNetwork('app-start', getClientInfo(ctx, services).network, clock.now())
      await provider()
    } catch (error) {
      return sendFailurePage(ctx, toGatewayError(error), services, assets)
    }
    ctx.query = Object.fromEntries([
      ...Object.entries(ctx.query).filter(([name]) => forwardedParams.includes(name)),
      ['scope', 'tools'],
    ])
    await forwardToProvider(ctx, await provider(), services)
    await keepOnSite(ctx)
  })
  mount(router, resumeAuthorize, async (ctx) => {
    await forwardToProvider(ctx, await provider(), services)
    await keepOnSite(ctx)
  })

  /**
   * Strangers register clients with any address, so an error before the member's decision must not redirect there (RFC 9700, 4.11.2): it is shown
   * on our own page, unless the member has approved this client before.
   */
  const keepOnSite = async (ctx: Context): Promise<void> => {
    const location = URL.parse(ctx.response.get('location'), services.origins.site)
    if (location === null || location.origin === new URL(services.origins.site).origin) return
    const params = new URLSearchParams(location.search || location.hash.slice(1))
    const error = params.get('error')
    // A code, or `access_denied`, follows from the member's decision alone.
    if (error === null ? params.has('code') : error === 'access_denied') return
    const member = await requireSessionCookie(ctx, services).catch(() => undefined)
    const clientId = ctx.query['client_id']
    if (member !== undefined && typeof clientId === 'string') {
      if (await services.store.oauthClients.hasConsent(member.account.id, clientId, clock.now())) return
    }
    ctx.remove('location')
    await sendFailurePage(
      ctx,
      createRestartSignInError(params.get('error_description') ?? error ?? 'invalid request'),
      services,
      assets,
    )
  }

  for (const endpoint of [exchangeToken, revokeToken]) {
    mountPublic(router, endpoint, async (ctx) => {
      await membership.attemptLimits.consumeForNetwork('app-token', getClientInfo(ctx, services).network, clock.now())
      reserveForeignBody(ctx.req, { ...toBodyReadOptions(ctx, services), maxBytes: maxTokenBodyBytes })
      await forwardToProvider(ctx, await provider(), services)
    })
  }

  const serve = createServeEndpoint(router, services)

  serve(showConsentRequest, async ({ ctx, member: { account } }) => {
    const { app, redirect, expiresAt } = await findConsentRequest(ctx, await provider())
    return {
      app: { name: app.name, address: app.id.startsWith('https:') ? getRedirectHost(app.id) : null },
      redirect: { place: getRedirectHost(redirect), local: isLoopback(redirect) },
      account: formatAccount(account),
      expires_in: Math.max(0, Math.floor((expiresAt - clock.now()) / 1000)),
    }
  })

  serve(decideConsentRequest, async ({ ctx, member: { account }, body: { decision, account: shown }, clientInfo }) => {
    // Another account may have signed in in another tab: approve only for the account that this page has shown.
    if (shown !== null && shown !== formatAccount(account)) throw createAccountChangedError()
    return { ok: true, location: await decide(ctx, account, { isApproved: decision === 'approve', clientInfo }) }
  })

  const decide = async (
    ctx: Context,
    account: Account,
    { isApproved, clientInfo }: { readonly isApproved: boolean; readonly clientInfo: ClientInfo },
  ): Promise<string> => {
    const { app } = await findConsentRequest(ctx, await provider())
    const session = isApproved ? await membership.oauthClients.grantConsent(app, account, clientInfo) : undefined
    if (!isApproved) await membership.oauthClients.denyConsent(app, account, clientInfo)
    else if (session === undefined) throw new GatewayError('sign_in_required')
    const result =
      session === undefined
        ? { error: 'access_denied', error_description: 'the member denied access' }
        : { login: { accountId: account.id, remember: false }, consent: { grantId: session } }
    return (await provider()).interactionResult(ctx.req, ctx.res, result)
  }

  return (ctx, { account }) => ({
    async find() {
      const { app, redirect, expiresAt } = await findConsentRequest(ctx, await provider())
      return {
        name: app.name,
        home: app.id.startsWith('https:') ? getRedirectHost(app.id) : null,
        redirect: { place: getRedirectHost(redirect), isLocal: isLoopback(redirect) },
        expiresAt,
      }
    },
    decide: (decision) => decide(ctx, account, { isApproved: decision === 'approved', clientInfo: getClientInfo(ctx, services) }),
  })
}

interface ConsentRequest {
  readonly app: RequestingClient
  readonly redirect: string
  readonly expiresAt: number
}

/** Finds the request that this browser was sent with. The interaction's cookie proves it, so another person's link cannot be decided here. */
async function findConsentRequest(ctx: Context, provider: Provider): Promise<ConsentRequest> {
  const { uid } = getPathParams(ctx)
  const details = await provider.interactionDetails(ctx.req, ctx.res).catch(() => undefined)
  if (details === undefined || details.uid !== uid || details.result !== undefined)
    throw createRestartSignInError('the request has ended')
  const client = await provider.Client.find(String(details.params['client_id']))
  if (client === undefined) throw createRestartSignInError('the program is unknown')
  const redirect = String(details.params['redirect_uri'])
  const app = { id: client.clientId, name: toDisplayName(client.clientName) ?? getRedirectHost(redirect) }
  return { app, redirect, expiresAt: details.exp * 1000 }
}

/** Headers with tokens that the library decodes before it knows whether the feature is enabled. */
const undecodedHeaders = ['dpop', 'oauth-client-attestation', 'oauth-client-attestation-pop']
/** The library's own bound. */
const maxTokenBodyBytes = 56 * 1024

/** The library takes the origin from the request; it is set from the configuration, because request headers can be forged. */
async function forwardToProvider(ctx: Context, provider: Provider, { origins }: Pick<Services, 'origins'>): Promise<void> {
  const { protocol, host } = new URL(origins.site)
  Object.defineProperties(ctx.request, {
    protocol: { value: protocol.slice(0, -1) },
    host: { value: host },
    href: { value: origins.site + ctx.path + ctx.search },
  })
  for (const name of undecodedHeaders) delete ctx.req.headers[name]
  const [handle] = provider.middleware
  if (handle === undefined) throw new Error('oidc-provider has no routes.')
  await handle(ctx as unknown as Parameters<typeof handle>[0], async () => undefined)
}

/** Mounts an endpoint open to all origins: cookies do not count here, and the response depends on the parameters alone. */
function mountPublic(router: Router, endpoint: Endpoint, handler: (ctx: Context) => Promise<void>): void {
  for (const address of getPaths(endpoint))
    router.options(address, (ctx) => {
      ctx.set({
        'access-control-allow-origin': '*',
        'access-control-allow-methods': `${endpoint.method.toUpperCase()}, OPTIONS`,
        'access-control-allow-headers': ctx.get('access-control-request-headers') || 'content-type',
        'access-control-max-age': '600',
      })
      ctx.status = 204
    })
  mount(router, endpoint, async (ctx) => {
    ctx.set('access-control-allow-origin', '*')
    await handler(ctx).catch((thrown: unknown) => {
      throw toGatewayError(thrown)
    })
  })
}

function formatAccount({ email, id }: Account): string {
  return email ?? id
}

function createAccountChangedError(): GatewayError {
  return new GatewayError('invalid_request', {
    param: 'account',
    actions: ['fix_request'],
    message: {
      en: 'Another account has signed in since this page was opened. Open it again to see which.',
      zh: '打开此页面后已登录了另一个账户，请重新打开以确认账户。',
    },
  })
}

/** Null if the error is not about the document that describes a program. */
function createDocumentError(clientId: unknown, detail: string, mode: ClientDocumentMode): GatewayError | null {
  if (typeof clientId !== 'string' || !clientId.startsWith('https:') || !/client/.test(detail)) return null
  const isOff = mode === 'off'
  if (!isOff && !detail.startsWith('client_id metadata document')) return null
  const address = clientId.slice(0, 200)
  return new GatewayError('invalid_request', {
    param: 'client_id',
    actions: ['fix_request', 'contact_operator'],
    message: isOff
      ? {
          en: `This service does not read the addresses by which programs describe themselves (${address}). Sign out in the program that sent you here and start again, so that it registers; if that does not help, ask the operator of this service.`,
          zh: `本服务不读取程序的自述地址（${address}）。请在发起登录的程序中退出后重新登录；如仍无法登录，请联系本服务的管理员。`,
        }
      : {
          en: `This service could not read the address by which the program describes itself: ${address} (${detail}). Ask the operator of this service whether it can reach that address, and the maker of the program whether the address is right.`,
          zh: `本服务无法读取该程序的自述地址：${address}。请向本服务的管理员确认能否访问该地址，并向程序的开发者确认地址是否正确。`,
        },
  })
}

function createRestartSignInError(detail: string): GatewayError {
  return new GatewayError('invalid_request', {
    actions: ['fix_request'],
    message: {
      en: `This sign-in cannot continue (${detail}). Start it again in the program that sent you here.`,
      zh: '此次登录无法继续，请回到发起它的程序重新开始。',
    },
  })
}
