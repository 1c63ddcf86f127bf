/** Stores on a PostgreSQL of their own, for the tests of this folder. */
import { randomUUID } from 'node:crypto'
import type { Test } from 'tap'
import type { PostgresOptions, PostgresStore, WritingLedger } from '../../../src/store/postgres/open.ts'
import { openPostgresStore } from '../../../src/store/postgres/open.ts'
import { noon } from '../contract.ts'

/** For what has nothing to do with the ledger: nothing can be written to it. */
export function noLedger(): WritingLedger {
  const refuse = (): never => {
    throw new Error('this store has no ledger')
  }
  return {
    reserve: refuse,
    settle: refuse,
    refund: refuse,
    grant: refuse,
    carry: refuse,
    expire: refuse,
    owed: refuse,
    forgetTurns: refuse,
    verify: refuse,
    vitals: refuse,
    async close() {},
  }
}

/** Its wall clock stands still at noon, its clock of durations does not. */
export async function openOn(t: Test, url: string, change: Partial<PostgresOptions> = {}): Promise<PostgresStore> {
  const store = await openPostgresStore(optionsFor(url, change))
  t.teardown(() => store.close())
  return store
}

export function optionsFor(url: string, change: Partial<PostgresOptions> = {}): PostgresOptions {
  return {
    url,
    process: { id: randomUUID(), version: '1.0.0' },
    clock: { now: () => noon, ticks: () => performance.now() },
    ledger: noLedger,
    ...change,
  }
}

/** The tables of this version. */
export async function furnish(url: string): Promise<void> {
  const store = await openPostgresStore(optionsFor(url, { process: { id: 'furnisher', version: '1.0.0' } }))
  await store.close()
}
