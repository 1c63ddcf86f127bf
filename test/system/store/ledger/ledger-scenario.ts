/** A ledger history that is the same for the same seed, for tests that compare stores. */
import { createCalendar } from '../../../../src/domain/billing/period.ts'
import type { Store } from '../../../../src/domain/store.ts'
import {
  toAccountId,
  addAccount,
  createSettleOrder,
  createGrantOrder,
  noon,
  createReserveOrder,
  createRefundOrder,
} from '../../../support/store/contract/store-contract.ts'

const hour = 3_600_000
const members = 4
const calendars = ['UTC', 'Asia/Shanghai', 'America/Los_Angeles'].map(createCalendar)

/** The same numbers for the same seed. */
function createRandom(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31
    return Math.floor((state / 2 ** 31) * below)
  }
}

/**
 * Runs a long history of a few members and returns its results: changing periods and plans, packs, debts, repeated keys,
 * refunds and expiries.
 */
export async function runLedgerScenario(
  store: Store,
  seed: number,
  steps: number,
  { prunes = true, adjusts = false } = {},
): Promise<readonly unknown[]> {
  const pick = createRandom(seed)
  const answers: unknown[] = []
  let now = noon
  let limits = { day: 500, week: 1500, month: 4000 }
  let calendar = calendars[0] ?? createCalendar('UTC')
  let packs = 0
  const holds: { readonly id: number; readonly credits: number }[] = []
  const some = async (answer: Promise<unknown>): Promise<void> => void answers.push(await answer)
  for (let index = 1; index <= members; index += 1) await addAccount(store, index)
  for (let step = 0; step < steps; step += 1) {
    const account = toAccountId(1 + pick(members))
    const pool = pick(3) === 0 ? ('fast' as const) : ('premium' as const)
    const kind = pick(20)
    if (kind < 8) {
      const amount = pick(400)
      const change = {
        account,
        pool,
        at: now,
        periods: calendar.getPeriods(now),
        limits,
        amount,
        minAmount: Math.floor(amount / 2),
      }
      const price = { input: 435, ...(pick(2) === 0 ? {} : { cachedInput: pick(435) }), output: 870, discountPercent: 75 }
      const idempotency = pick(6) === 0 ? { key: `key-${pick(9)}`, bodyHash: `hash-${pick(3)}` } : null
      const answer = await store.ledger.reserve(
        createReserveOrder({
          ...change,
          requestId: `mbr_${step} "\\ü${pick(9)}`,
          leaseUntil: now + pick(30 * hour),
          idempotency,
          price,
          maxConcurrentTurns: 6,
        }),
      )
      answers.push(answer)
      if (answer.kind === 'held') holds.push(answer.hold)
    } else if (kind < 13) {
      const [hold] = holds.splice(pick(holds.length), 1)
      if (hold === undefined) continue
      const disputed = pick(4) === 0 ? { input: pick(99), output: pick(99) } : null
      const tokens = { input: 99, ...(pick(2) === 0 ? {} : { cachedInput: pick(100) }), output: pick(99) }
      const order = createSettleOrder(hold.id, Math.round((hold.credits * pick(400)) / 100), now)
      const details = {
        plan: pick(3) === 0 ? null : `plan-${pick(2)}`,
        upstreamModel: pick(3) === 0 ? null : `model "${pick(9)}" \\ü`,
        upstreamResponseId: pick(3) === 0 ? null : `chatcmpl-${step}`,
        upstreamCostNanodollars: pick(3) === 0 ? null : pick(2 ** 30) * 8_000,
      }
      await some(store.ledger.settle({ ...order, tokens, disputed, ...(pick(4) === 0 ? {} : { details }) }))
      await some(store.ledger.refund(createRefundOrder(hold.id, now)))
    } else if (kind < 15) {
      const [hold] = holds.splice(pick(holds.length), 1)
      if (hold !== undefined) await some(store.ledger.refund(createRefundOrder(hold.id, now)))
    } else if (kind === 15) {
      await some(
        store.ledger.grant({
          ...createGrantOrder(`pack-${packs++}`, pick(300), { account, pool }),
          at: now,
          expiresAt: now + pick(99) * hour,
        }),
      )
      if (!adjusts) continue
      const credits = (1 + pick(500)) * (pick(3) === 0 ? 1 : -1)
      const adjustment = { id: `adj-${packs++}`, account, pool, credits, reason: 'a fault \\ü', at: now, limits }
      await some(store.ledger.adjust({ ...adjustment, periods: calendar.getPeriods(now), expiresAt: now + pick(99) * hour }))
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
  await some(
    store.ledger.openWithUsage({
      account: toAccountId(members + 1),
      pool: 'fast',
      at: now,
      periods: calendar.getPeriods(now),
      used,
    }),
  )
  // One pack is left at the end, whatever happened to the others.
  await some(
    store.ledger.grant({
      ...createGrantOrder('pack-last', 7, { account: toAccountId(members + 1) }),
      at: now,
      expiresAt: now + hour,
    }),
  )
  if (prunes) await some(store.ledger.pruneTurns(now - 20 * 24 * hour, 10_000))
  return answers
}
