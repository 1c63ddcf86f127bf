/** Which addresses and accounts belong to one person: the one place that applies whether aliases are merged. */
import type { Account } from '../identity/account.ts'
import { canonicalizeEmail, hashPerson, isSameMailbox, toMailbox } from '../identity/email/email-address.ts'
import type { Store } from '../store.ts'

interface MailboxDeps {
  readonly store: { readonly accounts: Pick<Store['accounts'], 'find' | 'findByCanonicalEmail'> }
  /** The installation's secret. */
  readonly secret: Uint8Array
  /** Treat `a+b@x` and `a@x`, and at Gmail any placement of dots, as one person. */
  readonly mergeAliases: boolean
}

export class Mailboxes {
  readonly mergesAliases: boolean
  readonly #accounts: MailboxDeps['store']['accounts']
  readonly #secret: Uint8Array

  constructor({ store, secret, mergeAliases }: MailboxDeps) {
    this.mergesAliases = mergeAliases
    this.#accounts = store.accounts
    this.#secret = secret
  }

  /** The subject of limits. */
  toMailbox(address: string): string {
    return toMailbox(address, this.mergesAliases)
  }

  hashPerson(address: string): Buffer {
    return hashPerson(this.#secret, address, this.mergesAliases)
  }

  /** The accounts of the person with an address, oldest first; none where aliases are not merged. */
  async listOfPerson(address: string): Promise<readonly Account[]> {
    return this.mergesAliases ? this.#accounts.findByCanonicalEmail(canonicalizeEmail(address, true)) : []
  }

  /** The account of the address, or those of other addresses of the same mailbox: its reader is the same person. */
  async listOfMailbox(address: string): Promise<readonly Account[]> {
    const exact = await this.#accounts.find(address)
    if (exact !== undefined) return [exact]
    return (await this.listOfPerson(address)).filter(({ email }) => email !== null && isSameMailbox(email, address))
  }
}
