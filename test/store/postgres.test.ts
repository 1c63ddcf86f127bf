/** Runs the repository contract on PostgreSQL, with several nodes on one database. */
import t from 'tap'
import { providePostgres } from '../support/servers/postgres.ts'
import { createTestSchema, openTestStore } from './postgres/test-store.ts'
import { testRepositoryContract } from './contract/repository-contract.ts'

const postgres = await providePostgres(t, createTestSchema)

if (postgres !== undefined)
  testRepositoryContract(t, async (t, count) => {
    const url = await postgres.createDatabase(t)
    const nodes = await Promise.all(Array.from({ length: count }, () => openTestStore(t, url)))
    // All connections are opened first; otherwise the first node would be done before the others begin.
    if (count > 1) await Promise.all(nodes.flatMap((node) => [1, 2, 3, 4].map(() => node.accounts.count())))
    return nodes
  })
