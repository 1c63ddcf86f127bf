/** `svc-gateway account …` */
import { hashPassword } from '../membership/password.ts'
import { anyDomain, judgeAddress } from '../membership/mail-address.ts'
import { judgePassword, passwordLength } from '../membership/password-rules.ts'
import type { Account } from '../membership/account.ts'
import { secretOf } from '../gateway/open-store.ts'
import { instant } from '../membership/instant.ts'
import type { Balance } from '../membership/ledger.ts'
import { PersonDesk } from '../membership/person-desk.ts'
import { planFor } from '../membership/plan.ts'
import { toUsageBoosts, toUsagePools } from '../membership/usage.ts'
import { futureInstant, wholeNumber } from './boost.ts'
import { accountOf, CommandError, planOf, withInstallation } from './installation.ts'
import type { Installation } from './installation.ts'
import { say, table } from './output.ts'
import type { Output, Said } from './output.ts'

export function createAccount(options: Output & { email: string; plan?: string; password?: string }): Promise<Said> {
  return withInstallation(async (installation) => {
    const { store, ids, clock, config } = installation
    // As signing in reads it, or nobody could; whom the operator lets in may be at any domain.
    const verdict = judgeAddress(options.email, { ...config.signIn, ...anyDomain })
    if (verdict.kind !== 'good') throw new CommandError(`'${options.email}' is not a mail address.`)
    const email = verdict.address
    if (options.password !== undefined) refuseBadPassword(options.password, email)
    const at = clock.now()
    const account = await store.accounts.create({
      id: ids.next('acc_', at),
      email,
      plan: planOf(installation, options.plan ?? config.defaultPlan),
      passwordHash: options.password === undefined ? null : await hashPassword(options.password),
      emailVerified: true,
      at,
    })
    if (account === undefined)
      throw new CommandError(`There is an account for ${email} already. See: svc-gateway account show ${email}`)
    await installation.note('account_created', account.id)
    return say(
      options,
      toRecord(account),
      () =>
        `Account ${account.id} (${email}, plan ${account.plan}) was made.\nNext: svc-gateway key create --account ${email} --name "first key"`,
    )
  })
}

export function listAccounts(options: Output & { limit: string; after?: string }): Promise<Said> {
  return withInstallation(async ({ store }) => {
    const accounts = await store.accounts.list({
      limit: wholeNumber('--limit', options.limit),
      ...(options.after === undefined ? {} : { after: options.after }),
    })
    return say(options, { object: 'list', data: accounts.map(toRecord) }, () =>
      table(
        ['id', 'email', 'plan', 'status', 'created'],
        accounts.map(({ id, email, plan, status, createdAt }) => [id, email, plan, status, instant(createdAt)]),
      ),
    )
  })
}

export function showAccount(idOrEmail: string, options: Output): Promise<Said> {
  return withInstallation(async (installation) => {
    const account = await accountOf(installation, idOrEmail)
    const balance = await balanceOf(installation, account)
    const pools = toUsagePools(balance)
    const boosts = toUsageBoosts(balance)
    return say(options, { ...toRecord(account), pools, boosts }, () =>
      [
        table(
          ['id', 'email', 'plan', 'until', 'status', 'created'],
          [[account.id, account.email, account.plan, instant(account.planUntil), account.status, instant(account.createdAt)]],
        ),
        '',
        table(
          ['pool', 'window', 'limit', 'used', 'held', 'left', 'resets'],
          pools.map(({ tier, window, limit, used, reserved, remaining, resets_at }) => [
            tier,
            window,
            limit,
            used,
            reserved,
            remaining,
            resets_at,
          ]),
        ),
        ...(boosts.length === 0
          ? []
          : [
              '',
              table(
                ['boost', 'kind', 'pool', 'granted', 'left', 'expires'],
                boosts.map((pack) => [pack.id, pack.kind, pack.tier, pack.granted, pack.remaining, pack.expires_at]),
              ),
            ]),
      ].join('\n'),
    )
  })
}

export function setPlan(idOrEmail: string, options: Output & { plan: string; until?: string }): Promise<Said> {
  return changeAccount(idOrEmail, options, async (installation, account) => {
    const plan = planOf(installation, options.plan)
    const { clock, calendar } = installation
    const until = options.until === undefined ? undefined : futureInstant('--until', options.until, clock.now(), calendar)
    if (!(await installation.store.accounts.setPlan(account.id, plan, until))) throw staysDeleted(account)
    const end = until === undefined ? null : instant(until)
    await installation.note('plan_changed', account.id, end === null ? { plan } : { plan, until: end })
    const then = end === null ? '' : ` until ${end}, then ${installation.config.defaultPlan}`
    return `Account ${account.id} has plan ${plan} now${then}. What it has used stays used.`
  })
}

export function setStatus(idOrEmail: string, status: 'active' | 'disabled', options: Output): Promise<Said> {
  return changeAccount(idOrEmail, options, async (installation, account) => {
    if (!(await installation.store.accounts.setStatus(account.id, status))) throw staysDeleted(account)
    await installation.note(status === 'active' ? 'account_enabled' : 'account_disabled', account.id)
    return `Account ${account.id} is ${status} now.`
  })
}

export function deleteAccount(idOrEmail: string, options: Output & { yes?: boolean }): Promise<Said> {
  if (options.yes !== true)
    throw new CommandError(
      'This forgets the person and ends all their keys and sessions; the ledger stays. Say --yes if you mean it.',
    )
  return changeAccount(idOrEmail, options, async (installation, account) => {
    const { store, config, clock } = installation
    const secret = await secretOf(config)
    const persons = new PersonDesk({ ...installation, ledger: store.ledger, rules: config.signIn, secret })
    if (!(await store.accounts.forget(account.id, clock.now(), await persons.legacyOf(account)))) throw staysDeleted(account)
    await installation.note('account_deleted', account.id)
    return `Account ${account.id} was deleted. Its ledger stays, without the person.`
  })
}

function staysDeleted({ id }: Account): CommandError {
  return new CommandError(`Account ${id} is deleted and stays so.`)
}

function refuseBadPassword(password: string, email: string): void {
  const verdict = judgePassword(password, email)
  if (verdict === 'good') return
  const why = { short: 'is too short', long: 'is too long', common: 'is one that everybody tries first' }[verdict]
  throw new CommandError(
    `The password ${why}; use ${passwordLength.min} to ${passwordLength.max} characters that nobody would guess.`,
  )
}

function changeAccount(
  idOrEmail: string,
  options: Output,
  change: (installation: Installation, account: Account) => Promise<string>,
): Promise<Said> {
  return withInstallation(async (installation) => {
    const { id } = await accountOf(installation, idOrEmail)
    const said = await change(installation, await accountOf(installation, id))
    return say(options, toRecord(await accountOf(installation, id)), () => said)
  })
}

function balanceOf({ store, calendar, clock, config }: Installation, account: Account): Promise<Balance> {
  const at = clock.now()
  const plan = planFor(config, account.plan)
  return store.ledger.balance({ account: account.id, at, periods: calendar.at(at), limits: plan.pools })
}

function toRecord({ id, email, plan, planUntil, status, createdAt }: Account): Record<string, unknown> {
  return { id, email, plan, plan_until: instant(planUntil), status, created_at: instant(createdAt) }
}
