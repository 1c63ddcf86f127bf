/**
 * Every decision of the ledger about an account, written once for all stores: each operation is called inside a transaction of theirs.
 * What can be refused is refused before anything is written; after that only a broken promise or a broken disk can throw, and then the
 * transaction is undone.
 */
import { windows } from '../../membership/plan.ts'
import { Links } from './links.ts'
import type { BookOp, BookResult, CarryOp, CountResult, GrantOp, PackResult } from './operations.ts'
import { Periods } from './periods.ts'
import type { LedgerRows } from './rows.ts'
import { Turns } from './turns.ts'

export class LedgerBook {
  readonly #rows: LedgerRows
  readonly #links: Links
  readonly #periods: Periods
  readonly #turns: Turns

  constructor(rows: LedgerRows) {
    this.#rows = rows
    this.#links = new Links(rows)
    this.#periods = new Periods(rows, this.#links)
    this.#turns = new Turns(rows, this.#links, this.#periods)
  }

  apply(op: BookOp): BookResult {
    switch (op[0]) {
      case 'reserve':
        return this.#turns.reserve(op)
      case 'settle':
      case 'refund':
        return this.#turns.ending(op)
      case 'grant':
        return this.#grant(op)
      case 'carry':
        return this.#carry(op)
    }
  }

  /** Gives back what turns hold that nobody will end; how many of them had not ended. */
  expire(holds: readonly number[], at: number): number {
    return this.#turns.expire(holds, at)
  }

  #grant([, id, account, kind, pool, credits, at, expiresAt]: GrantOp): PackResult {
    const isNew = this.#rows.addPack({
      id,
      account,
      kind,
      pool,
      granted: credits,
      reserved: 0,
      settled: 0,
      expires_at: expiresAt,
      created_at: at,
    })
    if (isNew) this.#links.enter(this.#rows.purse(account), 'grant', at, [id, kind, pool, credits, expiresAt])
    const pack = this.#rows.pack(account, id)
    if (pack.account !== account) throw new Error(`pack ${id} belongs to another account`)
    const { granted, reserved, settled, expires_at: end, created_at: start } = pack
    return ['pack', pack.account, pack.kind, pack.pool, granted, reserved, settled, end, start]
  }

  #carry([, account, pool, at, ...periods]: CarryOp): CountResult {
    const purse = this.#rows.purse(account)
    let opened = 0
    for (const [index, window] of windows.entries()) {
      const [start = 0, end = 0, used = 0] = periods.slice(3 * index)
      const bucket = purse.bucket(pool, window)
      if (used === 0 || bucket.get('id') !== 0) continue
      // Granted is what is used, until a turn says what the plan includes.
      this.#periods.open(purse, bucket, pool, window, { start, end }, used, used, at)
      opened += 1
    }
    return ['count', opened]
  }
}
