/** The contract of a store, held to PostgreSQL, which several nodes have open. */
import t from 'tap'
import { postgresFor } from '../support/postgres.ts'
import { furnish, openOn } from './postgres/support.ts'
import { repositoryContract } from './repository-contract.ts'

const postgres = await postgresFor(t, furnish)

if (postgres !== undefined)
  repositoryContract(t, async (t, count) => {
    const url = await postgres.database(t)
    const nodes = await Promise.all(Array.from({ length: count }, () => openOn(t, url)))
    // All connections stand before anybody races on them: or the first is done before the others have begun.
    if (count > 1) await Promise.all(nodes.flatMap((node) => [1, 2, 3, 4].map(() => node.accounts.count())))
    return nodes
  })
