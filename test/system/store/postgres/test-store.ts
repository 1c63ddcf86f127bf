/** Stores on a PostgreSQL server of their own, for the tests of this folder. */
import { randomUUID } from 'node:crypto'
import type { Test } from 'tap'
import type { PostgresOptions, PostgresStore, WritableLedger } from '../../../../src/store/postgres/open.ts'
import { openPostgresStore } from '../../../../src/store/postgres/open.ts'
import { noon } from '../../../support/store/contract/store-contract.ts'
import { createClock } from '../../../../src/system/clock.ts'

/** A ledger without writes, for tests that need none. */
export function createNoLedger(): WritableLedger {
  const refuse = (): never => {
    throw new Error('this store has no ledger')
  }
  return {
    reserve: refuse,
    settle: refuse,
    refund: refuse,
    grant: refuse,
    adjust: refuse,
    changePack: refuse,
    openWithUsage: refuse,
    expire: refuse,
    countPendingSettlements: refuse,
    pruneTurns: refuse,
    report: refuse,
    verify: refuse,
    stats: refuse,
    async close() {},
  }
}

/** The wall clock is stopped at noon, the monotonic clock runs. */
export async function openTestStore(t: Test, url: string, change: Partial<PostgresOptions> = {}): Promise<PostgresStore> {
  const store = await openPostgresStore(createTestOptions(url, change))
  t.teardown(() => store.close())
  return store
}

export function createTestOptions(url: string, change: Partial<PostgresOptions> = {}): PostgresOptions {
  return {
    url,
    process: { id: randomUUID(), version: '1.0.0' },
    clock: createClock({ now: () => noon }),
    ledger: createNoLedger,
    ...change,
  }
}

/** The tables of this version. */
export async function createTestSchema(url: string): Promise<void> {
  const store = await openPostgresStore(createTestOptions(url, { process: { id: 'furnisher', version: '1.0.0' } }))
  await store.close()
}
