/** Signing in and out by code, link and password; changing the password; deleting the account. */
import type { Context } from 'koa'
import type { ResponseOf } from '../../../api/endpoint.ts'
import {
  changeEmail,
  changePassword,
  deleteAccount,
  inspectMagicLink,
  showSession,
  signIn,
  signOut,
  signUp,
  startEmailChange,
  startOtp,
  startReauthentication,
  verifyOtp,
  verifyMagicLink,
} from '../../../api/membership/sign-in.ts'
import { GatewayError, invalidRequest } from '../../../errors.ts'
import type { Account } from '../../../domain/identity/account.ts'
import { maskEmail } from '../../../domain/identity/audit.ts'
import { formatInstant } from '../../../domain/instant.ts'
import { codeLifetimeMs, resendAfterMs } from '../../../domain/identity/email/email-otp.ts'
import { mailRetryAfterMs } from '../../../domain/services/sign-in/sign-in-service.ts'
import type { SignInCodeResult, SignInResult } from '../../../domain/services/sign-in/sign-in-service.ts'
import { describeProviderError } from '../../../access/sign-in-providers.ts'
import type { ProviderClients } from '../../../access/sign-in-providers.ts'
import {
  createCodeRequestError,
  createExpiredLinkError,
  createInvalidAddressError,
  createInvalidPasswordError,
  createMailUnavailableError,
  createReauthenticationError,
  createSignInError,
  createUnchangedAddressError,
} from '../../../services/membership-errors.ts'
import type { Services } from '../../../services/services.ts'
import {
  readBrowserToken,
  setBrowserToken,
  setSessionCookie,
  takeProviderSession,
  clearBrowserToken,
  clearSessionCookie,
} from '../../request/member-cookies.ts'
import type { ServeEndpoint } from '../../endpoint-handler.ts'
import { openSession } from '../../auth/open-session.ts'
import { getSession } from '../../auth/session-auth.ts'
import { toSession } from './sessions.ts'

export function mountSignInRoutes(serve: ServeEndpoint, services: Services, providers: ProviderClients): void {
  const { membership, store, log, origins } = services
  const { signIn: signInService, account: accountService, sessions } = membership
  const serveEmailSignIn = createEmailSignInServe(serve, services)

  serveEmailSignIn(startOtp, async ({ ctx, body: { email, invite }, clientInfo }) =>
    toSentResponse(
      await signInService.requestCode({ email, browser: ensureBrowserToken(ctx, services), invite }, clientInfo),
      services,
    ),
  )

  serveEmailSignIn(signUp, async ({ ctx, body: { email, password, invite }, clientInfo }) =>
    toSentResponse(
      await signInService.requestCode({ email, browser: ensureBrowserToken(ctx, services), password, invite }, clientInfo),
      services,
    ),
  )

  serveEmailSignIn(verifyOtp, async ({ ctx, body: { email, code, invite }, clientInfo }) => {
    // Without the browser's token no code is valid; an empty one keeps the code path, and so the timing, the same.
    const browser = readBrowserToken(ctx, services, 'browser') ?? ''
    const signedIn = await completeSignIn(
      ctx,
      services,
      await signInService.signInWithCode(email, code, browser, clientInfo, invite),
    )
    clearBrowserToken(ctx, services, 'browser')
    return { ok: true, ...signedIn }
  })

  // A POST, so that the link's token appears in no URL and no log. Inspecting does not consume it, because programs open links too.
  serveEmailSignIn(inspectMagicLink, async ({ body: { link } }) => {
    const address = await signInService.findEmailByMagicLink(link)
    if (address === undefined) throw createExpiredLinkError()
    return { email_masked: maskEmail(address) }
  })

  serveEmailSignIn(verifyMagicLink, async ({ ctx, body: { link }, clientInfo }) => {
    const result = await signInService.signInWithMagicLink(link, readBrowserToken(ctx, services, 'browser'), clientInfo)
    if (result.kind === 'wrong') throw createExpiredLinkError()
    const signedIn = await completeSignIn(ctx, services, result)
    clearBrowserToken(ctx, services, 'browser')
    return { ok: true, ...signedIn }
  })

  serveEmailSignIn(signIn, async ({ ctx, body: { email, password }, clientInfo }) => {
    const { account } = await completeSignIn(ctx, services, await signInService.signInWithPassword(email, password, clientInfo))
    return { ok: true, account }
  })

  serve(signOut, async ({ ctx, member: { account, credential }, clientInfo }) => {
    await sessions.signOut(account.id, credential.id, clientInfo)
    if (credential.kind === 'cookie') clearSessionCookie(ctx, services)
    const session = takeProviderSession(ctx, services)
    if (session === null || credential.kind !== 'cookie') return { ok: true, provider_sign_out_url: null }
    const { provider, idToken } = session
    const url = await providers.buildSignOutUrl(provider, { idToken, returnTo: `${origins.site}/` }).catch((error: unknown) => {
      log.warn({ provider, reason: describeProviderError(error) }, 'a session at a sign-in provider cannot be ended')
      return null
    })
    return { ok: true, provider_sign_out_url: url }
  })

  serve(showSession, async ({ member }) => {
    const session = await getSession(member, services)
    const record = await store.accounts.findForSignIn(member.account.id)
    return { account: toAccount(member.account, record?.passwordHash != null), session: toSession(session, session.id) }
  })

  serve(startReauthentication, async ({ member, clientInfo }) => {
    const outcome = await accountService.requestReauthenticationCode(await getSession(member, services), clientInfo)
    if (outcome === 'unavailable') throw createMailUnavailableError(mailRetryAfterMs)
    return { ...sentAnswer, delayed: outcome === 'delayed' }
  })

  serveEmailSignIn(
    changePassword,
    async ({ ctx, member, body: { password, current: currentPassword = null, code }, clientInfo }) => {
      const session = await getSession(member, services)
      const result = await accountService.changePassword(session, { currentPassword, code }, password, clientInfo)
      if (result.kind === 'password') throw createInvalidPasswordError(result.reason)
      if (result.kind !== 'changed') throw createReauthenticationError(result.kind)
      setSessionCookie(ctx, services, result.token)
      return { ok: true, ended_sessions: result.endedSessions }
    },
  )

  serve(startEmailChange, async ({ member, body: { email, current: currentPassword = null, code }, clientInfo }) => {
    const session = await getSession(member, services)
    const result = await accountService.requestEmailChange(session, { currentPassword, code }, email, clientInfo)
    if (result.kind === 'address') throw createInvalidAddressError(result.reason)
    if (result.kind === 'unchanged') throw createUnchangedAddressError()
    if (result.kind === 'mail_unavailable') throw createMailUnavailableError(mailRetryAfterMs)
    if (result.kind !== 'sent') throw createReauthenticationError(result.kind)
    return { ...sentAnswer, delayed: result.isDelayed }
  })

  serve(changeEmail, async ({ member, body: { email, code }, clientInfo }) => {
    const session = await getSession(member, services)
    if ((await accountService.changeEmail(session, { email, code }, clientInfo)) === 'wrong')
      throw new GatewayError('invalid_credentials')
    const record = await store.accounts.findForSignIn(member.account.id)
    if (record === undefined) throw new GatewayError('sign_in_required')
    return { ok: true, account: toAccount(record.account, record.passwordHash !== null) }
  })

  serve(deleteAccount, async ({ ctx, member, body: { confirm, current: currentPassword = null, code }, clientInfo }) => {
    if (confirm.trim().toLowerCase() !== member.account.email)
      throw invalidRequest(
        { en: "'confirm' must be the account's own email address.", zh: "'confirm' 必须是该账户自己的邮箱地址。" },
        'confirm',
      )
    const result = await accountService.deleteAccount(await getSession(member, services), { currentPassword, code }, clientInfo)
    if (result !== 'deleted' && result !== 'waiting') throw createReauthenticationError(result)
    clearSessionCookie(ctx, services)
    return { ok: true, deleted: result === 'deleted' }
  })
}

/** Serves an endpoint of codes, links and passwords, where the operator offers them. */
function createEmailSignInServe(serve: ServeEndpoint, { config }: Pick<Services, 'config'>): ServeEndpoint {
  if (!config.signIn.providersOnly) return serve
  return (endpoint) =>
    serve(endpoint, async () => {
      throw new GatewayError('sign_in_method_disabled')
    })
}

/** Opens the session of a sign-in that has succeeded. */
async function completeSignIn(ctx: Context, services: Services, result: SignInResult): Promise<SignedInResponse> {
  if (result.kind !== 'signed-in') throw createSignInError(result, services.config.signIn)
  const { account, hasPassword, token, isNewAccount, invited } = result
  await openSession(ctx, services, account.id, token)
  return { account: toAccount(account, hasPassword), created: isNewAccount, invited }
}

type SignedInResponse = Omit<ResponseOf<typeof verifyOtp>, 'ok'>

function toAccount(account: Account, hasPassword: boolean): SignedInResponse['account'] {
  return {
    id: account.id,
    email: account.email,
    email_masked: maskEmail(account.email),
    plan: account.plan,
    has_password: hasPassword,
    created_at: formatInstant(account.createdAt),
  }
}

/** The browser keeps its token, so that a second code replaces the first. */
function ensureBrowserToken(ctx: Context, services: Pick<Services, 'ids' | 'names' | 'origins'>): string {
  return readBrowserToken(ctx, services, 'browser') ?? setBrowserToken(ctx, services, 'browser')
}

const sentAnswer = { ok: true, sent: true, expires_in: codeLifetimeMs / 1000, resend_after: resendAfterMs / 1000 } as const

function toSentResponse(
  result: SignInCodeResult,
  { config }: Pick<Services, 'config'>,
): typeof sentAnswer & { readonly delayed: boolean } {
  if (result.kind !== 'sent') throw createCodeRequestError(result, config.signIn)
  return { ...sentAnswer, delayed: result.isDelayed }
}
