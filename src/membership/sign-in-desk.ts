/**
 * Where people prove who they are: by a letter's code or link, by password, or by a provider's word.
 *
 * Nobody learns here whether an address has an account: known and unknown take the same way, the same time, and get the same answer.
 *
 * How often somebody may be guessed. There are two things to guess, a password and a six-digit code, and two kinds of browsers to guess from,
 * strangers and known devices (`known-device.ts`). For each of the four pairs an account has five guesses in any hour, whoever makes them and
 * from however many addresses:
 *
 *   5 `password-by-address` + 5 `password-by-device` + 5 `code-tries` of strangers + 5 `code-tries` of known devices = 20 an hour,
 *
 * of which whoever has never signed in to the account has 10. A password asked for again within a session, and a code that confirms a change
 * (`account-desk.ts`), count with the known devices'. All addresses of one mailbox (`mailboxOf`) count together. A right guess counts as none.
 *
 * Who wants to lock an owner out can use up the strangers' guesses and letters, but not what a known device has of its own, and not the links:
 * the letters that were used up lie in the owner's mailbox, and each opens (`letter-rules.ts`).
 */
import { createHash } from 'node:crypto'
import type { Account, SignInRecord } from './account.ts'
import { hashToken } from './api-key.ts'
import { maskAddress } from './audit.ts'
import type { Note } from './audit.ts'
import type { AllowanceName, Allowances } from './allowances.ts'
import { knowsAccount } from './known-device.ts'
import type { Letters, Proof } from './letters.ts'
import type { AddressRules } from './mail-address.ts'
import { anyDomain, canonicalAddress, judgeAddress, mailboxOf, personOf } from './mail-address.ts'
import type { MemberMail } from './member-mail.ts'
import type { PasswordVerdict } from './password-rules.ts'
import { judgePassword } from './password-rules.ts'
import type { PasswordWork } from './password-work.ts'
import type { PersonDesk } from './person-desk.ts'
import type { Session, SessionMethod } from './session.ts'
import { lifetimes, mintToken } from './session.ts'
import { whyNoSignUp } from './sign-up.ts'
import type { NoSignUp, SignUpRules } from './sign-up.ts'
import type { Store } from './store.ts'
import type { Visitor } from './visitor.ts'

export interface SignInParts {
  readonly store: Pick<Store, 'accounts' | 'sessions' | 'identities' | 'boosts'>
  readonly allowances: Allowances
  readonly passwords: PasswordWork
  readonly letters: Letters
  readonly persons: PersonDesk
  readonly mail: MemberMail
  readonly note: Note
  readonly clock: { now(): number }
  readonly ids: { next(prefix: string, now: number): string; bytes(size: number): Uint8Array }
  /** The installation's secret. */
  readonly secret: Uint8Array
  readonly rules: AddressRules & SignUpRules
  /** The plan of a new account. */
  readonly defaultPlan: string
  /** Called when an account's credentials changed, so that no memory of them is used again. */
  readonly forget: (account: string) => void
}

/** Somebody asks for a letter. */
export interface Asking {
  readonly email: string
  /** The token that their browser keeps. */
  readonly browser: string
  /** Becomes the new account's; asking with one is signing up, and refused as such. */
  readonly password?: string | null
  readonly invite?: string | null
}

export type AskForCode =
  | { readonly kind: 'sent' }
  | { readonly kind: 'address'; readonly why: 'malformed' | 'blocked' }
  | { readonly kind: 'password'; readonly why: Exclude<PasswordVerdict, 'good'> }
  | { readonly kind: 'no-sign-up'; readonly why: NoSignUp }

export interface SignedIn {
  readonly kind: 'signed-in'
  readonly account: Account
  readonly hasPassword: boolean
  readonly session: Session
  /** The cookie's value; only its hash is kept. */
  readonly token: string
  /** The account was made just now. */
  readonly created: boolean
  /** The new account counts as somebody's invitation. */
  readonly invited: boolean
}

export type TrySignIn =
  | SignedIn
  | { readonly kind: 'wrong' }
  /** The address is proven, has no account, and may not have one. */
  | { readonly kind: 'no-sign-up'; readonly why: NoSignUp }

/** What a provider says of the person, checked by the protocol. */
export interface ProviderClaims {
  readonly provider: string
  readonly subject: string
  readonly email: string | null
  readonly emailVerified: boolean
}

export type ProviderSignIn =
  | SignedIn
  /** The provider does not vouch for the address. */
  | { readonly kind: 'email_unverified' }
  /** There is an account for the address whose own address was never proven. */
  | { readonly kind: 'link_refused' }
  | { readonly kind: 'account_unavailable' }
  | { readonly kind: 'no-sign-up'; readonly why: NoSignUp }

interface Arrival {
  readonly account: Account
  readonly created: boolean
  readonly invited: boolean
}

export class SignInDesk {
  readonly #parts: SignInParts

  constructor(parts: SignInParts) {
    this.#parts = parts
  }

  /** Sends a letter that signs in, and makes the account where there is none. @throws Busy */
  async askForCode({ email, browser, password = null, invite = null }: Asking, visitor: Visitor): Promise<AskForCode> {
    const { passwords, letters, mail, rules } = this.#parts
    const verdict = judgeAddress(email, rules)
    if (verdict.kind !== 'good') return { kind: 'address', why: verdict.kind }
    const { address } = verdict
    const account = await this.#accountAt(address)
    const barred = await this.#whyNoSignUp(address, invite)
    if (password !== null) {
      const judged = judgePassword(password, address)
      if (judged !== 'good') return { kind: 'password', why: judged }
      // Whoever has an account is told the same: signing up is not how they come in.
      if (barred !== null) return { kind: 'no-sign-up', why: barred }
    }
    const secrets = await letters.write({
      address,
      mailbox: this.#mailboxOf(address),
      network: visitor.network,
      known: account !== undefined && this.#knows(visitor, account.id),
      passwordHash: password === null ? null : await passwords.hash(password),
      invite,
      browser,
    })
    // Who could do nothing with it is not written to, and whoever asks is told the same, and no sooner.
    await mail.code(account !== undefined || barred === null ? address : null, secrets)
    return { kind: 'sent' }
  }

  /** @throws Busy */
  async enterCode(email: string, code: string, browser: string, visitor: Visitor, invite: string | null): Promise<TrySignIn> {
    const { allowances, letters, clock, rules } = this.#parts
    const verdict = judgeAddress(email, rules)
    const address = verdict.kind === 'good' ? verdict.address : null
    const known = await this.#isKnownAt(address, visitor)
    if (!known) await allowances.take('verify-by-network', visitor.network, clock.now())
    const proof = address === null ? undefined : await letters.enterCode(address, code, browser)
    if (proof === undefined) return this.#wrong(address, 'code', visitor)
    if (!known) await allowances.giveBack('verify-by-network', visitor.network)
    return this.#enterProven(proof, invite, visitor)
  }

  /** The address that a link proves; nothing is used up. */
  async lookAtLink(link: string): Promise<string | undefined> {
    return this.#parts.letters.look(link)
  }

  /** A token of 256 bits is not guessed, so nothing is counted. */
  async openLink(link: string, browser: string | null, visitor: Visitor): Promise<TrySignIn> {
    const proof = await this.#parts.letters.openLink(link, browser)
    return proof === undefined ? this.#wrong(null, 'code', visitor) : this.#enterProven(proof, null, visitor)
  }

  /** Whose address is proven. */
  async #enterProven(proof: Proof, invite: string | null, visitor: Visitor): Promise<TrySignIn> {
    const { store, note } = this.#parts
    const { address, passwordHash } = proof
    const arrival = await this.#accountOf(address, passwordHash, invite ?? proof.invite, visitor)
    if ('kind' in arrival) return arrival
    const { account, created } = arrival
    if (!created && (await store.accounts.confirmAddress(account.id))) this.#parts.forget(account.id)
    const record = await store.accounts.findForSignIn(account.id)
    // The owner of the address has no password yet and asked for this one in this browser: now it is theirs.
    if (!created && passwordHash !== null && record?.passwordHash === null) {
      await store.accounts.setPasswordHash(account.id, passwordHash)
      await note('password_changed', account.id, visitor, null)
    }
    return (await this.#openSession(account.id, 'code', visitor, arrival)) ?? this.#wrong(address, 'code', visitor)
  }

  /** @throws Busy */
  async enterPassword(email: string, password: string, visitor: Visitor): Promise<TrySignIn> {
    const { store, allowances, passwords, note, clock, rules } = this.#parts
    const now = clock.now()
    const verdict = judgeAddress(email, { ...rules, ...anyDomain })
    const address = verdict.kind === 'good' ? verdict.address : null
    const record = address === null ? undefined : await this.#recordAt(address)
    const counted: [AllowanceName, string][] =
      record !== undefined && this.#knows(visitor, record.account.id)
        ? [['password-by-device', record.account.id]]
        : [
            ['password-by-network', visitor.network],
            ['password-by-address', subjectOf(this.#mailboxOf(address ?? email))],
          ]
    for (const [name, subject] of counted) await allowances.take(name, subject, now, 'letter')
    const usable = record !== undefined && record.account.status === 'active' && record.emailVerified
    const { ok, rehash } = await passwords.verify(password, usable ? record.passwordHash : null)
    if (!usable || !ok) return this.#wrong(address, 'password', visitor)
    const opened = await this.#openSession(record.account.id, 'password', visitor, { created: false, invited: false })
    if (opened === undefined) return this.#wrong(address, 'password', visitor)
    // Changed while this one was checked: the change ended every other session before this one was there to be ended.
    const latest = await store.accounts.findForSignIn(record.account.id)
    const changed = latest?.passwordHash !== record.passwordHash
    if (changed && !(await passwords.verify(password, latest?.passwordHash ?? null)).ok) {
      await store.sessions.end(record.account.id, opened.session.id)
      await note('session_ended', record.account.id, visitor, { session: opened.session.id })
      return this.#wrong(address, 'password', visitor)
    }
    for (const [name, subject] of counted) await allowances.giveBack(name, subject)
    if (rehash && !changed) await store.accounts.setPasswordHash(record.account.id, await passwords.hash(password))
    return opened
  }

  /** Links a provider's identity by verified address only: verified by the provider, and proven here. */
  async enterByProvider(claims: ProviderClaims, visitor: Visitor, invite: string | null): Promise<ProviderSignIn> {
    const { store, clock, rules } = this.#parts
    const { provider, subject } = claims
    const known = await store.identities.find(provider, subject)
    if (known !== undefined) {
      const opened = await this.#openSession(known, 'provider', visitor, { created: false, invited: false })
      return opened ?? { kind: 'account_unavailable' }
    }
    if (claims.email === null || !claims.emailVerified) return { kind: 'email_unverified' }
    const verdict = judgeAddress(claims.email, rules)
    if (verdict.kind !== 'good') return { kind: 'account_unavailable' }
    const arrival = await this.#accountOf(verdict.address, null, invite, visitor)
    if ('kind' in arrival) return arrival
    const { account } = arrival
    const record = await store.accounts.findForSignIn(account.id)
    if (record?.account.status !== 'active') return { kind: 'account_unavailable' }
    if (!record.emailVerified) return { kind: 'link_refused' }
    if (await store.identities.link(provider, subject, account.id, clock.now())) {
      await this.#parts.note('provider_linked', account.id, visitor, { provider })
    }
    return (await this.#openSession(account.id, 'provider', visitor, arrival)) ?? { kind: 'account_unavailable' }
  }

  /** The account of a proven address: its own, the one of the same mailbox's other address, or a new one where that may be. */
  async #accountOf(
    address: string,
    passwordHash: string | null,
    invite: string | null,
    visitor: Visitor,
  ): Promise<Arrival | { readonly kind: 'no-sign-up'; readonly why: NoSignUp }> {
    const { store, persons, clock, ids, note, defaultPlan } = this.#parts
    const known = await this.#accountAt(address)
    if (known !== undefined) return { account: known, created: false, invited: false }
    const barred = await this.#whyNoSignUp(address, invite)
    if (barred !== null) return { kind: 'no-sign-up', why: barred }
    const at = clock.now()
    const id = ids.next('acc_', at)
    const made = await store.accounts.create({ id, email: address, plan: defaultPlan, passwordHash, emailVerified: true, at })
    if (made === undefined) {
      const other = await store.accounts.find(address)
      if (other === undefined) throw new Error('an account was taken and is gone at once')
      return { account: other, created: false, invited: false }
    }
    // Before anybody can have a key of it.
    await persons.carryTo(made)
    await note('account_created', id, visitor, null)
    return { account: made, created: true, invited: invite !== null && (await this.#recordInvite(made, address, invite)) }
  }

  async #whyNoSignUp(address: string, invite: string | null): Promise<NoSignUp | null> {
    const { store, rules } = this.#parts
    return whyNoSignUp(address, rules, async () => invite !== null && (await store.boosts.inviterOf(invite)) !== undefined)
  }

  async #accountAt(address: string): Promise<Account | undefined> {
    const { store, rules } = this.#parts
    const exact = await store.accounts.find(address)
    if (exact !== undefined || !rules.mergeAliases) return exact
    // Another spelling of the same mailbox: whoever reads its letters is the same person.
    const mailbox = mailboxOf(address, true)
    const aliases = await store.accounts.ofMailbox(canonicalAddress(address, true))
    return aliases.find(({ email }) => email !== null && mailboxOf(email, true) === mailbox)
  }

  async #recordAt(address: string): Promise<SignInRecord | undefined> {
    const account = await this.#accountAt(address)
    return account && this.#parts.store.accounts.findForSignIn(account.id)
  }

  #mailboxOf(address: string): string {
    return mailboxOf(address.toLowerCase(), this.#parts.rules.mergeAliases)
  }

  async #isKnownAt(address: string | null, visitor: Visitor): Promise<boolean> {
    // Most have never signed in to anything: for them nothing is looked up.
    if (address === null || visitor.device === null) return false
    const account = await this.#accountAt(address)
    return account !== undefined && this.#knows(visitor, account.id)
  }

  #knows({ device }: Visitor, account: string): boolean {
    return knowsAccount(this.#parts.secret, device, account)
  }

  /** A code that nobody has is no reason to turn a new member away; it just counts for nobody. */
  async #recordInvite(account: Account, address: string, code: string): Promise<boolean> {
    const { store, clock, secret, rules } = this.#parts
    const inviter = await store.boosts.inviterOf(code)
    if (inviter === undefined) return false
    return store.boosts.recordInvite({
      invited: account.id,
      inviter: inviter.account,
      person: personOf(secret, address, rules.mergeAliases),
      inviterPerson: personOf(secret, inviter.email ?? inviter.account, rules.mergeAliases),
      at: clock.now(),
    })
  }

  /** Undefined when the account may not sign in. */
  async #openSession(
    accountId: string,
    method: SessionMethod,
    visitor: Visitor,
    news: { readonly created: boolean; readonly invited: boolean },
  ): Promise<SignedIn | undefined> {
    const { store, clock, ids, note } = this.#parts
    const record = await store.accounts.findForSignIn(accountId)
    if (record?.account.status !== 'active') return undefined
    const at = clock.now()
    const token = mintToken((size) => ids.bytes(size))
    const session = {
      id: ids.next('ses_', at),
      account: accountId,
      kind: 'web' as const,
      method,
      client: visitor.client,
      address: maskAddress(visitor.address),
      createdAt: at,
      expiresAt: at + lifetimes.web.absoluteMs,
    }
    if (!(await store.sessions.create({ ...session, hash: hashToken(token) }))) return undefined
    await note('signed_in', accountId, visitor, { method, session: session.id })
    return {
      kind: 'signed-in',
      account: record.account,
      hasPassword: record.passwordHash !== null,
      session: { ...session, lastUsedAt: at },
      token,
      created: news.created,
      invited: news.invited,
    }
  }

  /** One record, whether or not there is such an account: the writing must not tell. */
  async #wrong(address: string | null, method: SessionMethod, visitor: Visitor): Promise<{ readonly kind: 'wrong' }> {
    const account = address === null ? undefined : await this.#accountAt(address)
    await this.#parts.note('sign_in_failed', account?.id ?? null, visitor, { method })
    return { kind: 'wrong' }
  }
}

/** Counters are kept for strangers' addresses too: not as they are. */
function subjectOf(mailbox: string): string {
  return createHash('sha256').update(mailbox).digest('base64url').slice(0, 22)
}
