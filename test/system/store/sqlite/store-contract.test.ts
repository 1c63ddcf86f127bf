/** The store contract on SQLite. */
import { join } from 'node:path'
import t from 'tap'
import type { Test } from 'tap'
import type { Store } from '../../../../src/domain/store.ts'
import { testStoreContract } from '../../../support/store/contract/store-contract.ts'
import { testRepositoryContract } from '../contract/repository-contract.ts'
import { testAccountDeletionContract } from '../contract/account-deletion-contract.ts'
import { testAdjustmentContract } from '../contract/adjustment-contract.ts'
import { testOrderContract } from '../contract/order-contract.ts'
import { testNotices } from '../contract/notice-contract.ts'
import { testOperators } from '../contract/operator-contract.ts'
import { testRedeemCodeContract } from '../contract/redeem-code-contract.ts'
import { testSubscriptionContract } from '../contract/subscription-contract.ts'
import { testTurnHistory } from '../contract/turn-history-contract.ts'
import { createTemporaryFolder, openStoreAt } from '../../../support/store/sqlite/support.ts'

const openEmpty = (t: Test): Promise<Store> => openStoreAt(t, join(createTemporaryFolder(t), 'store.db'))

testStoreContract(t, openEmpty)
testAdjustmentContract(t, openEmpty)
testRepositoryContract(t, async (t) => [await openEmpty(t)])
testSubscriptionContract(t, async (t) => [await openEmpty(t)])
testRedeemCodeContract(t, async (t) => [await openEmpty(t)])
testOrderContract(t, openEmpty)
testAccountDeletionContract(t, openEmpty)
testOperators(t, openEmpty)
testNotices(t, openEmpty)
testTurnHistory(t, (t) => openStoreAt(t, join(createTemporaryFolder(t), 'store.db')))
