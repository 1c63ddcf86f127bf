/** Opens what writes the ledger, and what looks at the whole of it. */
import { hasOldLinks } from '../turns.ts'
import { Connections } from './connections.ts'
import { cutOff } from './cutting.ts'
import { Lane } from './lane.ts'
import { ledgerOn } from './ledger.ts'
import type { LedgerParts, WritingLedger } from './open.ts'
import { runTask } from './tasks.ts'

/**
 * Every statement of the ledger finds its rows by a key, for as many as it is given: so it is to be planned, once, also while its tables are
 * still empty.
 */
const settings = {
  enable_seqscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  jit: 'off',
  plan_cache_mode: 'force_generic_plan',
}

export function openLedger({ url, database, presence }: LedgerParts): WritingLedger {
  const connections = new Connections({ url, most: 2, settings })
  const lane = new Lane(connections, () => presence.id)
  return {
    ...ledgerOn(lane, presence),
    verify: () => runTask('verify', { url }),
    async forgetTurns(before, limit) {
      if (!(await hasOldLinks(database, before))) return 0
      let forgotten = 0
      for (const cut of await runTask('cuts', { url, before, limit })) forgotten += await cutOff(connections, cut)
      return forgotten
    },
    async close(owedMs) {
      await lane.close(owedMs)
      await connections.close()
    },
  }
}
