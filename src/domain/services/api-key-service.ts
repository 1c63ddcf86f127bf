/** Creates, lists and revokes API keys. The only code that holds a whole key, for as long as it takes to show it. */
import type { AttemptLimits } from '../identity/limits/attempt-limits.ts'
import { hashToken, mintApiKey } from '../identity/api-key.ts'
import type { ApiKey } from '../identity/api-key.ts'
import type { AuditWriter } from '../identity/audit.ts'
import type { Store } from '../store.ts'
import type { ClientInfo } from '../identity/client-info.ts'

export interface ApiKeyRules {
  /** The prefix of all keys. */
  readonly prefix: string
  readonly perAccount: number
}

interface ApiKeyMintDeps {
  readonly store: Pick<Store, 'apiKeys'>
  readonly clock: { now(): number }
  readonly ids: { next(prefix: string, now: number): string; bytes(size: number): Uint8Array }
  readonly keys: ApiKeyRules
}

interface ApiKeyDeps extends ApiKeyMintDeps {
  readonly attemptLimits: AttemptLimits
  readonly writeAudit: AuditWriter
  /** Called when an account's credentials changed, so that cached copies are dropped. */
  readonly onCredentialsChanged: (account: string) => void
}

interface MintedApiKey {
  readonly key: ApiKey
  /** Shown once. */
  readonly token: string
}

const dayMs = 86_400_000
/** Characters of a key, after its fixed prefix, that are stored so that its owner recognises it. */
const shownPrefixLength = 4

export class ApiKeyService {
  readonly #deps: ApiKeyDeps

  constructor(deps: ApiKeyDeps) {
    this.#deps = deps
  }

  list(account: string): Promise<readonly ApiKey[]> {
    return this.#deps.store.apiKeys.list(account)
  }

  /** `days` null: valid until revoked. Undefined if the account has the maximum number of keys. @throws TooManyAttempts */
  async create(account: string, name: string, days: number | null, client: ClientInfo): Promise<MintedApiKey | undefined> {
    const { attemptLimits, writeAudit, clock } = this.#deps
    const now = clock.now()
    await attemptLimits.consume('key-by-account', account, now)
    const mintedKey = await this.createUnaudited(account, name, days === null ? null : now + days * dayMs)
    if (mintedKey !== undefined)
      await writeAudit('key_made', account, client, { key: mintedKey.key.id, prefix: mintedKey.key.prefix })
    return mintedKey
  }

  /** False if the account has no such key. */
  rename(account: string, id: string, name: string): Promise<boolean> {
    return this.#deps.store.apiKeys.rename(account, id, name)
  }

  /** False if the account has no such key. */
  async revoke(account: string, id: string, client: ClientInfo): Promise<boolean> {
    const { store, writeAudit, clock, onCredentialsChanged } = this.#deps
    if (!(await store.apiKeys.revoke(account, id, clock.now()))) return false
    onCredentialsChanged(account)
    await writeAudit('key_revoked', account, client, { key: id })
    return true
  }

  /** Creates a key without a request behind it: no limit is counted and no audit record written. */
  createUnaudited(account: string, name: string, expiresAt: number | null): Promise<MintedApiKey | undefined> {
    return createApiKey(this.#deps, account, name, expiresAt)
  }
}

/** Undefined if the account has the maximum number of keys. */
export async function createApiKey(
  { store, ids, clock, keys }: ApiKeyMintDeps,
  account: string,
  name: string,
  expiresAt: number | null,
): Promise<MintedApiKey | undefined> {
  const at = clock.now()
  const token = mintApiKey(keys.prefix, (size) => ids.bytes(size))
  const key = await store.apiKeys.create(
    {
      id: ids.next('key_', at),
      account,
      name,
      prefix: token.slice(0, keys.prefix.length + shownPrefixLength),
      last4: token.slice(-4),
      createdAt: at,
      expiresAt,
      hash: hashToken(token),
    },
    keys.perAccount,
  )
  return key && { key, token }
}
