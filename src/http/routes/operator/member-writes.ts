/** What operators change about members: each with a reason, and through the services that the commands use. */
import {
  adjustMemberCredits,
  createMember,
  endMemberSessions,
  resendSignInEmail,
  revokeMemberKey,
  setMemberPlan,
  setMemberStatus,
} from '../../../api/operator/members.ts'
import { anyEmailDomain, parseEmail } from '../../../domain/identity/email/email-address.ts'
import { mintToken } from '../../../domain/identity/session.ts'
import { unknownReader } from '../../../domain/identity/reader.ts'
import type { Account } from '../../../domain/identity/account.ts'
import type { OperatorAuthor } from '../../../domain/services/operators/operator-author.ts'
import { GatewayError, invalidRequest } from '../../../errors.ts'
import { createMailUnavailableError } from '../../../services/membership-errors.ts'
import type { Services } from '../../../services/services.ts'
import type { ServeOperatorEndpoint } from '../../operator-endpoint.ts'
import { requireMember, toMember } from './member-reads.ts'

const yearMs = 365 * 86_400_000

export function mountMemberWrites(serve: ServeOperatorEndpoint, services: Services): void {
  const { membership, config, clock, ids, store } = services
  const { memberAdmin } = membership

  const givePlan = async (account: Account, plan: string, until: string | undefined, author: OperatorAuthor) => {
    const end = until === undefined ? null : parseFuture('until', until, services)
    const given = await memberAdmin.setPlan(account, { plan: requirePlan(plan, services), until: end }, author)
    if (given === undefined) throw createDeletedError()
    return given
  }

  serve(createMember, async ({ body: { email, plan = config.defaultPlan, until }, author }) => {
    const verdict = parseEmail(email, { ...config.signIn, ...anyEmailDomain })
    if (verdict.kind !== 'good')
      throw invalidRequest({ en: "'email' is not a mail address.", zh: "'email' 不是有效的邮箱地址。" }, 'email')
    requirePlan(plan, services)
    if (until !== undefined) parseFuture('until', until, services)
    // With an end it is a subscription, which follows the account.
    const first = until === undefined ? plan : config.defaultPlan
    const account = await memberAdmin.createAccount({ email: verdict.email, plan: first, passwordHash: null }, author)
    if (account === undefined) throw new GatewayError('conflict', { message: takenMessage, param: 'email' })
    if (until !== undefined) await givePlan(account, plan, until, author)
    return toMember(await requireMember(account.id, services))
  })

  serve(setMemberPlan, async ({ params: { id }, body: { plan, until }, author }) => {
    const account = await requireMember(id, services)
    const given = await givePlan(account, plan, until, author)
    return { member: toMember(await requireMember(account.id, services)), given_plan: given.plan }
  })

  serve(adjustMemberCredits, async ({ params: { id }, body, author }) => {
    const account = await requireMember(id, services)
    if (account.status === 'deleted') throw createDeletedError()
    const { pool, credits, expires_at: expires, reason } = body
    if (credits === 0) throw invalidRequest({ en: "'credits' must not be 0.", zh: "点数 'credits' 不能为 0。" }, 'credits')
    const now = clock.now()
    const expiresAt = expires === undefined ? now + yearMs : parseFuture('expires_at', expires, services)
    const correction = { id: ids.next('adj_', now), pool, credits, expiresAt, reason }
    const result = await memberAdmin.adjustCredits(account, correction, author)
    if (result.kind === 'over_daily_limit') throw new GatewayError('permission_denied', { message: dailyLimitMessage })
    return { ok: true, id: correction.id }
  })

  serve(setMemberStatus, async ({ params: { id }, body: { status }, author }) => {
    const account = await requireMember(id, services)
    if (!(await memberAdmin.setStatus(account, status, author))) throw createDeletedError()
    return toMember(await requireMember(account.id, services))
  })

  serve(endMemberSessions, async ({ params: { id }, author }) => {
    const { id: account } = await requireMember(id, services)
    return { ok: true, ended_sessions: await memberAdmin.endSessions(account, author) }
  })

  serve(resendSignInEmail, async ({ params: { id }, author }) => {
    const { id: account, email } = await requireMember(id, services)
    const { client } = author
    if (email === null || client === null) throw createDeletedError()
    // The code of the email works in no browser, its link in each.
    const browser = mintToken((size) => ids.bytes(size))
    const reader = { ...client, reader: unknownReader, deviceTokens: null }
    const result = await membership.signIn.requestCode({ email, browser }, reader)
    if (result.kind === 'mail_unavailable') throw createMailUnavailableError(result.retryAfterMs)
    if (result.kind !== 'sent') throw new GatewayError('conflict', { message: noSignInEmailMessage })
    await memberAdmin.recordSentEmail(account, author)
    return { ok: true, is_delayed: result.isDelayed }
  })

  serve(revokeMemberKey, async ({ params: { id, key: keyId }, author }) => {
    const { id: account } = await requireMember(id, services)
    const key = await store.apiKeys.find(keyId)
    if (key === undefined || key.account !== account) throw new GatewayError('not_found')
    await memberAdmin.revokeKey(key, author)
    return { ok: true, id: key.id }
  })
}

function requirePlan(plan: string, { config }: Services): string {
  if (Object.hasOwn(config.plans, plan)) return plan
  const plans = Object.keys(config.plans).join(', ')
  throw invalidRequest({ en: `there is no plan of this name. Plans: ${plans}.`, zh: `没有该套餐。可用套餐：${plans}。` }, 'plan')
}

function parseFuture(param: string, text: string, { clock }: Services): number {
  const at = Date.parse(text)
  if (at > clock.now()) return at
  throw invalidRequest({ en: `'${param}' must be in the future.`, zh: `'${param}' 必须是将来的时间。` }, param)
}

function createDeletedError(): GatewayError {
  return new GatewayError('conflict', {
    message: { en: 'This account is deleted and stays so.', zh: '该账户已删除，无法恢复。' },
  })
}

const takenMessage = { en: 'There is an account for this address already.', zh: '该邮箱已有账户。' }
const dailyLimitMessage = {
  en: 'This is more than the key may move today. Nothing was changed.',
  zh: '超过该密钥今日的额度上限，未做任何更改。',
}
const noSignInEmailMessage = {
  en: 'This account does not sign in by email.',
  zh: '该账户不使用邮件登录。',
}
