/** Signing in and out, by mail code and password; changing the password; leaving. */
import type { Router } from '@koa/router'
import type { Context } from 'koa'
import { GatewayError, invalidRequest } from '../../../errors.ts'
import type { Account } from '../../../membership/account.ts'
import { hashToken } from '../../../membership/api-key.ts'
import { maskEmail } from '../../../membership/audit.ts'
import { codeLifeMs, resendAfterMs } from '../../../membership/mail-code.ts'
import { passwordLength } from '../../../membership/password-rules.ts'
import type { Evidence } from '../../../membership/account-desk.ts'
import type { NoSignUp } from '../../../membership/sign-up.ts'
import type { AskForCode, SignedIn, TrySignIn } from '../../../membership/sign-in-desk.ts'
import type { Services } from '../../../gateway/services.ts'
import type { House } from '../../house.ts'
import { readJson } from '../../body.ts'
import { readCookie } from '../../cookie.ts'
import { giveDevice, giveSession, giveWord, takeSession, takeWord, wordOf } from './cookies.ts'
import { optionalTextField, passwordField, textField } from './fields.ts'
import { mount } from './mount.ts'
import { toSessionRecord } from './sessions.ts'
import { refuseForeignPages, requireCookie, requireSession, sessionOf, visitorOf } from './visitor.ts'

/** Longer than any code and any address. */
const codeChars = 64
const emailChars = 320
const inviteChars = 64

export function signInRoutes(router: Router, { services }: House): void {
  const { membership, config, credentials, store } = services
  const { signIn, account: desk } = membership

  const body = (ctx: Context): Promise<Record<string, unknown>> => readJson(ctx.req, config.limits.otherBodyBytes)

  mount(router, 'post', '/auth/otp/start', async (ctx) => {
    refuseForeignPages(ctx, services)
    const sent = await body(ctx)
    const email = textField(sent, 'email', { max: emailChars })
    // The browser keeps its word, so that a second code replaces the first.
    const browser = wordOf(ctx, services, 'browser') ?? giveWord(ctx, services, 'browser')
    const invite = optionalTextField(sent, 'invite', { max: inviteChars })
    return toSent(await signIn.askForCode({ email, browser, invite }, visitorOf(ctx, services)), services)
  })

  mount(router, 'post', '/auth/sign-up', async (ctx) => {
    refuseForeignPages(ctx, services)
    const sent = await body(ctx)
    const email = textField(sent, 'email', { max: emailChars })
    const password = passwordField(sent, 'password')
    const browser = wordOf(ctx, services, 'browser') ?? giveWord(ctx, services, 'browser')
    const invite = optionalTextField(sent, 'invite', { max: inviteChars })
    return toSent(await signIn.askForCode({ email, browser, password, invite }, visitorOf(ctx, services)), services)
  })

  mount(router, 'post', '/auth/otp/verify', async (ctx) => {
    refuseForeignPages(ctx, services)
    const sent = await body(ctx)
    const email = textField(sent, 'email', { max: emailChars })
    const code = bareCode(textField(sent, 'code', { max: codeChars }))
    const invite = optionalTextField(sent, 'invite', { max: inviteChars })
    // Without the browser's word no code can be right; a made-up one keeps the way, and its time, the same.
    const browser = wordOf(ctx, services, 'browser') ?? ''
    const tried = await signIn.enterCode(email, code, browser, visitorOf(ctx, services), invite)
    const { account, created, invited } = await admit(ctx, services, tried)
    takeWord(ctx, services, 'browser')
    return { ok: true, account, created, invited }
  })

  // Looking is a POST as well, so that the word stands in no address and no log; it uses up nothing, because programs open links too.
  mount(router, 'post', '/auth/link/look', async (ctx) => {
    refuseForeignPages(ctx, services)
    const address = await signIn.lookAtLink(textField(await body(ctx), 'link', { max: codeChars }))
    if (address === undefined) throw overLink()
    return { email_masked: maskEmail(address) }
  })

  mount(router, 'post', '/auth/link/verify', async (ctx) => {
    refuseForeignPages(ctx, services)
    const link = textField(await body(ctx), 'link', { max: codeChars })
    const tried = await signIn.openLink(link, wordOf(ctx, services, 'browser'), visitorOf(ctx, services))
    if (tried.kind === 'wrong') throw overLink()
    const { account, created, invited } = await admit(ctx, services, tried)
    takeWord(ctx, services, 'browser')
    return { ok: true, account, created, invited }
  })

  mount(router, 'post', '/auth/sign-in', async (ctx) => {
    refuseForeignPages(ctx, services)
    const sent = await body(ctx)
    const email = textField(sent, 'email', { max: emailChars })
    const password = passwordField(sent, 'password')
    const { account } = await admit(ctx, services, await signIn.enterPassword(email, password, visitorOf(ctx, services)))
    return { ok: true, account }
  })

  mount(router, 'post', '/auth/sign-out', async (ctx) => {
    const member = await requireSession(ctx, services)
    await store.sessions.end(member.account.id, member.credential.id)
    credentials.forgetAccount(member.account.id)
    await membership.note('signed_out', member.account.id, visitorOf(ctx, services), { session: member.credential.id })
    if (member.credential.kind === 'cookie') takeSession(ctx, services)
    return { ok: true }
  })

  mount(router, 'get', '/auth/session', async (ctx) => {
    const member = await requireSession(ctx, services)
    const session = await sessionOf(member, services)
    const record = await store.accounts.findForSignIn(member.account.id)
    return {
      account: toAccountRecord(member.account, record?.passwordHash != null),
      session: toSessionRecord(session, session.id),
    }
  })

  mount(router, 'post', '/auth/proof/start', async (ctx) => {
    const member = await requireCookie(ctx, services)
    await desk.askForProof(await sessionOf(member, services), visitorOf(ctx, services))
    return sentRecord
  })

  mount(router, 'post', '/auth/password', async (ctx) => {
    const member = await requireCookie(ctx, services)
    const sent = await body(ctx)
    const password = passwordField(sent, 'password')
    const session = await sessionOf(member, services)
    const changed = await desk.changePassword(session, evidenceIn(sent), password, visitorOf(ctx, services))
    if (changed.kind === 'password') throw badPassword(changed.why)
    if (changed.kind !== 'changed') throw unproven(changed.kind)
    giveSession(ctx, services, changed.token)
    return { ok: true, ended_sessions: changed.endedSessions }
  })

  mount(router, 'post', '/auth/delete-account', async (ctx) => {
    const member = await requireCookie(ctx, services)
    const sent = await body(ctx)
    const confirm = textField(sent, 'confirm', { max: emailChars })
    if (confirm.trim().toLowerCase() !== member.account.email)
      throw invalidRequest(
        { en: "'confirm' must be the account's own mail address.", zh: "'confirm' 必须是该账户自己的邮箱地址。" },
        'confirm',
      )
    const result = await desk.deleteAccount(await sessionOf(member, services), evidenceIn(sent), visitorOf(ctx, services))
    if (result !== 'deleted') throw unproven(result)
    takeSession(ctx, services)
    return { ok: true, deleted: true }
  })
}

/** Sets the session's cookie, and ends the session that the browser had before: a sign-in never goes on with an old value. */
export async function admit(ctx: Context, services: Services, tried: TrySignIn): Promise<AccountNews> {
  if (tried.kind === 'no-sign-up') throw noSignUp(tried.why, services)
  if (tried.kind !== 'signed-in') throw new GatewayError('invalid_credentials')
  await endFormer(ctx, services)
  giveSession(ctx, services, tried.token)
  giveDevice(ctx, services, tried.account.id)
  return newsOf(tried)
}

async function endFormer(ctx: Context, { names, store, credentials }: Services): Promise<void> {
  const former = readCookie(ctx.req.headers.cookie, names.cookie)
  const found = former === null ? undefined : await store.sessions.findByHash(hashToken(former))
  if (found === undefined) return
  await store.sessions.end(found.account.id, found.session.id)
  credentials.forgetAccount(found.account.id)
}

export interface AccountNews {
  readonly account: Record<string, unknown>
  readonly created: boolean
  readonly invited: boolean
}

function newsOf({ account, hasPassword, created, invited }: SignedIn): AccountNews {
  return { account: toAccountRecord(account, hasPassword), created, invited }
}

export function toAccountRecord(account: Account, hasPassword: boolean): Record<string, unknown> {
  return {
    id: account.id,
    email: account.email,
    email_masked: maskEmail(account.email),
    plan: account.plan,
    has_password: hasPassword,
    created_at: new Date(account.createdAt).toISOString(),
  }
}

const sentRecord = { ok: true, sent: true, expires_in: codeLifeMs / 1000, resend_after: resendAfterMs / 1000 } as const

function toSent(asked: AskForCode, services: Services): typeof sentRecord {
  if (asked.kind === 'address') throw badAddress(asked.why)
  if (asked.kind === 'password') throw badPassword(asked.why)
  if (asked.kind === 'no-sign-up') throw noSignUp(asked.why, services)
  return sentRecord
}

/** What a member shows besides their session: the password, or the code of `proof/start`. */
function evidenceIn(sent: Readonly<Record<string, unknown>>): Evidence {
  return {
    current: sent['current'] === undefined || sent['current'] === null ? null : passwordField(sent, 'current'),
    code: bareCode(optionalTextField(sent, 'code', { max: codeChars })),
  }
}

function bareCode<Code extends string | null>(code: Code): Code {
  return (code === null ? null : code.replaceAll(/[\s-]/g, '')) as Code
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
