/** The contract of corrections: links of an account's chain that add or take credits, each once. */
import type { Test } from 'tap'
import type { AdjustOrder, ChangePackOrder } from '../../../../src/domain/billing/ledger.ts'
import type { Store } from '../../../../src/domain/store.ts'
import {
  addAccount,
  createGrantOrder,
  createReserveOrder,
  createSettleOrder,
  limits,
  noon,
  readBalance,
  reserveHold,
} from '../../../support/store/contract/store-contract.ts'
import { toAccountId } from '../../../support/store/contract/store-contract.ts'

const day = 86_400_000

function createAdjustOrder(id: string, credits: number, change: Partial<AdjustOrder> = {}): AdjustOrder {
  const { account, pool, periods } = createReserveOrder()
  const times = { at: noon, expiresAt: noon + 7 * day, periods }
  return { id, account, pool, credits, reason: 'a wrong grant', limits, ...times, ...change }
}

/** `openStore` returns an empty store and closes it at the end of the test. */
export function testAdjustmentContract(t: Test, openStore: (t: Test) => Promise<Store>): void {
  const test = (name: string, run: (t: Test, store: Store) => Promise<void>): void => {
    t.test(name, async (t) => {
      const store = await openStore(t)
      await addAccount(store)
      await run(t, store)
      t.same((await store.ledger.verify()).mismatches, [], 'the ledger adds up')
    })
  }

  test('added credits are a pack, once for an id however often it is sent', async (t, store) => {
    const packs = await Promise.all(Array.from({ length: 10 }, () => store.ledger.adjust(createAdjustOrder('adj_1', 50))))
    t.ok(packs.every((pack) => pack.granted === 50 && pack.id === 'adj_1' && pack.kind === 'grant'))
    t.same((await readBalance(store)).packs, { adj_1: 50 })
    await addAccount(store, 2)
    await t.rejects(store.ledger.adjust(createAdjustOrder('adj_1', 50, { account: toAccountId(2) })))
  })

  test('taken credits count as used in day, week and month, once for an id', async (t, store) => {
    const { id } = await reserveHold(store, { amount: 100 })
    await store.ledger.settle(createSettleOrder(id, 100))
    await Promise.all(Array.from({ length: 10 }, () => store.ledger.adjust(createAdjustOrder('adj_1', -300))))
    t.match(await readBalance(store), { used: [400, 400, 400], debt: [0, 0, 0], packs: {} })
    t.match(await store.ledger.reserve(createReserveOrder({ amount: 600, minAmount: 600 })), { kind: 'held' })
    t.match(await store.ledger.reserve(createReserveOrder({ amount: 1, minAmount: 1 })), { kind: 'reserved_elsewhere' })
  })

  test('what the plan has no room for is taken from packs, and the rest is debt', async (t, store) => {
    await store.ledger.grant(createGrantOrder('pack', 50, { pool: createReserveOrder().pool }))
    await store.ledger.adjust(createAdjustOrder('adj_1', -1_100))
    t.match(await readBalance(store), { packs: {} })
    const { debt, used } = await readBalance(store)
    t.same(used, [1_050, 1_050, 1_050])
    t.same(debt, [50, 0, 0], 'week and month have room')
    t.match(await store.ledger.reserve(createReserveOrder({ amount: 1, minAmount: 1 })), { kind: 'insufficient' })
  })

  test('a correction keeps held credits, and the next period begins without it', async (t, store) => {
    const hold = await reserveHold(store, { amount: 900 })
    await store.ledger.adjust(createAdjustOrder('adj_1', -500))
    t.match(await readBalance(store), { reserved: [900, 900, 900] })
    t.match(await store.ledger.settle(createSettleOrder(hold.id, 900)), { applied: true, credits: 900 })
    await store.ledger.adjust(createAdjustOrder('adj_2', 70))
    t.same((await readBalance(store)).packs, { adj_2: 70 })
  })

  test('no correction, or part of a credit, is a fault of the caller', async (t, store) => {
    for (const credits of [0, 1.5, Number.NaN, Infinity])
      await t.rejects(async () => store.ledger.adjust(createAdjustOrder('adj_1', credits)), RangeError)
    t.same((await readBalance(store)).packs, {})
  })

  const createChange = (id: string, credits: number, change: Partial<ChangePackOrder> = {}): ChangePackOrder => {
    const { account } = createReserveOrder()
    return { id, account, pack: 'pack', credits, reason: 'a refund', at: noon, ...change }
  }

  test('credits of a pack are taken all or none, once for an id, and given back', async (t, store) => {
    const { pool } = createReserveOrder()
    await store.ledger.grant(createGrantOrder('pack', 100, { pool }))
    const none = { day: 0, week: 0, month: 0 }
    const hold = await reserveHold(store, { amount: 30, minAmount: 30, limits: none })
    t.equal(await store.ledger.changePack(createChange('ref_1', -71)), false, 'more than is neither spent nor held')
    const taken = await Promise.all(Array.from({ length: 10 }, () => store.ledger.changePack(createChange('ref_1', -70))))
    t.ok(taken.every(Boolean))
    t.match(await store.ledger.findPack(toAccountId(1), 'pack'), { granted: 100, reserved: 30, settled: 70 })
    t.equal(await store.ledger.changePack(createChange('ref_2', -1)), false)
    await store.ledger.settle(createSettleOrder(hold.id, 10))
    t.equal(await store.ledger.changePack(createChange('ref_1_back', 81)), false, 'more than was taken or spent')
    t.equal(await store.ledger.changePack(createChange('ref_1_back', 70)), true)
    t.equal(await store.ledger.changePack(createChange('ref_1_back', 70)), true, 'and only once')
    t.match(await store.ledger.findPack(toAccountId(1), 'pack'), { reserved: 0, settled: 10 })
  })

  test('a pack that there is not, or of another account, is not changed', async (t, store) => {
    await store.ledger.grant(createGrantOrder('pack', 100))
    await addAccount(store, 2)
    t.equal(await store.ledger.changePack(createChange('ref_1', -10, { pack: 'none' })), false)
    t.equal(await store.ledger.changePack(createChange('ref_2', -10, { account: toAccountId(2) })), false)
    t.equal(await store.ledger.findPack(toAccountId(2), 'pack'), undefined)
    for (const credits of [0, 1.5, Number.NaN])
      await t.rejects(async () => store.ledger.changePack(createChange('ref_3', credits)), RangeError)
  })
}
