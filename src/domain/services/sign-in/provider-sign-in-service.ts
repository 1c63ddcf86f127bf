/** Signs in through a provider: finds the account of an identity, or links the identity to the account of its proven address. */
import type { AuditWriter } from '../../identity/audit.ts'
import type { ClientInfo } from '../../identity/client-info.ts'
import type { EmailRules } from '../../identity/email/email-address.ts'
import { parseEmail } from '../../identity/email/email-address.ts'
import type { Store } from '../../store.ts'
import type { OpenedSession, SessionService } from './session-service.ts'
import type { OperatorRoleService } from '../operators/operator-role-service.ts'
import type { GroupPlanService } from './group-plan-service.ts'
import type { SignUpService } from './sign-up-service.ts'

interface ProviderSignInDeps {
  readonly store: Pick<Store, 'accounts' | 'accountDeletions' | 'providerIdentities'>
  readonly signUp: SignUpService
  readonly sessions: SessionService
  readonly operatorRoles: Pick<OperatorRoleService, 'applyGroups'>
  readonly groupPlans: Pick<GroupPlanService, 'applyGroups'>
  readonly writeAudit: AuditWriter
  readonly clock: { now(): number }
  readonly rules: EmailRules
}

/** A provider's claims about the person, validated by the protocol. */
interface ProviderClaims {
  readonly provider: string
  readonly subject: string
  readonly email: string | null
  readonly emailVerified: boolean
  /** Of the provider, as the configured claim has them. */
  readonly groups: readonly string[]
}

/** Why a provider's sign-in was refused; also a code in the address of the page that says so. */
export type ProviderRefusal =
  /** The provider gave no address. */
  | 'email_missing'
  /** The provider has not verified the address. */
  | 'email_unverified'
  /** The address cannot be that of an account here. */
  | 'email_unusable'
  /** The account of the address has never proven it. */
  | 'link_refused'
  /** Another subject of the provider is linked to the account of the address. */
  | 'linked_elsewhere'
  /** The account is disabled. */
  | 'account_unavailable'
  /** The account waits to be deleted. */
  | 'deletion_waiting'
  | 'sign_up_closed'

type ProviderSignInResult =
  | (OpenedSession & {
      readonly kind: 'signed-in'
      /** The address that the provider has verified instead of the account's, where no other account has it. */
      readonly changedEmail: string | null
    })
  | { readonly kind: 'refused'; readonly reason: ProviderRefusal; readonly account: string | null }

export class ProviderSignInService {
  readonly #deps: ProviderSignInDeps

  constructor(deps: ProviderSignInDeps) {
    this.#deps = deps
  }

  /**
   * Signs in to the account of a provider's identity. A new identity is linked by verified address: verified by the provider, and proven here.
   * An account has one identity of each provider, because addresses are given to other people.
   */
  async signIn(claims: ProviderClaims, client: ClientInfo, invite: string | null): Promise<ProviderSignInResult> {
    const { store, signUp, clock, rules } = this.#deps
    const { provider, subject } = claims
    const verdict = claims.email === null ? null : parseEmail(claims.email, rules)
    const address = verdict?.kind === 'good' && claims.emailVerified ? verdict.email : null
    const linkedAccount = await store.providerIdentities.find(provider, subject)
    if (linkedAccount !== undefined) return this.#openProviderSession(linkedAccount, claims, client, address)
    if (address === null) {
      const reason = verdict === null ? 'email_missing' : verdict.kind === 'good' ? 'email_unverified' : 'email_unusable'
      return this.#refuseProvider(reason, provider, null, client)
    }
    const resolution = await signUp.findOrCreateAccount({ address, passwordHash: null, invite }, client)
    if ('kind' in resolution) return this.#refuseProvider('sign_up_closed', provider, null, client)
    const { account } = resolution
    const record = await store.accounts.findForSignIn(account.id)
    if (record?.account.status !== 'active') return this.#refuseDisabled(provider, account.id, client)
    if (!record.emailVerified) return this.#refuseProvider('link_refused', provider, account.id, client)
    const outcome = await store.providerIdentities.link(provider, subject, account.id, clock.now())
    if (outcome === 'other_subject') return this.#refuseProvider('linked_elsewhere', provider, account.id, client)
    // A concurrent sign-in of this identity may have linked it to another account.
    const ownerAccount = outcome === 'linked' ? account.id : await store.providerIdentities.find(provider, subject)
    if (ownerAccount !== account.id) return this.#openProviderSession(ownerAccount ?? account.id, claims, client, address)
    if (outcome === 'linked') await this.#deps.writeAudit('provider_linked', account.id, client, { provider })
    return this.#openProviderSession(account.id, claims, client, address)
  }

  async #openProviderSession(
    account: string,
    { provider, groups }: ProviderClaims,
    client: ClientInfo,
    address: string | null,
  ): Promise<ProviderSignInResult> {
    const openedSession = await this.#deps.sessions.open(account, 'provider', client)
    if (openedSession === undefined) return this.#refuseDisabled(provider, account, client)
    await this.#deps.operatorRoles.applyGroups(account, provider, groups, client)
    await this.#deps.groupPlans.applyGroups(account, provider, groups, client)
    const isOffered =
      address !== null && address !== openedSession.account.email && (await this.#deps.signUp.findAccount(address)) === undefined
    return { ...openedSession, kind: 'signed-in', changedEmail: isOffered ? address : null }
  }

  async #refuseDisabled(provider: string, account: string, client: ClientInfo): Promise<ProviderSignInResult> {
    const isWaiting = (await this.#deps.store.accountDeletions.find(account)) !== undefined
    return this.#refuseProvider(isWaiting ? 'deletion_waiting' : 'account_unavailable', provider, account, client)
  }

  async #refuseProvider(
    reason: ProviderRefusal,
    provider: string,
    account: string | null,
    client: ClientInfo,
  ): Promise<ProviderSignInResult> {
    await this.#deps.writeAudit('provider_refused', account, client, { provider, reason })
    return { kind: 'refused', reason, account }
  }
}
