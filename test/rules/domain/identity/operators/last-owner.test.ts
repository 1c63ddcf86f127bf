/** What would leave an installation without an owner is refused before anything else has been changed. */
import t from 'tap'
import { assertNotLastOwner } from '../../../../../src/domain/identity/operators/operator.ts'
import type { Operator } from '../../../../../src/domain/identity/operators/operator.ts'

function list(...roles: readonly (readonly [account: string, role: Operator['role']])[]) {
  const operators = roles.map(([account, role]) => ({
    account,
    role,
    email: null,
    provider: null,
    grantedAt: 0,
    hasSecondFactor: true,
  }))
  return { list: () => Promise.resolve(operators) }
}

t.test('the last owner is found before a deletion begins', async (t) => {
  await t.rejects(assertNotLastOwner(list(['acc_1', 'owner'], ['acc_2', 'finance']), 'acc_1', 0), { name: 'LastOwnerError' })
  await assertNotLastOwner(list(['acc_1', 'owner'], ['acc_2', 'finance']), 'acc_2', 0)
  await assertNotLastOwner(list(['acc_1', 'owner'], ['acc_2', 'owner']), 'acc_1', 0)
  await assertNotLastOwner(list(), 'acc_1', 0)
  t.pass('others may be deleted')
})
