/**
 * Programs that sign in to the tool server for a member: what they are told, where they register, and where the member decides. The
 * protocol's own endpoints are the library's, which is loaded when the first of them is asked for.
 */
import type { Router } from '../router.ts'
import type { Context } from 'koa'
import type { Provider } from 'oidc-provider'
import { issuerMetadata, resourceMetadata } from '../../access/connect/metadata.ts'
import { plainName } from '../../access/connect/plain-name.ts'
import { isLoopback, placeOf } from '../../access/connect/redirects.ts'
import { RegistrationRefused, toMetadata, toRegistrationRecord } from '../../access/connect/registration.ts'
import {
  authorize,
  decideRequest,
  describeIssuer,
  describeResource,
  exchangeToken,
  listSigningKeys,
  registerApp,
  resumeAuthorize,
  revokeToken,
  showRequest,
} from '../../api/connect.ts'
import { addressesOf } from '../../api/endpoint.ts'
import type { Endpoint } from '../../api/endpoint.ts'
import { GatewayError } from '../../errors.ts'
import type { Account } from '../../membership/account.ts'
import type { AskingApp } from '../../membership/app-desk.ts'
import type { Assets } from '../../pages/assets.ts'
import type { Services } from '../../gateway/services.ts'
import { readJson } from '../body.ts'
import { asFailure } from '../busy.ts'
import type { RouteParts } from '../route-parts.ts'
import { mount, paramsOf, serveOn } from '../serve.ts'
import { visitorOf } from '../visitor.ts'
import { failurePage } from './pages.ts'

/** What a program may say when it sends a member here. There is one permission, and no identity to ask for, so the rest is left out. */
const asked = [
  'client_id',
  'response_type',
  'redirect_uri',
  'state',
  'code_challenge',
  'code_challenge_method',
  'resource',
  'prompt',
]

export function connectRoutes(router: Router, { services }: RouteParts, assets: Assets): void {
  const { config, membership, log, clock } = services
  let opening: Promise<Provider> | undefined
  const provider = (): Promise<Provider> => {
    opening ??= open().catch((error: unknown) => {
      // Without a descriptor to spare it could not be read just now.
      opening = undefined
      throw error
    })
    return opening
  }
  const open = async (): Promise<Provider> => {
    const { openProvider } = await import('../../access/connect/provider.ts')
    const opened = openProvider(services, {
      show: (ctx, detail) => failurePage(ctx as unknown as Context, startAgain(detail), services, assets),
    })
    opened.on('server_error', (_, error) => log.error({ err: error }, 'a program could not sign in for a member'))
    return opened
  }

  for (const [endpoint, document] of [
    [describeResource, resourceMetadata],
    [describeIssuer, issuerMetadata],
    [listSigningKeys, () => ({ keys: [] })],
  ] as const) {
    openly(router, endpoint, async (ctx) => {
      ctx.set('cache-control', 'public, max-age=300')
      ctx.body = document(services)
    })
  }

  openly(router, registerApp, async (ctx) => {
    ctx.set('cache-control', 'no-store')
    const sent = await readJson(ctx.req, config.limits.otherBodyBytes)
    try {
      const metadata = await membership.apps.register(
        (id, now) => toMetadata(sent, config.connect.appSchemes, { id, now }),
        visitorOf(ctx, services),
      )
      ctx.status = metadata === undefined ? 503 : 201
      ctx.body =
        metadata === undefined
          ? { error: 'temporarily_unavailable', error_description: 'no more programs are taken now; try again later.' }
          : toRegistrationRecord(metadata)
    } catch (error) {
      if (!(error instanceof RegistrationRefused)) throw error
      ctx.status = 400
      ctx.body = { error: error.code, error_description: error.message }
    }
  })

  mount(router, authorize, async (ctx) => {
    try {
      await membership.allowances.take('app-start', visitorOf(ctx, services).network, clock.now())
      await provider()
    } catch (error) {
      return failurePage(ctx, asFailure(error), services, assets)
    }
    ctx.query = Object.fromEntries([...Object.entries(ctx.query).filter(([name]) => asked.includes(name)), ['scope', 'tools']])
    return speak(ctx, await provider(), services)
  })
  mount(router, resumeAuthorize, async (ctx) => speak(ctx, await provider(), services))

  for (const endpoint of [exchangeToken, revokeToken]) {
    openly(router, endpoint, async (ctx) => {
      await membership.allowances.take('app-token', visitorOf(ctx, services).network, clock.now())
      await speak(ctx, await provider(), services)
    })
  }

  const serve = serveOn(router, services)

  serve(showRequest, async ({ ctx, member: { account } }) => {
    const { app, redirect, expiresAt } = await requestOf(ctx, await provider())
    return {
      app: { name: app.name, address: app.id.startsWith('https:') ? placeOf(app.id) : null },
      redirect: { place: placeOf(redirect), local: isLoopback(redirect) },
      account: shownAccount(account),
      expires_in: Math.max(0, Math.floor((expiresAt - clock.now()) / 1000)),
    }
  })

  serve(decideRequest, async ({ ctx, member: { account }, body: { decision, account: shown }, visitor }) => {
    // Somebody may have signed in as another in the next tab: what they approve here is what this page has said.
    if (shown !== null && shown !== shownAccount(account)) throw otherAccount()
    const { app } = await requestOf(ctx, await provider())
    const session = decision === 'approve' ? await membership.apps.approve(app, account, visitor) : undefined
    if (decision === 'deny') await membership.apps.deny(app, account, visitor)
    else if (session === undefined) throw new GatewayError('sign_in_required')
    const result =
      session === undefined
        ? { error: 'access_denied', error_description: 'the member said no' }
        : { login: { accountId: account.id, remember: false }, consent: { grantId: session } }
    return { ok: true, location: await (await provider()).interactionResult(ctx.req, ctx.res, result) }
  })
}

interface Request {
  readonly app: AskingApp
  readonly redirect: string
  readonly expiresAt: number
}

/** The request that this very browser was sent with: its cookie says so, and nobody else's link can bring it here. */
async function requestOf(ctx: Context, provider: Provider): Promise<Request> {
  const { uid } = paramsOf(ctx)
  const details = await provider.interactionDetails(ctx.req, ctx.res).catch(() => undefined)
  if (details === undefined || details.uid !== uid || details.result !== undefined) throw startAgain('the request is over')
  const client = await provider.Client.find(String(details.params['client_id']))
  if (client === undefined) throw startAgain('the program is not known')
  const redirect = String(details.params['redirect_uri'])
  const app = { id: client.clientId, name: plainName(client.clientName) ?? placeOf(redirect) }
  return { app, redirect, expiresAt: details.exp * 1000 }
}

/** The library reads where it is from the request; we know it from the configuration, whatever a request says. */
async function speak(ctx: Context, provider: Provider, { origins }: Services): Promise<void> {
  const { protocol, host } = new URL(origins.site)
  Object.defineProperties(ctx.request, {
    protocol: { value: protocol.slice(0, -1) },
    host: { value: host },
    href: { value: origins.site + ctx.path + ctx.search },
  })
  const [answer] = provider.middleware
  if (answer === undefined) throw new Error('oidc-provider has no routes.')
  await answer(ctx as unknown as Parameters<typeof answer>[0], async () => undefined)
}

/** Any page may ask: no cookie counts here, and what is answered is for whoever has the words. */
function openly(router: Router, endpoint: Endpoint, handler: (ctx: Context) => Promise<void>): void {
  for (const address of addressesOf(endpoint))
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
      throw asFailure(thrown)
    })
  })
}

function shownAccount({ email, id }: Account): string {
  return email ?? id
}

function otherAccount(): GatewayError {
  return new GatewayError('invalid_request', {
    param: 'account',
    actions: ['fix_request'],
    message: {
      en: 'Another account has signed in since this page was opened. Open it again to see which.',
      zh: '打开此页面后已登录了另一个账户,请重新打开以确认账户。',
    },
  })
}

function startAgain(detail: string): GatewayError {
  return new GatewayError('invalid_request', {
    actions: ['fix_request'],
    message: {
      en: `This sign-in cannot go on (${detail}). Start it again in the program that sent you here.`,
      zh: '此次登录无法继续,请回到发起它的程序重新开始。',
    },
  })
}
