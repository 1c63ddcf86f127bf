/** The bytes of request bodies that are being received. `test/system/http/request/read-body.test.ts` has their reading. */
import t from 'tap'
import { createLocalLimits } from '../../../../src/access/limits/memory.ts'

const mib = 2 ** 20
const bodies = { perAccountBytes: 64 * mib, perAddressBytes: 2 * mib, totalBytes: 256 * mib }

function createBudget() {
  return createLocalLimits({ maxWaitMs: 0, bodies }).bodies
}

t.test('refuses the third large body of an account, and serves other accounts', async (t) => {
  const budget = createBudget()
  const owner = { kind: 'account', id: 'acc_1' } as const
  const [first] = [budget.reserve(owner, 31 * mib), budget.reserve(owner, 31 * mib)]
  t.throws(() => budget.reserve(owner, 31 * mib), { code: 'rate_limited', details: { retryAfter: 1 } })
  t.doesNotThrow(() => budget.reserve({ kind: 'account', id: 'acc_2' }, 31 * mib))
  first.release()
  first.release()
  t.doesNotThrow(() => budget.reserve(owner, 31 * mib))
})

t.test('keeps room for small bodies when large ones fill the budget of the process', async (t) => {
  const budget = createBudget()
  const reserve = (account: number, bytes: number) => budget.reserve({ kind: 'account', id: `acc_${account}` }, bytes)
  for (let account = 0; account < 7; account++) reserve(account, 32 * mib)
  t.throws(() => reserve(7, mib), { code: 'temporarily_unavailable', details: { retryAfter: 1 } })
  for (let i = 0; i < 256; i++) reserve(1_000 + i, 128 * 1024)
  t.throws(() => reserve(7, 1), { code: 'temporarily_unavailable' })
})

t.test('strangers share a budget of their own, whatever the members use', async (t) => {
  const budget = createBudget()
  const reserve = (host: number, bytes: number) => budget.reserve({ kind: 'address', id: `192.0.2.${host}` }, bytes)
  reserve(1, 2 * mib)
  t.throws(() => reserve(1, 1), { code: 'rate_limited' })
  for (let host = 2; host <= 16; host++) reserve(host, 2 * mib)
  t.throws(() => reserve(17, 1), { code: 'temporarily_unavailable' })
  t.doesNotThrow(() => budget.reserve({ kind: 'account', id: 'acc_1' }, 32 * mib))
})
