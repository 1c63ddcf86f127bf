/** Makes and revokes operator keys, with which programs use the operator API. */
import { hashToken, looksLikeApiKey, mintApiKey } from '../../identity/api-key.ts'
import type { AuditWriter } from '../../identity/audit.ts'
import type { OperatorActor } from '../../identity/operators/operator-actor.ts'
import type { OperatorKey } from '../../identity/operators/operator.ts'
import type { OperatorScope } from '../../identity/operators/operator-role.ts'
import { listKeyScopes } from '../../identity/operators/operator-role.ts'
import type { Store } from '../../store.ts'
import type { OperatorAuthor } from './operator-author.ts'
import { toAuditAuthor } from './operator-author.ts'

interface OperatorKeyDeps {
  readonly store: Pick<Store, 'operators'>
  readonly writeAudit: AuditWriter
  readonly clock: { now(): number }
  readonly ids: { next(prefix: string, now: number): string; bytes(size: number): Uint8Array }
  readonly operatorKeyPrefix: string
}

interface OperatorKeyRequest {
  readonly name: string
  readonly scopes: readonly OperatorScope[]
  /** Addresses and prefixes; null: any. */
  readonly networks: readonly string[] | null
  readonly dailyCredits: number | null
  /** Null: no end. */
  readonly days: number | null
}

type OperatorKeyResult =
  | { readonly kind: 'made'; readonly key: OperatorKey; readonly token: string }
  /** Scopes that the maker cannot give. */
  | { readonly kind: 'scopes'; readonly scopes: readonly OperatorScope[] }
  /** `money:write` needs networks and a daily limit. */
  | { readonly kind: 'needs_networks' | 'needs_daily_limit' | 'too_many' }

export const maxOperatorKeys = 50
const dayMs = 86_400_000
const lastUsedIntervalMs = 60_000
const shownPrefixLength = 4

export class OperatorKeyService {
  readonly #deps: OperatorKeyDeps

  constructor(deps: OperatorKeyDeps) {
    this.#deps = deps
  }

  list(): Promise<readonly OperatorKey[]> {
    return this.#deps.store.operators.listKeys(null)
  }

  find(id: string): Promise<OperatorKey | undefined> {
    return this.#deps.store.operators.findKey(id)
  }

  /** Only a person with a session makes keys, so that each has a maker. */
  async create(
    maker: Extract<OperatorActor, { readonly kind: 'session' }>,
    { name, scopes, networks, dailyCredits, days }: OperatorKeyRequest,
    author: OperatorAuthor,
  ): Promise<OperatorKeyResult> {
    const { store, writeAudit, clock, ids, operatorKeyPrefix } = this.#deps
    const givable = listKeyScopes(maker.role)
    const refusedScopes = scopes.filter((scope) => !givable.includes(scope))
    if (refusedScopes.length > 0) return { kind: 'scopes', scopes: refusedScopes }
    const movesMoney = scopes.includes('money:write')
    if (movesMoney && (networks === null || networks.length === 0)) return { kind: 'needs_networks' }
    if (movesMoney && dailyCredits === null) return { kind: 'needs_daily_limit' }
    const at = clock.now()
    const token = mintApiKey(operatorKeyPrefix, (size) => ids.bytes(size))
    const key = await store.operators.createKey(
      {
        id: ids.next('opk_', at),
        account: maker.account,
        name,
        prefix: token.slice(0, operatorKeyPrefix.length + shownPrefixLength),
        last4: token.slice(-4),
        hash: hashToken(token),
        scopes,
        networks,
        dailyCredits: movesMoney ? dailyCredits : null,
        createdAt: at,
        expiresAt: days === null ? null : at + days * dayMs,
      },
      maxOperatorKeys,
    )
    if (key === undefined) return { kind: 'too_many' }
    const detail = { operator_key: key.id, prefix: key.prefix, scopes: scopes.join(' ') }
    await writeAudit('operator_key_made', maker.account, author.client, detail, toAuditAuthor(author))
    return { kind: 'made', key, token }
  }

  /** A revoked key stays so, and nothing is recorded again. */
  async revoke(key: OperatorKey, author: OperatorAuthor): Promise<void> {
    if (key.revokedAt !== null) return
    await this.#deps.store.operators.revokeKey(key.id, this.#deps.clock.now())
    const detail = { operator_key: key.id, prefix: key.prefix }
    await this.#deps.writeAudit('operator_key_revoked', key.account, author.client, detail, toAuditAuthor(author))
  }

  /** Undefined for a key that is unknown, revoked or expired, whose maker has no role, or that may not be used from the address. */
  async resolve(
    token: string,
    isAllowedFrom: (networks: readonly string[]) => boolean,
  ): Promise<Extract<OperatorActor, { readonly kind: 'key' }> | undefined> {
    const { store, clock, operatorKeyPrefix } = this.#deps
    if (!looksLikeApiKey(token, operatorKeyPrefix)) return undefined
    const now = clock.now()
    const keyWithRole = await store.operators.findKeyByHash(hashToken(token), now)
    if (keyWithRole === undefined) return undefined
    const { key, role } = keyWithRole
    if (key.revokedAt !== null || (key.expiresAt !== null && key.expiresAt <= now)) return undefined
    if (key.networks !== null && !isAllowedFrom(key.networks)) return undefined
    if (now - (key.lastUsedAt ?? 0) >= lastUsedIntervalMs) await store.operators.recordKeyUse(key.id, now)
    return { kind: 'key', account: key.account, role, key: key.id, scopes: key.scopes, dailyCredits: key.dailyCredits }
  }
}
