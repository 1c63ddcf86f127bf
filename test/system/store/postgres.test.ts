/** Runs the repository contract on PostgreSQL, with several nodes on one database. */
import t from 'tap'
import type { Test } from 'tap'
import { providePostgres } from '../../support/servers/postgres/postgres.ts'
import { createTestSchema, openTestStore } from './postgres/test-store.ts'
import { testRepositoryContract } from './contract/repository-contract.ts'
import { testNotices } from './contract/notice-contract.ts'
import { testOperators } from './contract/operator-contract.ts'
import { testRedeemCodeContract } from './contract/redeem-code-contract.ts'
import { testSubscriptionContract } from './contract/subscription-contract.ts'

const postgres = await providePostgres(t, createTestSchema)

if (postgres !== undefined) {
  const openNodes = async (t: Test, count: number) => {
    const url = await postgres.createDatabase(t)
    const nodes = await Promise.all(Array.from({ length: count }, () => openTestStore(t, url)))
    // All connections are opened first; otherwise the first node would be done before the others begin.
    if (count > 1) await Promise.all(nodes.flatMap((node) => [1, 2, 3, 4].map(() => node.accounts.count())))
    return nodes
  }
  testRepositoryContract(t, openNodes)
  testSubscriptionContract(t, openNodes)
  testRedeemCodeContract(t, openNodes)
  testNotices(t, async (t) => openTestStore(t, await postgres.createDatabase(t)))
  testOperators(t, async (t) => openTestStore(t, await postgres.createDatabase(t)))
}
