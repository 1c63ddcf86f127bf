/** Where API keys are made, listed and revoked: the one place that ever holds a whole one, for as long as it takes to show it. */
import type { Allowances } from './allowances.ts'
import { hashToken, mintApiKey } from './api-key.ts'
import type { ApiKey } from './api-key.ts'
import type { Note } from './audit.ts'
import type { Store } from './store.ts'
import type { Visitor } from './visitor.ts'

export interface KeyRules {
  /** What a key begins with. */
  readonly prefix: string
  readonly perAccount: number
}

export interface KeyMint {
  readonly store: Pick<Store, 'keys'>
  readonly clock: { now(): number }
  readonly ids: { next(prefix: string, now: number): string; bytes(size: number): Uint8Array }
  readonly keys: KeyRules
}

export interface KeyParts extends KeyMint {
  readonly allowances: Allowances
  readonly note: Note
  /** Called when an account's credentials changed, so that no memory of them is used again. */
  readonly forget: (account: string) => void
}

export interface MadeKey {
  readonly key: ApiKey
  /** Shown this once. */
  readonly token: string
}

const dayMs = 86_400_000
/** Characters of a key that are kept to recognise it by, after its fixed prefix. */
const shownChars = 4

export class KeyDesk {
  readonly #parts: KeyParts

  constructor(parts: KeyParts) {
    this.#parts = parts
  }

  list(account: string): Promise<readonly ApiKey[]> {
    return this.#parts.store.keys.list(account)
  }

  /** `days` null: until it is revoked. Undefined where the account has as many as it may. @throws Busy */
  async make(account: string, name: string, days: number | null, visitor: Visitor): Promise<MadeKey | undefined> {
    const { allowances, note, clock } = this.#parts
    const now = clock.now()
    await allowances.take('key-by-account', account, now)
    const made = await this.mint(account, name, days === null ? null : now + days * dayMs)
    if (made !== undefined) await note('key_made', account, visitor, { key: made.key.id, prefix: made.key.prefix })
    return made
  }

  /** False where the account has no such key. */
  async revoke(account: string, id: string, visitor: Visitor): Promise<boolean> {
    const { store, note, clock, forget } = this.#parts
    if (!(await store.keys.revoke(account, id, clock.now()))) return false
    forget(account)
    await note('key_revoked', account, visitor, { key: id })
    return true
  }

  /** Makes one that nobody asked for over the network; nothing is counted or written down. */
  mint(account: string, name: string, expiresAt: number | null): Promise<MadeKey | undefined> {
    return mintKey(this.#parts, account, name, expiresAt)
  }
}

/** Undefined where the account has as many keys as it may. */
export async function mintKey(
  { store, ids, clock, keys }: KeyMint,
  account: string,
  name: string,
  expiresAt: number | null,
): Promise<MadeKey | undefined> {
  const at = clock.now()
  const token = mintApiKey(keys.prefix, (size) => ids.bytes(size))
  const key = await store.keys.create(
    {
      id: ids.next('key_', at),
      account,
      name,
      prefix: token.slice(0, keys.prefix.length + shownChars),
      last4: token.slice(-4),
      createdAt: at,
      expiresAt,
      hash: hashToken(token),
    },
    keys.perAccount,
  )
  return key && { key, token }
}
