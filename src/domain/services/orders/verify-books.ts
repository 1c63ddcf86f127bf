/** Verifies the ledger together with the orders: balances follow from the chains, and what was paid is granted once. */
import type { Verification } from '../../billing/ledger.ts'
import type { Store } from '../../store.ts'

/** @throws if `signal` aborts it */
export async function verifyBooks(
  { ledger, orders }: Pick<Store, 'ledger' | 'orders'>,
  signal?: AbortSignal,
): Promise<Verification> {
  const verification = await ledger.verify(signal)
  const mismatches = [...verification.mismatches, ...(await orders.verify(signal))]
  return { ...verification, mismatches, ok: mismatches.length === 0 }
}
