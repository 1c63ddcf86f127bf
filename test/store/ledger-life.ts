/** A life of the ledger, the same for the same seed, for tests of what stores make of it. */
import { calendarOf } from '../../src/membership/period.ts'
import type { Store } from '../../src/membership/store.ts'
import { accountId, addAccount, endOf, grantOf, noon, orderOf, refundOf } from './contract.ts'

const hour = 3_600_000
const members = 4
const calendars = ['UTC', 'Asia/Shanghai', 'America/Los_Angeles'].map(calendarOf)

/** The same numbers for the same seed. */
function chance(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31
    return Math.floor((state / 2 ** 31) * below)
  }
}

/** A long history of a few members, and what was answered in it: periods and plans that change, packs, debts, keys that repeat, turns that are given back. */
export async function live(store: Store, seed: number, steps: number): Promise<readonly unknown[]> {
  const pick = chance(seed)
  const answers: unknown[] = []
  let now = noon
  let limits = { day: 500, week: 1500, month: 4000 }
  let calendar = calendars[0] ?? calendarOf('UTC')
  let packs = 0
  const holds: { readonly id: number; readonly credits: number }[] = []
  const some = async (answer: Promise<unknown>): Promise<void> => void answers.push(await answer)
  for (let index = 1; index <= members; index += 1) await addAccount(store, index)
  for (let step = 0; step < steps; step += 1) {
    const account = accountId(1 + pick(members))
    const pool = pick(3) === 0 ? ('fast' as const) : ('premium' as const)
    const kind = pick(20)
    if (kind < 8) {
      const want = pick(400)
      const change = { account, pool, at: now, periods: calendar.at(now), limits, want, floor: Math.floor(want / 2) }
      const idempotency = pick(6) === 0 ? { key: `key-${pick(9)}`, bodyHash: `hash-${pick(3)}` } : null
      const answer = await store.ledger.reserve(
        orderOf({
          ...change,
          requestId: `mbr_${step} "\\ü${pick(9)}`,
          until: now + pick(30 * hour),
          idempotency,
          concurrency: 6,
        }),
      )
      answers.push(answer)
      if (answer.kind === 'held') holds.push(answer.hold)
    } else if (kind < 13) {
      const [hold] = holds.splice(pick(holds.length), 1)
      if (hold === undefined) continue
      const contradicted = pick(4) === 0 ? { input: pick(99), output: pick(99) } : null
      await some(store.ledger.settle({ ...endOf(hold.id, Math.round((hold.credits * pick(400)) / 100), now), contradicted }))
      await some(store.ledger.refund(refundOf(hold.id, now)))
    } else if (kind < 15) {
      const [hold] = holds.splice(pick(holds.length), 1)
      if (hold !== undefined) await some(store.ledger.refund(refundOf(hold.id, now)))
    } else if (kind === 15) {
      await some(
        store.ledger.grant({
          ...grantOf(`pack-${packs++}`, pick(300), { account, pool }),
          at: now,
          expiresAt: now + pick(99) * hour,
        }),
      )
    } else if (kind === 16) {
      limits = { day: pick(900), week: pick(2500), month: pick(6000) }
    } else if (kind === 17) {
      calendar = calendars[pick(calendars.length)] ?? calendar
    } else if (kind === 18) {
      await some(store.ledger.expire(now, now - 10 * hour))
    } else now += pick(5) === 0 ? pick(30 * 24) * hour : pick(20) * hour - hour
  }
  const used = { day: 5, week: 7, month: 11 }
  await addAccount(store, members + 1)
  await some(store.ledger.carry({ account: accountId(members + 1), pool: 'fast', at: now, periods: calendar.at(now), used }))
  // Whatever became of the others, there is one at the end.
  await some(
    store.ledger.grant({ ...grantOf('pack-last', 7, { account: accountId(members + 1) }), at: now, expiresAt: now + hour }),
  )
  await some(store.ledger.forgetTurns(now - 20 * 24 * hour, 10_000))
  return answers
}
