/** What operators do to members, for the operator API and the console alike: checked, and through the services that the commands use. */
import { anyEmailDomain, parseEmail } from '../domain/identity/email/email-address.ts'
import { unknownReader } from '../domain/identity/reader.ts'
import { listScopes } from '../domain/identity/operators/operator-actor.ts'
import { mintToken } from '../domain/identity/session.ts'
import type { Account } from '../domain/identity/account.ts'
import type { Pool } from '../domain/billing/catalog/product.ts'
import type { EntitlementChange } from '../domain/billing/subscriptions/subscription.ts'
import type { OperatorAuthor } from '../domain/services/operators/operator-author.ts'
import { GatewayError, invalidRequest } from '../errors.ts'
import { createMailUnavailableError } from './membership-errors.ts'
import type { Services } from './services.ts'

const yearMs = 365 * 86_400_000

/** By id or address. @throws GatewayError `not_found` */
export async function requireAccount(idOrEmail: string, { store }: Pick<Services, 'store'>): Promise<Account> {
  const account = await store.accounts.find(idOrEmail)
  if (account === undefined) throw new GatewayError('not_found')
  return account
}

interface NewMember {
  readonly email: string
  readonly plan: string
  readonly until: number | null
}

export async function createMember(
  { email, plan, until }: NewMember,
  author: OperatorAuthor,
  services: Services,
): Promise<Account> {
  const { membership, config } = services
  const address = requireAddress(email)
  requirePlan(plan, services)
  requireFuture('until', until, services)
  // With an end it is a subscription, which follows the account.
  const first = until === null ? plan : config.defaultPlan
  const account = await membership.memberAdmin.createAccount({ email: address, plan: first, passwordHash: null }, author)
  if (account === undefined) throw createTakenError()
  if (until !== null) await givePlan(account, { plan, until }, author, services)
  return requireAccount(account.id, services)
}

/** `until` null: without an end. Returns what the account has then, which may be a higher plan. */
export async function givePlan(
  account: Account,
  { plan, until }: { readonly plan: string; readonly until: number | null },
  author: OperatorAuthor,
  services: Services,
): Promise<EntitlementChange> {
  requireFuture('until', until, services)
  const entitlementChange = await services.membership.memberAdmin.setPlan(
    account,
    { plan: requirePlan(plan, services), until },
    author,
  )
  if (entitlementChange === undefined) throw createDeletedError()
  return entitlementChange
}

interface Correction {
  readonly pool: Pool
  /** Below zero they are taken. */
  readonly credits: number
  /** Of added credits; null: a year from now. */
  readonly expiresAt: number | null
  readonly reason: string
}

/** Returns the id of the correction. */
export async function adjustCredits(
  account: Account,
  { pool, credits, expiresAt, reason }: Correction,
  author: OperatorAuthor,
  services: Services,
): Promise<string> {
  const { membership, clock, ids } = services
  if (account.status === 'deleted') throw createDeletedError()
  if (credits === 0) throw invalidRequest({ en: "'credits' must not be 0.", zh: "点数 'credits' 不能为 0。" }, 'credits')
  requireFuture('expires_at', expiresAt, services)
  const now = clock.now()
  const correction = { id: ids.next('adj_', now), pool, credits, expiresAt: expiresAt ?? now + yearMs, reason }
  const result = await membership.memberAdmin.adjustCredits(account, correction, author)
  if (result.kind === 'over_daily_limit') throw new GatewayError('permission_denied', { message: dailyLimitMessage })
  return correction.id
}

export async function setMemberStatus(
  account: Account,
  status: 'active' | 'disabled',
  author: OperatorAuthor,
  services: Services,
): Promise<void> {
  const { membership } = services
  await requireRightTo(account, author, services)
  if (!(await membership.memberAdmin.setStatus(account, status, author))) throw createDeletedError()
}

/** The code of the email works in no browser, its link in each. */
export async function resendSignInEmail(
  { id, email }: Account,
  author: OperatorAuthor,
  { membership, ids }: Services,
): Promise<{ readonly isDelayed: boolean }> {
  const { client } = author
  if (email === null || client === null) throw createDeletedError()
  const browser = mintToken((size) => ids.bytes(size))
  const reader = { ...client, reader: unknownReader, deviceTokens: null }
  const result = await membership.signIn.requestCode({ email, browser }, reader)
  if (result.kind === 'mail_unavailable') throw createMailUnavailableError(result.retryAfterMs)
  if (result.kind !== 'sent') throw new GatewayError('conflict', { message: noSignInEmailMessage })
  await membership.memberAdmin.recordSentEmail(id, author)
  return { isDelayed: result.isDelayed }
}

export async function revokeMemberKey(
  account: Account,
  keyId: string,
  author: OperatorAuthor,
  { store, membership }: Services,
): Promise<void> {
  const key = await store.apiKeys.find(keyId)
  if (key === undefined || key.account !== account.id) throw new GatewayError('not_found')
  await membership.memberAdmin.revokeKey(key, author)
}

/** The operator vouches for the address; the old and the new one receive an email. */
export async function changeMemberEmail(
  account: Account,
  email: string,
  author: OperatorAuthor,
  services: Services,
): Promise<void> {
  const { membership } = services
  const address = requireAddress(email)
  if (account.status === 'deleted') throw createDeletedError()
  await requireRightTo(account, author, services)
  if (account.email === address) throw new GatewayError('conflict', { message: sameAddressMessage, param: 'email' })
  if (!(await membership.memberAdmin.changeEmail(account, address, author))) throw createTakenError()
}

/** The next sign-in with the provider and a verified address links again; sessions stay. */
export async function unlinkMemberProvider(
  account: Account,
  provider: string,
  author: OperatorAuthor,
  { membership }: Services,
): Promise<void> {
  const unlinkedAccounts = await membership.memberAdmin.unlinkProvider(provider, account.id, author)
  if (unlinkedAccounts.length === 0) throw new GatewayError('not_found')
}

/**
 * Who receives the emails of an operator can become that operator, and who disables one takes the role. A role without effect counts: it has
 * effect again when the account is enabled.
 */
async function requireRightTo({ id }: Account, { actor }: OperatorAuthor, { store }: Pick<Services, 'store'>): Promise<void> {
  if (actor.kind === 'command' || listScopes(actor).includes('roles:write') || !(await store.operators.hasRole(id))) return
  throw new GatewayError('permission_denied', { message: operatorAccountMessage })
}

function requireAddress(email: string): string {
  const verdict = parseEmail(email, anyEmailDomain)
  if (verdict.kind === 'good') return verdict.email
  throw invalidRequest({ en: "'email' is not a mail address.", zh: "'email' 不是有效的邮箱地址。" }, 'email')
}

function requirePlan(plan: string, { config }: Pick<Services, 'config'>): string {
  if (Object.hasOwn(config.plans, plan)) return plan
  const plans = Object.keys(config.plans).join(', ')
  throw invalidRequest({ en: `there is no plan of this name. Plans: ${plans}.`, zh: `没有该套餐。可用套餐：${plans}。` }, 'plan')
}

function requireFuture(param: string, at: number | null, { clock }: Pick<Services, 'clock'>): void {
  if (at === null || at > clock.now()) return
  throw invalidRequest({ en: `'${param}' must be in the future.`, zh: `'${param}' 必须是将来的时间。` }, param)
}

function createDeletedError(): GatewayError {
  return new GatewayError('conflict', {
    message: { en: 'This account is deleted and stays so.', zh: '该账户已删除，无法恢复。' },
  })
}

function createTakenError(): GatewayError {
  return new GatewayError('conflict', {
    message: { en: 'There is an account for this address already.', zh: '该邮箱已有账户。' },
    param: 'email',
  })
}

const dailyLimitMessage = {
  en: 'This is more than the key may move today. Nothing was changed.',
  zh: '超过该密钥今日的额度上限，未做任何更改。',
}
const noSignInEmailMessage = {
  en: 'This account does not sign in by email.',
  zh: '该账户不使用邮件登录。',
}
const sameAddressMessage = {
  en: 'The account has this address already.',
  zh: '该账户已使用此邮箱。',
}
const operatorAccountMessage = {
  en: 'This account has a role, so only an owner changes its address or status.',
  zh: '该账户拥有角色，只有所有者可以更改其邮箱或状态。',
}
