/** The website's pages by path, in the reader's language and for their audience; failures as pages, not as envelopes. */
import type { Router } from '../../system/vendor/koa-router.ts'
import type { Context, Middleware } from 'koa'
import { maxOpenNotices } from '../../domain/notice.ts'
import { GatewayError } from '../../errors.ts'
import type { Assets } from '../../pages/assets.ts'
import { isTheme } from '../../pages/theme.ts'
import { isLanguage, negotiateLanguage, negotiateLocale } from '../../pages/language.ts'
import { renderPage } from '../../pages/layout.ts'
import type { Consent, Page, PageBrowser, PageContext, PageMember, View } from '../../pages/page.ts'
import { pages } from '../../pages/pages.ts'
import { toSafeReturnPath } from '../../pages/return-path.ts'
import { texts } from '../../pages/texts/texts.ts'
import { consolePath } from '../../pages/views/operator/sections.ts'
import { createFailureView } from '../../pages/views/failure.ts'
import type { Operations } from '../../services/health/operations.ts'
import type { Services } from '../../services/services.ts'
import type { RouteDeps } from '../route-deps.ts'
import { serializeCookie } from '../request/cookie.ts'
import { isNoticeVersion, readDismissedNotices, readLanguageCookie, readThemeCookie } from '../request/reader.ts'
import {
  clearBrowserToken,
  clearSessionCookie,
  readBrowserToken,
  readSessionCookie,
  readSignInStep,
  setBrowserToken,
  setSessionCookie,
  setSignInStep,
} from '../request/member-cookies.ts'
import { setOperatorCookie } from '../request/operator-cookie.ts'
import { admitOperator, findPageOperator } from '../operator-page.ts'
import { openSession } from '../auth/open-session.ts'
import { requireFormOrigin, submitForm } from '../page-form.ts'
import { getClientInfo, getSession } from '../auth/session-auth.ts'
import type { Member } from '../auth/session-auth.ts'
import { getExchange } from '../request-context.ts'
import { toFailure } from '../../exchange/exchange.ts'
import { buildPageHeaders } from '../response/page-headers.ts'

const yearSeconds = 31_536_000

/** What the consent page may do with the request in its address. */
export type OpenConsent = (ctx: Context, member: Member) => Consent

interface PageDeps {
  readonly services: Services
  readonly assets: Assets
  readonly openConsent: OpenConsent
  readonly operations: Operations
}

export function mountPageRoutes(router: Router, deps: PageDeps): void {
  const { services } = deps
  for (const page of pages) {
    router.get(page.path, async (ctx) => {
      const { lang, theme, dismiss } = ctx.query
      if (isLanguage(lang)) return rememberChoice(ctx, { parameter: 'lang', cookie: 'language', value: lang }, services)
      if (isTheme(theme)) return rememberChoice(ctx, { parameter: 'theme', cookie: 'theme', value: theme }, services)
      if (isNoticeVersion(dismiss)) return rememberDismissal(ctx, dismiss, services)
      await servePage(ctx, page, deps)
    })
    if (page.actions !== undefined || page.submit !== undefined)
      router.post(page.formPath ?? page.path, (ctx) => servePage(ctx, page, deps))
    // A choice of language, or a sign-in in between, leads to the address of the form.
    if (page.formPath !== undefined)
      router.get(page.formPath, (ctx) => redirect(ctx, ctx.path.replace(/\/[^/]*$/, '') + ctx.search))
  }
}

/** Renders a page for unknown paths and refused methods requested by a browser. */
export function createNotFoundPage({ services }: RouteDeps, assets: Assets): Middleware {
  return async (ctx, next) => {
    // Listed first, JSON also wins where the client accepts anything.
    if (ctx.accepts('json', 'html') !== 'html' || /^\/(v1|api|assets)(\/|$)/.test(ctx.path)) return next()
    const isRead = ctx.method === 'GET' || ctx.method === 'HEAD'
    if (isRead) return sendFailurePage(ctx, new GatewayError('not_found'), services, assets)
    try {
      await next()
    } catch (thrown) {
      await sendFailurePage(ctx, thrown, services, assets)
    }
  }
}

async function servePage(ctx: Context, page: Page, { services, assets, openConsent, operations }: PageDeps): Promise<void> {
  const { membership } = services
  let context = createPageContext(ctx, null, services, assets)
  // Forms need the origin, which `no-referrer` would hide.
  if (page.hasPrivateAddress === true) ctx.set('referrer-policy', 'strict-origin')
  try {
    const isForm = ctx.method === 'POST' && page.actions !== undefined
    if (isForm) requireFormOrigin(ctx, services)
    const member = await findMember(ctx, services)
    context = {
      ...createPageContext(ctx, member, services, assets),
      consent: member === null ? null : openConsent(ctx, member),
      announcements:
        page.path === consolePath || page.path.startsWith(`${consolePath}/`) ? [] : await membership.notices.listCurrent(),
    }
    if (page.audience === 'members' && context.viewer === null) return redirect(ctx, buildSignInPath(ctx))
    if (page.audience === 'guests' && context.viewer !== null) return redirect(ctx, toSafeReturnPath(ctx.query['next']))
    if (page.findsOperator === true)
      context = { ...context, operations, operator: (await context.browser.findOperator()) ?? null }
    if (page.audience === 'operators') {
      const operator = await admitOperator(context, page.access)
      if (operator === null) return redirect(ctx, buildConsolePath(ctx))
      context = { ...context, operations, operator }
    }
    if (isForm) {
      const outcome = await submitForm(ctx, page, context)
      if ('main' in outcome) return sendPage(ctx, context, outcome)
      return redirect(ctx, outcome.done === undefined ? outcome.path : addQuery(outcome.path, `done=${outcome.done}`))
    }
    if (ctx.method === 'POST' && page.submit !== undefined) return sendPage(ctx, context, await page.submit(context))
    sendPage(ctx, context, { ...findNotice(page, context), ...(await page.view(context)) })
  } catch (thrown) {
    sendFailure(ctx, context, thrown)
  }
}

/** Anyone can link to `?done=`, so it chooses among fixed sentences. */
function findNotice({ notices }: Page, { t, query }: PageContext): Pick<View, 'notice'> {
  const sentence = Object.entries(notices?.(t) ?? {}).find(([done]) => done === query.get('done'))
  return sentence === undefined ? {} : { notice: sentence[1] }
}

/** Renders a failure of a path that is not a page of the site, for a browser that was sent there. */
export async function sendFailurePage(ctx: Context, thrown: unknown, services: Services, assets: Assets): Promise<void> {
  sendFailure(ctx, createPageContext(ctx, await findMember(ctx, services).catch(() => null), services, assets), thrown)
}

function sendFailure(ctx: Context, context: PageContext, thrown: unknown): void {
  const failure = toFailure(thrown)
  const { services } = context
  const x = getExchange(ctx, 'unmetered', services)
  if (failure.code === 'internal_error') services.telemetry.recordInternalError(x, failure)
  sendPage(ctx, context, createFailureView(context, failure, x.id))
  if (failure.details.headers !== undefined) ctx.set({ ...failure.details.headers })
}

function sendPage(ctx: Context, context: PageContext, view: View): void {
  ctx.status = view.status ?? 200
  ctx.type = 'text/html; charset=utf-8'
  ctx.set(buildPageHeaders(context.services))
  // Every page shows who is signed in, so none may be cached for another reader or after signing out.
  ctx.set('cache-control', 'private, no-store')
  ctx.set('content-language', context.language === 'zh' ? 'zh-CN' : 'en')
  ctx.vary('accept-language, cookie')
  ctx.body = renderPage(context, view)
}

export function createPageContext(ctx: Context, member: Member | null, services: Services, assets: Assets): PageContext {
  const language = isLanguage(ctx.query['lang'])
    ? ctx.query['lang']
    : (readLanguageCookie(ctx, services) ?? negotiateLanguage(ctx))
  const { path } = ctx
  // PostgreSQL fails at a zero character; another control character finds nothing, either.
  const query = new URLSearchParams(ctx.querystring.replaceAll('%00', '%01'))
  const locale = negotiateLocale(ctx, language)
  const theme = readThemeCookie(ctx, services)
  return {
    services,
    t: texts[language],
    language,
    locale,
    theme,
    viewer: member?.account ?? null,
    browser: toPageBrowser(ctx, services),
    member: member === null ? null : toPageMember(ctx, member, services),
    formId: services.membership.formIds.issue(member?.account.id ?? null),
    announcements: [],
    dismissed: new Set(readDismissedNotices(ctx, services)),
    redrawn: null,
    operator: null,
    operations: null,
    consent: null,
    path,
    query,
    asset: assets.url,
  }
}

function toPageBrowser(ctx: Context, services: Services): PageBrowser {
  return {
    client: getClientInfo(ctx, services),
    token: readBrowserToken(ctx, services, 'browser'),
    setToken: (token) =>
      token === null ? clearBrowserToken(ctx, services, 'browser') : setBrowserToken(ctx, services, 'browser', token),
    signInStep: readSignInStep(ctx, services),
    setSignInStep: (step) => setSignInStep(ctx, services, step),
    openSession: (account, token) => openSession(ctx, services, account, token),
    findOperator: () => findPageOperator(ctx, services),
    setConsoleToken: (token) => setOperatorCookie(ctx, services, token),
  }
}

function toPageMember(ctx: Context, member: Member, services: Services): PageMember {
  return {
    id: member.credential.id,
    client: getClientInfo(ctx, services),
    findSession: () => getSession(member, services),
    setSessionToken: (token) => (token === null ? clearSessionCookie(ctx, services) : setSessionCookie(ctx, services, token)),
  }
}

/** The member of the cookie. Reading pages needs no proof of origin: another site can link here, but cannot read the response. */
async function findMember(ctx: Context, services: Services): Promise<Member | null> {
  const token = readSessionCookie(ctx, services)
  const credential = token === null ? null : await services.credentials.resolve(token)
  return token !== null && credential?.kind === 'cookie' ? { account: credential.account, credential, token } : null
}

/** Kept as long as a choice of colours. Of many, the last ones are kept: notices are over one day. */
function rememberDismissal(ctx: Context, version: string, services: Services): void {
  const earlierVersions = readDismissedNotices(ctx, services).filter((other) => other !== version)
  const value = [...earlierVersions, version].slice(-maxOpenNotices).join('.')
  rememberChoice(ctx, { parameter: 'dismiss', cookie: 'dismissed', value }, services)
}

interface Choice {
  readonly parameter: string
  readonly cookie: string
  readonly value: string
}

/** Stores `?lang=zh` or `?theme=dark` in a cookie and removes it from the address, so that the address can be shared with other readers. */
function rememberChoice(
  ctx: Context,
  { parameter, cookie, value }: Choice,
  { names, origins }: Pick<Services, 'names' | 'origins'>,
): void {
  const secure = origins.site.startsWith('https:')
  ctx.append('set-cookie', serializeCookie(`${names.slug}_${cookie}`, value, yearSeconds, secure))
  const query = new URLSearchParams(ctx.querystring)
  query.delete(parameter)
  redirect(ctx, ctx.path + (query.size > 0 ? `?${query}` : ''))
}

function addQuery(path: string, query: string): string {
  return `${path}${path.includes('?') ? '&' : '?'}${query}`
}

function buildSignInPath(ctx: Context): string {
  return `/sign-in?${new URLSearchParams({ next: getReturnPath(ctx) })}`
}

/** Where an operator signs in to the console, and then returns to this page. */
function buildConsolePath(ctx: Context): string {
  return `/operator?${new URLSearchParams({ next: getReturnPath(ctx) })}`
}

function getReturnPath(ctx: Context): string {
  return toSafeReturnPath(ctx.path + (ctx.querystring === '' ? '' : `?${ctx.querystring}`))
}

function redirect(ctx: Context, path: string): void {
  ctx.status = 303
  ctx.set('location', path)
  ctx.set('cache-control', 'no-store')
  ctx.body = ''
}
