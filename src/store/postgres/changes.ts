/**
 * Whose credentials changed, where several nodes write: a row's number is taken before its transaction is committed, so a later number may be
 * seen first. What is only seconds old is therefore looked at again, and what is known of it left out.
 */
import type { Changes } from '../../membership/changes.ts'
import type { Database } from '../database.ts'
import { changesIn } from '../changes.ts'
import type { Connections } from './connections.ts'

/** Longer than a transaction may last. */
const unsettledMs = 10_000

export function changesOn(database: Database, connections: Connections): Changes {
  /** Of those that are looked at again. */
  let known = new Set<number>()
  return {
    ...changesIn(database),
    async since(seq, limit) {
      const { rows } = await connections.read(
        `select seq, account, at > clock_timestamp() - ${unsettledMs} * interval '1 ms' as unsettled from account_change
        where seq > $1 or at > clock_timestamp() - ${unsettledMs} * interval '1 ms' order by seq limit $2`,
        [seq, limit + known.size],
      )
      const changes = rows as readonly { readonly seq: number; readonly account: string; readonly unsettled: boolean }[]
      const fresh = changes.filter((change) => !known.has(change.seq))
      known = new Set(changes.filter(({ unsettled }) => unsettled).map((change) => change.seq))
      return {
        seq: Math.max(seq, fresh.at(-1)?.seq ?? seq),
        accounts: [...new Set(fresh.map(({ account }) => account))],
      }
    },
  }
}
