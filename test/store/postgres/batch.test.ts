/** How often a batch asks the database: once where nobody else writes to its accounts, and as often as it must where somebody has. */
import t from 'tap'
import type { Test } from 'tap'
import { toOp } from '../../../src/store/ledger/endings.ts'
import { toReserveOp } from '../../../src/store/ledger/orders.ts'
import type { LaneOp, Memory, Outcome } from '../../../src/store/postgres/batch.ts'
import { Batch } from '../../../src/store/postgres/batch.ts'
import { Connections } from '../../../src/store/postgres/connections.ts'
import { settings } from '../../../src/store/postgres/lane-settings.ts'
import type { Statement } from '../../../src/store/postgres/ledger-sql.ts'
import { openPurses } from '../../../src/store/postgres/newcomers.ts'
import { openLedger } from '../../../src/store/postgres/open-ledger.ts'
import { postgresFor } from '../../support/postgres.ts'
import { accountId, addAccount, endOf, orderOf, refundOf } from '../contract.ts'
import { furnish, openOn } from './support.ts'

const postgres = await postgresFor(t, furnish)
const plenty = { day: 1e9, week: 1e9, month: 1e9 }
const [ada, bob] = [accountId(1), accountId(2)]

interface Asked {
  readonly outcomes: readonly Outcome[]
  readonly statements: readonly string[]
}

/** A node as far as its batches go. */
class Node {
  readonly #connections: Connections
  readonly #memory: Memory = { purses: new Map(), held: new Map() }
  readonly #owner: number
  #holds: number

  constructor(connections: Connections, owner: number) {
    this.#connections = connections
    this.#owner = owner
    this.#holds = owner * 1_000
  }

  async batch(tasks: readonly (readonly [account: string, op: LaneOp])[], isInDoubt = false): Promise<Asked> {
    const client = await this.#connections.take()
    const statements: string[] = []
    const ask = (statement: Statement | string) => {
      statements.push(typeof statement === 'string' ? statement : statement.name)
      return client.query(statement)
    }
    const batch = new Batch(
      {
        begin: () => ask('begin'),
        query: ask,
        alone: ask,
      },
      this.#memory,
      this.#owner,
      tasks.map(([account, op]) => ({ op, account, hold: op[0] === 'reserve' ? (this.#holds += 1) : 0, isInDoubt })),
    )
    const outcomes = await batch.run()
    this.#connections.giveBack(client)
    return { outcomes, statements }
  }

  hold(account = ada, change: Parameters<typeof orderOf>[0] = {}): Promise<Asked> {
    return this.batch([[account, reserveOf(account, change)]])
  }

  /** So often that its accounts are known to be nobody else’s. */
  async settleIn(...accounts: readonly string[]): Promise<void> {
    for (let times = 0; times < 4; times += 1) await this.batch(accounts.map((account) => [account, reserveOf(account)]))
  }
}

function reserveOf(account: string, change: Parameters<typeof orderOf>[0] = {}): LaneOp {
  return toReserveOp(orderOf({ account, limits: plenty, ...change }))
}

function settleOf(hold: number, credits = 7): LaneOp {
  return toOp({ kind: 'settle', ...endOf(hold, credits) })
}

function heldIn({ outcomes: [outcome] }: Asked): number {
  if (outcome === undefined || outcome instanceof Error || outcome[0] !== 'held') throw new Error(JSON.stringify(outcome))
  return outcome[1]
}

const inOne = (...parts: readonly string[]): readonly string[] => [`write_turns${parts.join('')}`]
const inTwo = (...parts: readonly string[]): readonly string[] => ['begin', 'lock_purses', ...inOne(...parts), 'commit']

if (postgres !== undefined) {
  async function nodesFor(t: Test) {
    const url = await postgres!.database(t)
    const store = await openOn(t, url, { ledger: openLedger })
    for (const index of [1, 2]) await addAccount(store, index)
    const connections = new Connections({ url, most: 2, settings })
    t.teardown(() => connections.close())
    const client = await connections.take()
    await openPurses(connections, client, [ada, bob])
    connections.giveBack(client)
    const verified = async () => (await store.ledger.verify()).mismatches
    return { store, connections, verified, node: new Node(connections, 1), other: new Node(connections, 2) }
  }

  t.test('turns of an account that only this node writes to go in one trip each', async (t) => {
    const { node, verified } = await nodesFor(t)
    await node.hold()
    for (let times = 1; times < 4; times += 1)
      t.same((await node.hold()).statements, inTwo('_held'), 'at first it looks whether it is alone')
    const held = await node.hold()
    t.same(held.statements, inOne('_held'))
    const settled = await node.batch([[ada, settleOf(heldIn(held))]])
    t.same(settled.statements, inOne('_ended'))
    t.same(settled.outcomes, [['ended', true, 'settled', 7, 0]])
    const next = heldIn(await node.hold())
    const both = await node.batch([
      [ada, settleOf(next)],
      [ada, reserveOf(ada)],
    ])
    t.same(both.statements, inOne('_held', '_ended'))
    t.equal((await node.hold(bob)).statements[0], 'begin', 'another account is another matter')
    t.same(await verified(), [])
  })

  t.test('what another node has written is found by the statement that writes, and nothing of it stays', async (t) => {
    const { node, other, verified } = await nodesFor(t)
    await node.settleIn(ada, bob)
    const mine = heldIn(await node.hold(ada, { limits: { day: 1_000, week: 1_000, month: 1_000 } }))
    // 500 are held by now: here, and as far as this node knows.
    t.match((await other.hold(ada, { limits: { day: 1_000, week: 1_000, month: 1_000 }, want: 450 })).outcomes, [['held']])
    const lost = await node.batch([
      [ada, reserveOf(ada, { limits: { day: 1_000, week: 1_000, month: 1_000 }, floor: 60 })],
      [bob, reserveOf(bob)],
    ])
    t.same(lost.statements, [...inOne('_held'), ...inTwo('_held')])
    t.match(lost.outcomes, [['busy'], ['held']], 'decided by what is left now')
    t.same((await node.batch([[ada, settleOf(mine)]])).statements, inTwo('_ended'), 'and it looks again from then on')
    t.same(await verified(), [])
  })

  t.test('a hold that another node has given back is not charged in one trip either', async (t) => {
    const { node, other, verified } = await nodesFor(t)
    await node.settleIn(ada)
    const held = heldIn(await node.hold())
    await other.batch([[ada, toOp({ kind: 'refund', ...refundOf(held) })]])
    const { outcomes, statements } = await node.batch([[ada, settleOf(held)]])
    t.same(statements, [...inOne('_ended'), 'begin', 'lock_purses', 'read_turns', 'commit'])
    t.same(outcomes, [['ended', false, 'refunded', 0, 0]])
    t.same(await verified(), [])
  })

  t.test('what is more than a turn, or has to be looked up first, takes as many trips as it needs', async (t) => {
    const { node, verified } = await nodesFor(t)
    await node.settleIn(ada)
    const key = { key: 'once', bodyHash: 'body' }
    t.equal((await node.hold(ada, { idempotency: key })).statements[0], 'begin', 'an idempotency key')
    t.match((await node.hold(ada, { idempotency: key })).outcomes, [['duplicate']])
    await node.settleIn(ada)
    const held = heldIn(await node.hold())
    t.equal((await node.hold(ada, { limits: { day: 1, week: 1, month: 1 }, floor: 1 })).statements[0], 'begin', 'a refusal')
    await node.settleIn(ada)
    t.equal((await node.batch([[ada, settleOf(held)]], true)).statements[0], 'begin', 'what may be done already')
    await node.settleIn(ada)
    t.equal((await node.batch([[ada, settleOf(held)]])).statements[0], 'begin', 'an ending of what has ended')
    t.same(await verified(), [])
  })

  t.test('an invited account’s first charged turn is noticed where it is settled', async (t) => {
    const { node, store, connections } = await nodesFor(t)
    const invite = { invited: ada, inviter: bob, person: new Uint8Array([1]), inviterPerson: new Uint8Array([2]), at: 0 }
    t.ok(await store.boosts.recordInvite(invite))
    const state = async () => (await connections.read('select state from invite', [])).rows
    const [refunded, free, charged] = [await node.hold(), await node.hold(), await node.hold()].map(heldIn) as [
      number,
      number,
      number,
    ]
    await node.batch([[ada, toOp({ kind: 'refund', ...refundOf(refunded) })]])
    await node.batch([[ada, settleOf(free, 0)]])
    t.same(await state(), [{ state: 'pending' }])
    await node.batch([[ada, settleOf(charged)]])
    t.same(await state(), [{ state: 'due' }])
  })

  t.test('what no row may say is refused by itself', async (t) => {
    const { node, verified } = await nodesFor(t)
    const held = heldIn(await node.hold())
    const { outcomes } = await node.batch([
      [ada, settleOf(held, -1)],
      [bob, reserveOf(bob)],
    ])
    t.match(outcomes, [RangeError, ['held']])
    const tokens = { input: -1, output: 0 }
    const wrong = await node.batch([[ada, toOp({ kind: 'settle', ...endOf(held, 1), tokens })]])
    t.match(wrong.outcomes, [RangeError])
    t.match((await node.batch([[ada, settleOf(held)]])).outcomes, [['ended', true]])
    t.same(await verified(), [])
  })
}
