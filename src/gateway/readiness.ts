/** What keeps a thread that serves from taking new turns, in sentences. */
import type { LedgerVitals } from '../membership/ledger.ts'

/** More operations waiting for the writer than this, and new turns only make it worse. */
const fullQueue = 5_000
/** A database that says nothing for longer lets nobody be let in; a node that has nothing else to ask it would not notice. */
const mostSilentMs = 2_000

/** `silentMs`: for how long a database that nodes share has not been heard of. */
export function reasonsAgainst({ writable, queue, trouble, owed, owedSince }: LedgerVitals, silentMs = 0): readonly string[] {
  const reasons: readonly (string | false)[] = [
    !writable && 'the ledger cannot be written',
    silentMs > mostSilentMs && 'the database does not answer',
    trouble ?? false,
    queue > fullQueue && 'the ledger is behind',
    owedSince !== null && `${owed} settlements are owed to the ledger since ${new Date(owedSince).toISOString()}`,
  ]
  return reasons.filter((reason) => reason !== false)
}
