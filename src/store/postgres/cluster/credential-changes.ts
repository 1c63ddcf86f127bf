/**
 * Change log of credentials when several nodes write. A row takes its number before its transaction commits, so a later number
 * may become visible first. Rows of the last seconds are therefore read again, and known ones are skipped.
 */
import type { CredentialChanges } from '../../../domain/credential-changes.ts'
import type { Database } from '../../database.ts'
import { createCredentialChangeRepository } from '../../repositories/identity/credential-changes.ts'
import type { Connections } from '../connection/connections.ts'

/** Longer than a transaction may last. */
const uncommittedWindowMs = 10_000

export function createSharedCredentialChanges(database: Database, connections: Connections): CredentialChanges {
  /** Recent rows that were already returned. */
  let seenSeqs = new Set<number>()
  return {
    ...createCredentialChangeRepository(database),
    async listSince(seq, limit) {
      const { rows } = await connections.read(
        `select seq, account, at > clock_timestamp() - ${uncommittedWindowMs} * interval '1 ms' as unsettled from account_change
        where seq > $1 or at > clock_timestamp() - ${uncommittedWindowMs} * interval '1 ms' order by seq limit $2`,
        [seq, limit + seenSeqs.size],
      )
      const changes = rows as readonly { readonly seq: number; readonly account: string; readonly unsettled: boolean }[]
      const newChanges = changes.filter((change) => !seenSeqs.has(change.seq))
      seenSeqs = new Set(changes.filter(({ unsettled }) => unsettled).map((change) => change.seq))
      return {
        seq: Math.max(seq, newChanges.at(-1)?.seq ?? seq),
        accounts: [...new Set(newChanges.map(({ account }) => account))],
      }
    },
  }
}
