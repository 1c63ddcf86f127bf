/** The state of a code in lists. */
import t from 'tap'
import type { RedeemCode } from '../../../../src/domain/billing/redeem-code.ts'
import { findCodeState } from '../../../../src/domain/billing/sale-lists.ts'

const code: RedeemCode = {
  id: 'code_1',
  prefix: 'ABCD',
  batch: null,
  gift: { kind: 'credits', pool: 'fast', credits: 1, days: 1 },
  maxUses: 2,
  uses: 1,
  createdAt: 0,
  expiresAt: null,
  revokedAt: null,
}

const cases = [
  { state: 'open', change: {} },
  { state: 'open', change: { expiresAt: 11 } },
  { state: 'expired', change: { expiresAt: 10 } },
  { state: 'revoked', change: { revokedAt: 5, expiresAt: 10 } },
  { state: 'used_up', change: { uses: 2, revokedAt: 5, expiresAt: 10 } },
] as const

for (const { state, change } of cases)
  t.test(`a code with ${JSON.stringify(change)} is ${state}`, async (t) => {
    t.equal(findCodeState({ ...code, ...change }, 10), state)
  })
