/** The ledger on PostgreSQL, in the port's words: what moves money goes the lane's way. */
import type { Ending, Ledger } from '../../membership/ledger.ts'
import { toOp } from '../ledger/endings.ts'
import type { BookResult, PackResult, ReserveResult } from '../ledger/operations.ts'
import { mustBeWhole, toCarryOp, toEnding, toGrantOp, toPack, toReservation, toReserveOp } from '../ledger/orders.ts'
import { unavailable } from './failures.ts'
import type { LedgerLane } from './lane-link.ts'
import type { Attendance } from './presence.ts'

/** Of a node's clock and the database's. */
const mostApartMs = 30_000

export type WrittenLedger = Omit<Ledger, 'balance' | 'turns' | 'verify' | 'forgetTurns'>

export function ledgerOn(lane: LedgerLane, presence: Attendance): WrittenLedger {
  return {
    async reserve(order) {
      // Others may take it for dead and give back what it holds: it begins nothing until it is heard of again.
      if (!presence.isAlive) throw unavailable()
      return toReservation((await lane.submit(toReserveOp(order))) as ReserveResult)
    },
    async settle(order) {
      mustBeWhole(order)
      return endingIn(await lane.submit(toOp({ kind: 'settle', ...order })))
    },
    async refund(order) {
      return endingIn(await lane.submit(toOp({ kind: 'refund', ...order })))
    },
    async grant(order) {
      return toPack(order.id, (await lane.submit(toGrantOp(order))) as PackResult)
    },
    async carry(order) {
      await lane.submit(toCarryOp(order))
    },
    async expire(at, ticks) {
      let given = await lane.giveBack(presence.id, at, ticks)
      for (const dead of await presence.dead()) {
        given += await lane.giveBack(dead.id, at)
        await presence.forget(dead)
      }
      return given
    },
    /** No node keeps endings for itself: what waits for the database waits in its memory. */
    owed: () => Promise.resolve(0),
    vitals() {
      const figures = lane.figures()
      return { ...figures, flushSeconds: [], trouble: troubleOf(presence) }
    },
  }
}

/** Days, weeks and months begin by a node's own clock. */
function troubleOf({ isAlive, clockAheadMs }: Attendance): string | null {
  if (!isAlive) return 'the database has not heard of this node for too long'
  if (Math.abs(clockAheadMs) <= mostApartMs) return null
  return `this node's clock is ${Math.round(clockAheadMs / 1000)} seconds ahead of the database's`
}

function endingIn(result: BookResult): Ending {
  if (result[0] !== 'ended') throw new Error(`the lane answered "${result[0]}" to an ending`)
  return toEnding(result)
}
