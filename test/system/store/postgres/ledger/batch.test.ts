/** Round trips of a batch: one if no other node writes to its accounts, otherwise as many as needed. */
import t from 'tap'
import type { Test } from 'tap'
import { toEndingOperation, toReserveOperation } from '../../../../../src/store/ledger/orders.ts'
import type { LedgerQueueOp, BatchCache, Outcome } from '../../../../../src/store/postgres/ledger/batch.ts'
import { Batch } from '../../../../../src/store/postgres/ledger/batch.ts'
import { Connections } from '../../../../../src/store/postgres/connection/connections.ts'
import { plannerSettings } from '../../../../../src/store/postgres/ledger/planner-settings.ts'
import type { Statement } from '../../../../../src/store/postgres/ledger/ledger-sql.ts'
import { openAccounts } from '../../../../../src/store/postgres/ledger/open-accounts.ts'
import { openLedger } from '../../../../../src/store/postgres/open-ledger.ts'
import { providePostgres } from '../../../../support/servers/postgres/postgres.ts'
import {
  toAccountId,
  addAccount,
  createSettleOrder,
  createReserveOrder,
  createRefundOrder,
} from '../../../../support/store/contract/store-contract.ts'
import { createTestSchema, openTestStore } from '../test-store.ts'

const postgres = await providePostgres(t, createTestSchema)
const plenty = { day: 1e9, week: 1e9, month: 1e9 }
const [ada, bob] = [toAccountId(1), toAccountId(2)]

interface BatchRun {
  readonly outcomes: readonly Outcome[]
  readonly statements: readonly string[]
}

/** The batches of one node. */
class Node {
  readonly #connections: Connections
  readonly #cache: BatchCache = { balances: new Map(), heldTurns: new Map() }
  readonly #owner: number
  #holds: number

  constructor(connections: Connections, owner: number) {
    this.#connections = connections
    this.#owner = owner
    this.#holds = owner * 1_000
  }

  async batch(tasks: readonly (readonly [account: string, op: LedgerQueueOp])[], isInDoubt = false): Promise<BatchRun> {
    const client = await this.#connections.acquire()
    const statements: string[] = []
    const ask = (statement: Statement | string) => {
      statements.push(typeof statement === 'string' ? statement : statement.name)
      return client.query(statement)
    }
    const batch = new Batch(
      {
        begin: () => ask('begin'),
        query: ask,
        runAlone: ask,
      },
      this.#cache,
      this.#owner,
      tasks.map(([account, op]) => ({
        op,
        account,
        holdId: op.kind === 'reserve' ? (this.#holds += 1) : 0,
        outcomeUnknown: isInDoubt,
      })),
    )
    const outcomes = await batch.run()
    this.#connections.release(client)
    return { outcomes, statements }
  }

  hold(account = ada, change: Parameters<typeof createReserveOrder>[0] = {}): Promise<BatchRun> {
    return this.batch([[account, createReserveOp(account, change)]])
  }

  /** Often enough that the accounts count as written by this node only. */
  async settleIn(...accounts: readonly string[]): Promise<void> {
    for (let times = 0; times < 4; times += 1) await this.batch(accounts.map((account) => [account, createReserveOp(account)]))
  }
}

function createReserveOp(account: string, change: Parameters<typeof createReserveOrder>[0] = {}): LedgerQueueOp {
  return toReserveOperation(createReserveOrder({ account, limits: plenty, ...change }))
}

function createSettleOp(hold: number, credits = 7): LedgerQueueOp {
  return toEndingOperation({ kind: 'settle', ...createSettleOrder(hold, credits) })
}

function getHoldId({ outcomes: [outcome] }: BatchRun): number {
  if (outcome === undefined || outcome instanceof Error || outcome.kind !== 'held') throw new Error(JSON.stringify(outcome))
  return outcome.hold.id
}

const inOne = (...parts: readonly string[]): readonly string[] => [`write_turns${parts.join('')}`]
const inTwo = (...parts: readonly string[]): readonly string[] => ['begin', 'lock_balances', ...inOne(...parts), 'commit']

if (postgres !== undefined) {
  async function nodesFor(t: Test) {
    const url = await postgres!.createDatabase(t)
    const store = await openTestStore(t, url, { ledger: openLedger })
    for (const index of [1, 2]) await addAccount(store, index)
    const connections = new Connections({ url, max: 2, settings: plannerSettings })
    t.teardown(() => connections.close())
    const client = await connections.acquire()
    await openAccounts(connections, client, [ada, bob])
    connections.release(client)
    const verified = async () => (await store.ledger.verify()).mismatches
    return { store, connections, verified, node: new Node(connections, 1), other: new Node(connections, 2) }
  }

  t.test('takes one round trip for a turn of an account that only this node writes', async (t) => {
    const { node, verified } = await nodesFor(t)
    await node.hold()
    for (let times = 1; times < 4; times += 1)
      t.same((await node.hold()).statements, inTwo('_held'), 'the first batches read the balance')
    const held = await node.hold()
    t.same(held.statements, inOne('_held'))
    const settled = await node.batch([[ada, createSettleOp(getHoldId(held))]])
    t.same(settled.statements, inOne('_ended'))
    t.same(settled.outcomes, [{ kind: 'ended', applied: true, state: 'settled', credits: 7, debt: 0 }])
    const next = getHoldId(await node.hold())
    const both = await node.batch([
      [ada, createSettleOp(next)],
      [ada, createReserveOp(ada)],
    ])
    t.same(both.statements, inOne('_held', '_ended'))
    t.equal((await node.hold(bob)).statements[0], 'begin', 'another account is read first')
    t.same(await verified(), [])
  })

  t.test('detects another node’s write in the writing statement, and writes nothing then', async (t) => {
    const { node, other, verified } = await nodesFor(t)
    await node.settleIn(ada, bob)
    const mine = getHoldId(await node.hold(ada, { limits: { day: 1_000, week: 1_000, month: 1_000 } }))
    // 500 are held: in the database, and in this node's cache.
    t.match((await other.hold(ada, { limits: { day: 1_000, week: 1_000, month: 1_000 }, amount: 450 })).outcomes, [
      { kind: 'held' },
    ])
    const lost = await node.batch([
      [ada, createReserveOp(ada, { limits: { day: 1_000, week: 1_000, month: 1_000 }, minAmount: 60 })],
      [bob, createReserveOp(bob)],
    ])
    t.same(lost.statements, [...inOne('_held'), ...inTwo('_held')])
    t.match(lost.outcomes, [{ kind: 'reserved_elsewhere' }, { kind: 'held' }], 'decided by the current balance')
    t.same((await node.batch([[ada, createSettleOp(mine)]])).statements, inTwo('_ended'), 'later batches read again')
    t.same(await verified(), [])
  })

  t.test('does not charge a hold that another node has released in one round trip either', async (t) => {
    const { node, other, verified } = await nodesFor(t)
    await node.settleIn(ada)
    const held = getHoldId(await node.hold())
    await other.batch([[ada, toEndingOperation({ kind: 'refund', ...createRefundOrder(held) })]])
    const { outcomes, statements } = await node.batch([[ada, createSettleOp(held)]])
    t.same(statements, [...inOne('_ended'), 'begin', 'lock_balances', 'read_turns', 'commit'])
    t.same(outcomes, [{ kind: 'ended', applied: false, state: 'refunded', credits: 0, debt: 0 }])
    t.same(await verified(), [])
  })

  t.test('takes more round trips for operations that must read first', async (t) => {
    const { node, verified } = await nodesFor(t)
    await node.settleIn(ada)
    const key = { key: 'once', bodyHash: 'body' }
    t.equal((await node.hold(ada, { idempotency: key })).statements[0], 'begin', 'an idempotency key')
    t.match((await node.hold(ada, { idempotency: key })).outcomes, [{ kind: 'duplicate' }])
    await node.settleIn(ada)
    const held = getHoldId(await node.hold())
    t.equal((await node.hold(ada, { limits: { day: 1, week: 1, month: 1 }, minAmount: 1 })).statements[0], 'begin', 'a refusal')
    await node.settleIn(ada)
    t.equal((await node.batch([[ada, createSettleOp(held)]], true)).statements[0], 'begin', 'an unknown outcome')
    await node.settleIn(ada)
    t.equal((await node.batch([[ada, createSettleOp(held)]])).statements[0], 'begin', 'a settlement of an ended turn')
    t.same(await verified(), [])
  })

  t.test('marks the invite when the first charged turn of an invited account is settled', async (t) => {
    const { node, store, connections } = await nodesFor(t)
    const invite = { invited: ada, inviter: bob, person: new Uint8Array([1]), inviterPerson: new Uint8Array([2]), at: 0 }
    t.ok(await store.boosts.recordInvite(invite))
    const state = async () => (await connections.read('select state from invite', [])).rows
    const [refunded, free, charged] = [await node.hold(), await node.hold(), await node.hold()].map(getHoldId) as [
      number,
      number,
      number,
    ]
    await node.batch([[ada, toEndingOperation({ kind: 'refund', ...createRefundOrder(refunded) })]])
    await node.batch([[ada, createSettleOp(free, 0)]])
    t.same(await state(), [{ state: 'pending' }])
    await node.batch([[ada, createSettleOp(charged)]])
    t.same(await state(), [{ state: 'due' }])
  })

  t.test('what no row may say is refused by itself', async (t) => {
    const { node, verified } = await nodesFor(t)
    const held = getHoldId(await node.hold())
    const { outcomes } = await node.batch([
      [ada, createSettleOp(held, -1)],
      [bob, createReserveOp(bob)],
    ])
    t.match(outcomes, [RangeError, { kind: 'held' }])
    const tokens = { input: -1, output: 0 }
    const wrong = await node.batch([[ada, toEndingOperation({ kind: 'settle', ...createSettleOrder(held, 1), tokens })]])
    t.match(wrong.outcomes, [RangeError])
    t.match((await node.batch([[ada, createSettleOp(held)]])).outcomes, [{ kind: 'ended', applied: true }])
    t.same(await verified(), [])
  })
}
