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
import type { SignUpRefusal } from '../../../domain/identity/sign-up.ts'
import { mailRetryAfterMs } from '../../../domain/services/sign-in-service.ts'
import type { SignInCodeResult, SignInResult } from '../../../domain/services/sign-in-service.ts'
import { describeProviderError } from '../../../access/sign-in-providers.ts'
import type { ProviderClients } from '../../../access/sign-in-providers.ts'
import {
  createInvalidAddressError,
  createInvalidPasswordError,
  createMailUnavailableError,
  createReauthenticationError,
  createUnchangedAddressError,
} from '../../../services/membership-errors.ts'
import type { Services } from '../../../services/services.ts'
import {
  listSessionTokens,
  readBrowserToken,
  setBrowserToken,
  setDeviceCookie,
  setSessionCookie,
  takeProviderSession,
  clearBrowserToken,
  clearSessionCookie,
} from '../../request/member-cookies.ts'
import type { ServeEndpoint } from '../../endpoint-handler.ts'
import { getSession } from '../../session-auth.ts'
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
    return { ...sent, delayed: outcome === 'delayed' }
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
    return { ...sent, delayed: result.isDelayed }
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
    if (result !== 'deleted') throw createReauthenticationError(result)
    clearSessionCookie(ctx, services)
    return { ok: true, deleted: true }
  })
}

/** Serves an endpoint of codes, links and passwords, where the operator offers them. */
function createEmailSignInServe(serve: ServeEndpoint, { config }: Services): ServeEndpoint {
  if (!config.signIn.providersOnly) return serve
  return (endpoint) =>
    serve(endpoint, async () => {
      throw new GatewayError('sign_in_method_disabled')
    })
}

/** Sets the session cookie and ends the session that the browser had before. */
export async function completeSignIn(ctx: Context, services: Services, result: SignInResult): Promise<SignedInResponse> {
  if (result.kind === 'no-sign-up') throw createSignUpRefusedError(result.reason, services)
  if (result.kind !== 'signed-in') throw new GatewayError('invalid_credentials')
  for (const token of listSessionTokens(ctx, services).slice(0, 4)) await services.membership.sessions.endByToken(token)
  const { account, hasPassword, token, isNewAccount, invited } = result
  setSessionCookie(ctx, services, token)
  setDeviceCookie(ctx, services, account.id)
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
function ensureBrowserToken(ctx: Context, services: Services): string {
  return readBrowserToken(ctx, services, 'browser') ?? setBrowserToken(ctx, services, 'browser')
}

const sent = { ok: true, sent: true, expires_in: codeLifetimeMs / 1000, resend_after: resendAfterMs / 1000 } as const

function toSentResponse(result: SignInCodeResult, services: Services): typeof sent & { readonly delayed: boolean } {
  if (result.kind === 'address') throw createInvalidAddressError(result.reason)
  if (result.kind === 'password') throw createInvalidPasswordError(result.reason)
  if (result.kind === 'no-sign-up') throw createSignUpRefusedError(result.reason, services)
  if (result.kind === 'mail_unavailable') throw createMailUnavailableError(result.retryAfterMs)
  if (result.kind === 'new_addresses_paused') throw createNewAddressesPausedError(result.retryAfterMs)
  return { ...sent, delayed: result.isDelayed }
}

/** The same for every address, so that it does not reveal which addresses have accounts. */
function createNewAddressesPausedError(retryAfterMs: number): GatewayError {
  const retryAfter = Math.ceil(retryAfterMs / 1000)
  const minutes = Math.ceil(retryAfter / 60)
  return new GatewayError('temporarily_unavailable', {
    retryAfter,
    shouldRetry: false,
    message: {
      en: `Too many new addresses requested emails. If this address has an account, its email was sent: open the link in it. A new address can try again in ${minutes} minutes.`,
      zh: `新邮箱的请求过多。如果该邮箱已有账户，邮件已发送，请打开其中的链接登录；新邮箱请在 ${minutes} 分钟后重试。`,
    },
  })
}

function createExpiredLinkError(): GatewayError {
  return new GatewayError('invalid_credentials', {
    message: {
      en: 'This link has been used or has expired. Request a new email.',
      zh: '此链接已使用或已过期，请重新获取邮件。',
    },
  })
}

function createSignUpRefusedError(why: SignUpRefusal, { config }: Services): GatewayError {
  const domains = config.signIn.allowedDomains.join(', ')
  if (why === 'closed') return new GatewayError('sign_up_closed')
  return new GatewayError('sign_up_closed', {
    message:
      why === 'uninvited'
        ? { en: 'Signing up requires an invitation from a member.', zh: '注册需要现有会员的邀请。' }
        : { en: `Signing up requires an email address at: ${domains}.`, zh: `仅限以下域名的邮箱注册：${domains}。` },
  })
}
