/** Opens what writes the ledger, and what looks at the whole of it. */
import { hasOldLinks } from '../turns.ts'
import { Connections } from './connections.ts'
import { cutOff } from './cutting.ts'
import { LaneLink } from './lane-link.ts'
import { ledgerOn } from './ledger.ts'
import type { LedgerParts, WritingLedger } from './open.ts'
import { runTask } from './tasks.ts'

export function openLedger({ url, database, presence }: LedgerParts): WritingLedger {
  const connections = new Connections({ url, most: 1 })
  const lane = new LaneLink({ url }, () => presence.id)
  return {
    ...ledgerOn(lane, presence),
    verify: (signal) => runTask('verify', { url }, signal),
    async forgetTurns(before, limit, signal) {
      if (!(await hasOldLinks(database, before))) return 0
      let forgotten = 0
      for (const cut of await runTask('cuts', { url, before, limit }, signal)) {
        if (signal?.aborted === true) break
        forgotten += await cutOff(connections, cut)
      }
      return forgotten
    },
    async close(owedMs) {
      await lane.close(owedMs)
      await connections.close()
    },
  }
}
