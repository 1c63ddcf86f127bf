/** The website: each page by its path, in the reader's language, for those it is for; failures as pages, not as envelopes. */
import type { Router } from '../router.ts'
import type { Context, Middleware } from 'koa'
import { GatewayError } from '../../errors.ts'
import type { Account } from '../../membership/account.ts'
import type { Assets } from '../../pages/assets.ts'
import { isLanguage, preferredLanguage } from '../../pages/language.ts'
import type { Language } from '../../pages/language.ts'
import { drawPage } from '../../pages/layout.ts'
import type { Page, PageContext, View } from '../../pages/page.ts'
import { pages } from '../../pages/pages.ts'
import { returnPath } from '../../pages/return-path.ts'
import { texts } from '../../pages/texts/texts.ts'
import { failureView } from '../../pages/views/failure.ts'
import type { Services } from '../../gateway/services.ts'
import type { RouteParts } from '../route-parts.ts'
import { readCookie } from '../cookie.ts'
import { exchangeOf } from '../door.ts'
import { toFailure } from '../../exchange/outcome.ts'
import { pageHeaders } from '../page-headers.ts'

const aYear = 31_536_000

export function pageRoutes(router: Router, { services }: RouteParts, assets: Assets): void {
  for (const page of pages) {
    router.get(page.path, async (ctx) => {
      if (isLanguage(ctx.query['lang'])) return remember(ctx, ctx.query['lang'], services)
      await answer(ctx, page, services, assets)
    })
    // A form is sent here only where scripts do not run; the page itself says that it needs them.
    router.post(page.path, (ctx) => goTo(ctx, ctx.path + ctx.search))
  }
}

/** Whoever asks for a page that is not there, with a browser, gets a page that says so. */
export function missingPage({ services }: RouteParts, assets: Assets): Middleware {
  return async (ctx, next) => {
    const wantsPage = (ctx.method === 'GET' || ctx.method === 'HEAD') && ctx.get('accept').includes('text/html')
    if (!wantsPage || /^\/(v1|api|assets)(\/|$)/.test(ctx.path)) return next()
    const context = contextOf(ctx, await viewerOf(ctx, services).catch(() => null), services, assets)
    show(ctx, context, failureView(context, new GatewayError('not_found'), exchangeOf(ctx, 'query', services).id))
  }
}

async function answer(ctx: Context, page: Page, services: Services, assets: Assets): Promise<void> {
  let context = contextOf(ctx, null, services, assets)
  try {
    context = { ...context, viewer: await viewerOf(ctx, services) }
    if (page.for === 'members' && context.viewer === null) return goTo(ctx, signInFirst(ctx))
    if (page.for === 'guests' && context.viewer !== null) return goTo(ctx, returnPath(ctx.query['next']))
    show(ctx, context, page.view(context))
  } catch (thrown) {
    showFailure(ctx, context, thrown)
  }
}

/** A failure of something that a browser was sent to and that is no page of the site. */
export async function failurePage(ctx: Context, thrown: unknown, services: Services, assets: Assets): Promise<void> {
  showFailure(ctx, contextOf(ctx, await viewerOf(ctx, services).catch(() => null), services, assets), thrown)
}

function showFailure(ctx: Context, context: PageContext, thrown: unknown): void {
  const failure = toFailure(thrown)
  const { services } = context
  const x = exchangeOf(ctx, 'query', services)
  if (failure.code === 'internal_error') services.observe.requestFailed(x, failure)
  show(ctx, context, failureView(context, failure, x.id))
}

function show(ctx: Context, context: PageContext, view: View): void {
  ctx.status = view.status ?? 200
  ctx.type = 'text/html; charset=utf-8'
  ctx.set(pageHeaders(context.services))
  // Every page says who is signed in, so none may be kept for another reader, or for this one after signing out.
  ctx.set('cache-control', 'private, no-store')
  ctx.set('content-language', context.language === 'zh' ? 'zh-CN' : 'en')
  ctx.vary('accept-language, cookie')
  ctx.body = drawPage(context, view)
}

function contextOf(ctx: Context, viewer: Account | null, services: Services, assets: Assets): PageContext {
  const language = isLanguage(ctx.query['lang']) ? ctx.query['lang'] : languageOf(ctx, services)
  const { path } = ctx
  const query = new URLSearchParams(ctx.querystring)
  return { services, t: texts[language], language, viewer, path, query, asset: assets.url }
}

/** The account whose cookie came along. Reading pages needs no proof of origin: another site can link here, but cannot read the answer. */
async function viewerOf(ctx: Context, { names, credentials }: Services): Promise<Account | null> {
  const token = readCookie(ctx.headers.cookie, names.cookie)
  const found = token === null ? null : await credentials.resolve(token)
  return found?.kind === 'cookie' ? found.account : null
}

function languageOf(ctx: Context, { names }: Services): Language {
  // The choice of a language is no secret and no credential: of two cookies either will do.
  const chosen = new RegExp(`(?:^|;\\s*)${names.slug}_language=(\\w+)`).exec(ctx.headers.cookie ?? '')?.[1]
  return isLanguage(chosen) ? chosen : preferredLanguage(ctx)
}

/** `?lang=zh` is kept in a cookie and taken out of the address, so that the address can be passed on to readers of either language. */
function remember(ctx: Context, language: Language, { names, origins }: Services): void {
  const secure = origins.site.startsWith('https:') ? '; Secure' : ''
  ctx.append('set-cookie', `${names.slug}_language=${language}; Max-Age=${aYear}; Path=/; SameSite=Lax; HttpOnly${secure}`)
  const query = new URLSearchParams(ctx.querystring)
  query.delete('lang')
  goTo(ctx, ctx.path + (query.size > 0 ? `?${query}` : ''))
}

function signInFirst(ctx: Context): string {
  const here = ctx.path + (ctx.querystring === '' ? '' : `?${ctx.querystring}`)
  return `/sign-in?${new URLSearchParams({ next: returnPath(here) })}`
}

function goTo(ctx: Context, path: string): void {
  ctx.status = 303
  ctx.set('location', path)
  ctx.set('cache-control', 'no-store')
  ctx.body = ''
}
