/** Signing in and out, by mail code, link and password; changing the password; leaving. */
import type { Context } from 'koa'
import type { AnswerOf } from '../../../api/endpoint.ts'
import {
  changePassword,
  deleteAccount,
  lookAtLink,
  showSession,
  signIn,
  signOut,
  signUp,
  startCode,
  startProof,
  verifyCode,
  verifyLink,
} from '../../../api/membership/sign-in.ts'
import { GatewayError, invalidRequest } from '../../../errors.ts'
import type { Account } from '../../../membership/account.ts'
import { maskEmail } from '../../../membership/audit.ts'
import { instant } from '../../../membership/instant.ts'
import { codeLifeMs, resendAfterMs } from '../../../membership/mail-code.ts'
import { passwordLength } from '../../../membership/password-rules.ts'
import type { NoSignUp } from '../../../membership/sign-up.ts'
import type { AskForCode, TrySignIn } from '../../../membership/sign-in-desk.ts'
import type { Services } from '../../../gateway/services.ts'
import { readCookie } from '../../cookie.ts'
import { browserToken, giveBrowserToken, giveDevice, giveSession, takeBrowserToken, takeSession } from '../../member-cookies.ts'
import type { Serve } from '../../serve.ts'
import { sessionOf } from '../../visitor.ts'
import { toSession } from './sessions.ts'

export function signInRoutes(serve: Serve, services: Services): void {
  const { membership, store } = services
  const { signIn: desk, account: accountDesk, sessions } = membership

  serve(startCode, async ({ ctx, body: { email, invite }, visitor }) =>
    toSent(await desk.askForCode({ email, browser: browserTokenKept(ctx, services), invite }, visitor), services),
  )

  serve(signUp, async ({ ctx, body: { email, password, invite }, visitor }) =>
    toSent(await desk.askForCode({ email, browser: browserTokenKept(ctx, services), password, invite }, visitor), services),
  )

  serve(verifyCode, async ({ ctx, body: { email, code, invite }, visitor }) => {
    // Without the browser's token no code can be right; a made-up one keeps the way, and its time, the same.
    const browser = browserToken(ctx, services, 'browser') ?? ''
    const news = await admit(ctx, services, await desk.enterCode(email, code, browser, visitor, invite))
    takeBrowserToken(ctx, services, 'browser')
    return { ok: true, ...news }
  })

  // Looking is a POST as well, so that the token of the link stands in no address and no log; it uses up nothing, because programs open links too.
  serve(lookAtLink, async ({ body: { link } }) => {
    const address = await desk.lookAtLink(link)
    if (address === undefined) throw overLink()
    return { email_masked: maskEmail(address) }
  })

  serve(verifyLink, async ({ ctx, body: { link }, visitor }) => {
    const tried = await desk.openLink(link, browserToken(ctx, services, 'browser'), visitor)
    if (tried.kind === 'wrong') throw overLink()
    const news = await admit(ctx, services, tried)
    takeBrowserToken(ctx, services, 'browser')
    return { ok: true, ...news }
  })

  serve(signIn, async ({ ctx, body: { email, password }, visitor }) => {
    const { account } = await admit(ctx, services, await desk.enterPassword(email, password, visitor))
    return { ok: true, account }
  })

  serve(signOut, async ({ ctx, member: { account, credential }, visitor }) => {
    await sessions.signOut(account.id, credential.id, visitor)
    if (credential.kind === 'cookie') takeSession(ctx, services)
    return { ok: true }
  })

  serve(showSession, async ({ member }) => {
    const session = await sessionOf(member, services)
    const record = await store.accounts.findForSignIn(member.account.id)
    return { account: toAccount(member.account, record?.passwordHash != null), session: toSession(session, session.id) }
  })

  serve(startProof, async ({ member, visitor }) => {
    await accountDesk.askForProof(await sessionOf(member, services), visitor)
    return sent
  })

  serve(changePassword, async ({ ctx, member, body: { password, current = null, code }, visitor }) => {
    const session = await sessionOf(member, services)
    const changed = await accountDesk.changePassword(session, { current, code }, password, visitor)
    if (changed.kind === 'password') throw badPassword(changed.why)
    if (changed.kind !== 'changed') throw unproven(changed.kind)
    giveSession(ctx, services, changed.token)
    return { ok: true, ended_sessions: changed.endedSessions }
  })

  serve(deleteAccount, async ({ ctx, member, body: { confirm, current = null, code }, visitor }) => {
    if (confirm.trim().toLowerCase() !== member.account.email)
      throw invalidRequest(
        { en: "'confirm' must be the account's own mail address.", zh: "'confirm' 必须是该账户自己的邮箱地址。" },
        'confirm',
      )
    const result = await accountDesk.deleteAccount(await sessionOf(member, services), { current, code }, visitor)
    if (result !== 'deleted') throw unproven(result)
    takeSession(ctx, services)
    return { ok: true, deleted: true }
  })
}

/** Sets the session's cookie, and ends the session that the browser had before. */
export async function admit(ctx: Context, services: Services, tried: TrySignIn): Promise<News> {
  if (tried.kind === 'no-sign-up') throw noSignUp(tried.why, services)
  if (tried.kind !== 'signed-in') throw new GatewayError('invalid_credentials')
  const former = readCookie(ctx.req.headers.cookie, services.names.cookie)
  if (former !== null) await services.membership.sessions.leave(former)
  const { account, hasPassword, token, created, invited } = tried
  giveSession(ctx, services, token)
  giveDevice(ctx, services, account.id)
  return { account: toAccount(account, hasPassword), created, invited }
}

type News = Omit<AnswerOf<typeof verifyCode>, 'ok'>

function toAccount(account: Account, hasPassword: boolean): News['account'] {
  return {
    id: account.id,
    email: account.email,
    email_masked: maskEmail(account.email),
    plan: account.plan,
    has_password: hasPassword,
    created_at: instant(account.createdAt),
  }
}

/** The browser keeps its token, so that a second code replaces the first. */
function browserTokenKept(ctx: Context, services: Services): string {
  return browserToken(ctx, services, 'browser') ?? giveBrowserToken(ctx, services, 'browser')
}

const sent = { ok: true, sent: true, expires_in: codeLifeMs / 1000, resend_after: resendAfterMs / 1000 } as const

function toSent(asked: AskForCode, services: Services): typeof sent {
  if (asked.kind === 'address') throw badAddress(asked.why)
  if (asked.kind === 'password') throw badPassword(asked.why)
  if (asked.kind === 'no-sign-up') throw noSignUp(asked.why, services)
  return sent
}

function unproven(why: 'wrong' | 'needed'): GatewayError {
  return new GatewayError(why === 'needed' ? 'proof_required' : 'invalid_credentials')
}

function overLink(): GatewayError {
  return new GatewayError('invalid_credentials', {
    message: {
      en: 'This link has been used or is too old. Ask for a new letter.',
      zh: '此链接已使用或已过期,请重新获取邮件。',
    },
  })
}

function noSignUp(why: NoSignUp, { config }: Services): GatewayError {
  const domains = config.signIn.allowedDomains.join(', ')
  if (why === 'closed') return new GatewayError('sign_up_closed')
  return new GatewayError('sign_up_closed', {
    message:
      why === 'uninvited'
        ? { en: 'Signing up here takes an invitation from a member.', zh: '注册需要现有会员的邀请。' }
        : { en: `Signing up here takes an address at: ${domains}.`, zh: `仅限以下域名的邮箱注册:${domains}。` },
  })
}

function badAddress(why: 'malformed' | 'blocked'): GatewayError {
  return why === 'malformed'
    ? invalidRequest({ en: "'email' is not a mail address.", zh: "'email' 不是有效的邮箱地址。" }, 'email')
    : new GatewayError('invalid_request', {
        param: 'email',
        message: {
          en: 'Addresses of this mail provider cannot sign up here. Please use another one.',
          zh: '此邮箱服务商的地址无法在此注册,请换用其他邮箱。',
        },
      })
}

function badPassword(why: 'short' | 'long' | 'common'): GatewayError {
  const { min, max } = passwordLength
  const message = {
    short: {
      en: `The password is too short: at least ${min} characters, better 15.`,
      zh: `密码太短:至少 ${min} 个字符,建议 15 个以上。`,
    },
    long: { en: `The password is too long: at most ${max} characters.`, zh: `密码太长:最多 ${max} 个字符。` },
    common: {
      en: 'This password is one of those tried first. Please choose another one.',
      zh: '此密码过于常见,请换一个。',
    },
  }[why]
  return new GatewayError('invalid_request', { param: 'password', message })
}
