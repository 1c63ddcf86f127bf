/** Redeem codes as operators make and revoke them. Commands and the console use it, so both write the same audit records. */
import type { CodeGift } from '../../billing/redeem-code.ts'
import type { AuditWriter } from '../../identity/audit.ts'
import { formatInstant } from '../../instant.ts'
import type { Store } from '../../store.ts'
import { createCodes } from '../redeem-code-service.ts'
import type { CodeOrder } from '../redeem-code-service.ts'
import type { OperatorAuthor } from './operator-author.ts'
import { toAuditAuthor } from './operator-author.ts'

interface CodeAdminDeps {
  readonly store: Pick<Store, 'redeemCodes'>
  readonly clock: { now(): number }
  readonly ids: { next(prefix: string, now: number): string; bytes(size: number): Uint8Array }
  readonly writeAudit: AuditWriter
}

export type CodesToRevoke = { readonly id: string } | { readonly batch: string } | { readonly prefix: string }

export class CodeAdminService {
  readonly #deps: CodeAdminDeps

  constructor(deps: CodeAdminDeps) {
    this.#deps = deps
  }

  /** Returns the codes as they are printed; nothing can show them again. */
  async create(order: CodeOrder, author: OperatorAuthor): Promise<readonly { readonly id: string; readonly code: string }[]> {
    const { store, ids, clock } = this.#deps
    const codes = await createCodes(store, ids, order, clock.now())
    const { count, gift, maxUses, expiresAt, batch } = order
    const ends = expiresAt === null ? null : { expires_at: formatInstant(expiresAt) }
    const detail = { codes: count, gives: describeGift(gift), uses: maxUses, ...ends, ...(batch === null ? null : { batch }) }
    await this.#record('codes_made', { ...detail, first: codes[0]?.id ?? null }, author)
    return codes
  }

  /** What was redeemed stays. Returns how many were revoked: those that are used up or revoked already are not counted. */
  async revoke(codes: CodesToRevoke, author: OperatorAuthor): Promise<number> {
    const { store, clock } = this.#deps
    const revokedCount = await store.redeemCodes.revoke(codes, clock.now())
    await this.#record('codes_revoked', { revoked: revokedCount, ...codes }, author)
    return revokedCount
  }

  #record(
    event: 'codes_made' | 'codes_revoked',
    detail: Readonly<Record<string, string | number | null>>,
    author: OperatorAuthor,
  ): Promise<void> {
    return this.#deps.writeAudit(event, null, author.client, { by: 'operator', ...detail }, toAuditAuthor(author))
  }
}

/** `pro@1 for 30d`, `5000 credits (premium) for 365d`. */
export function describeGift(gift: CodeGift): string {
  return gift.kind === 'plan' ? `${gift.terms.id} for ${gift.span}` : `${gift.credits} credits (${gift.pool}) for ${gift.days}d`
}
