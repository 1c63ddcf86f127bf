/** Finds the account of a proven address, and creates it where the person may sign up. */
import type { Account } from '../../identity/account.ts'
import type { AuditWriter } from '../../identity/audit.ts'
import type { ClientInfo } from '../../identity/client-info.ts'
import { checkSignUp } from '../../identity/sign-up-rules.ts'
import type { SignUpRefusal, SignUpRules } from '../../identity/sign-up-rules.ts'
import type { Store } from '../../store.ts'
import type { VerifiedEmail } from './email-verification-service.ts'
import type { UsageCarryOverService } from '../usage-carry-over-service.ts'
import type { Mailboxes } from '../mailboxes.ts'

interface SignUpDeps {
  readonly store: Pick<Store, 'accounts' | 'boosts'>
  readonly usageCarryOver: UsageCarryOverService
  readonly writeAudit: AuditWriter
  readonly clock: { now(): number }
  readonly ids: { next(prefix: string, now: number): string }
  readonly rules: SignUpRules
  readonly mailboxes: Mailboxes
  /** The plan of a new account. */
  readonly defaultPlan: string
}

export interface ResolvedAccount {
  readonly account: Account
  /** The account was just created. */
  readonly isNewAccount: boolean
  /** The new account counts as an invitation of another member. */
  readonly invited: boolean
}

/** The address has no account and may not have one. */
export interface SignUpRefused {
  readonly kind: 'no-sign-up'
  readonly reason: SignUpRefusal
}

export class SignUpService {
  readonly #deps: SignUpDeps

  constructor(deps: SignUpDeps) {
    this.#deps = deps
  }

  /** The account of the address, or of another address of the same mailbox: its reader is the same person. */
  async findAccount(address: string): Promise<Account | undefined> {
    const [account] = await this.#deps.mailboxes.listOfMailbox(address)
    return account
  }

  /** Null if the address may sign up. */
  async checkRefusal(address: string, invite: string | null): Promise<SignUpRefusal | null> {
    const { store, rules } = this.#deps
    return checkSignUp(address, rules, async () => invite !== null && (await store.boosts.findInviter(invite)) !== undefined)
  }

  /** The account of a proven address, or a new one if allowed. */
  async findOrCreateAccount(
    { address, passwordHash, invite }: VerifiedEmail,
    client: ClientInfo,
  ): Promise<ResolvedAccount | SignUpRefused> {
    const { store, usageCarryOver, clock, ids, writeAudit, mailboxes, defaultPlan } = this.#deps
    const existingAccount = await this.findAccount(address)
    if (existingAccount !== undefined) return { account: existingAccount, isNewAccount: false, invited: false }
    const reason = await this.checkRefusal(address, invite)
    if (reason !== null) return { kind: 'no-sign-up', reason }
    const at = clock.now()
    const id = ids.next('acc_', at)
    const account = await store.accounts.create(
      { id, email: address, plan: defaultPlan, passwordHash, emailVerified: true, at },
      { onePerMailbox: mailboxes.mergesAliases },
    )
    if (account === undefined) {
      // A concurrent sign-in with this or another spelling created it.
      const other = await this.findAccount(address)
      if (other === undefined) throw new Error('the account disappeared during sign-in')
      return { account: other, isNewAccount: false, invited: false }
    }
    // Before the account can have a key.
    await usageCarryOver.importUsage(account)
    await writeAudit('account_created', id, client, null)
    return { account, isNewAccount: true, invited: invite !== null && (await this.#recordInvite(account, address, invite)) }
  }

  /** An unknown code does not turn a new member away; it is ignored. */
  async #recordInvite(account: Account, address: string, code: string): Promise<boolean> {
    const { store, clock, mailboxes } = this.#deps
    const inviter = await store.boosts.findInviter(code)
    if (inviter === undefined) return false
    return store.boosts.recordInvite({
      invited: account.id,
      inviter: inviter.account,
      person: mailboxes.hashPerson(address),
      inviterPerson: mailboxes.hashPerson(inviter.email ?? inviter.account),
      at: clock.now(),
    })
  }
}
