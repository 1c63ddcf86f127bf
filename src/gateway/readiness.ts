/** What keeps a thread that serves from taking new turns, in sentences. */
import type { LedgerVitals } from '../membership/ledger.ts'

/** More operations waiting for the writer than this, and new turns only make it worse. */
const fullQueue = 5_000

export function reasonsAgainst({ writable, queue, trouble, owed, owedSince }: LedgerVitals): readonly string[] {
  const reasons: readonly (string | false)[] = [
    !writable && 'the ledger cannot be written',
    trouble ?? false,
    queue > fullQueue && 'the ledger is behind',
    owedSince !== null && `${owed} settlements are owed to the ledger since ${new Date(owedSince).toISOString()}`,
  ]
  return reasons.filter((reason) => reason !== false)
}
