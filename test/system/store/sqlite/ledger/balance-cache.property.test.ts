/**
 * Random histories of two processes on one file with write-behind balances, killed or refused at any statement, compared with the same history
 * on a file whose balances are written with every commit. `BALANCE_RUNS` sets their number (default 30), `BALANCE_SEED` repeats them.
 */
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import * as fc from 'fast-check'
import t from 'tap'
import { createCalendar } from '../../../../../src/domain/billing/period.ts'
import { pools } from '../../../../../src/store/ledger/account-balance.ts'
import { readCurrentBalance } from '../../../../../src/store/ledger/current-balance.ts'
import type { Connection } from '../../../../../src/store/sqlite/connection/connection.ts'
import { openForReading, openForWriting } from '../../../../../src/store/sqlite/connection/connection.ts'
import { createReadOnlyKysely } from '../../../../../src/store/sqlite/dialect.ts'
import type { LedgerOperation, LedgerResult } from '../../../../../src/store/ledger/operations.ts'
import { toEndingOperation, toOpenWithUsageOperation, toReserveOperation } from '../../../../../src/store/ledger/orders.ts'
import { LedgerExecutor } from '../../../../../src/store/sqlite/ledger/ledger-executor.ts'
import type { BalanceCacheLimits } from '../../../../../src/store/sqlite/ledger/balance-cache.ts'
import { planFilePruning, verifyDatabaseFile } from '../../../../../src/store/sqlite/maintenance/ledger-snapshot.ts'
import {
  toAccountId,
  addAccount,
  createReserveOrder,
  createSettleOrder,
  noon,
  createRefundOrder,
} from '../../../../support/store/contract/store-contract.ts'
import { createTemporaryFolder, openStoreAt } from '../../../../support/store/sqlite/support.ts'

const numRuns = Number(process.env['BALANCE_RUNS'] ?? 30)
const seed = Number(process.env['BALANCE_SEED'] ?? Date.now() % 2 ** 31)
const hour = 3_600_000
const calendar = createCalendar('UTC')

t.setTimeout(115_000)

const always: BalanceCacheLimits = { sweepAfter: 1, writeAfter: 1, sweepStep: 1, maxRecent: 4 }

/** The statement at which the process dies or the disk is full. */
class Stopped extends Error {}

/** One process on a file. */
class Process {
  readonly #file: string
  readonly #name: string
  readonly #bounds: BalanceCacheLimits
  #db!: Connection
  #ledger!: LedgerExecutor
  /** Statements until the stop. */
  #left = Infinity

  constructor(file: string, name: string, bounds: BalanceCacheLimits) {
    this.#file = file
    this.#name = name
    this.#bounds = bounds
    this.start()
  }

  start(): void {
    this.#left = Infinity
    this.#db = openForWriting(this.#file, 0, false)
    this.#db.pragma('synchronous = off')
    this.#countStatements()
    this.#db.exec('begin immediate')
    this.#ledger = new LedgerExecutor(this.#db, this.#name, 1, noon, () => true, this.#bounds)
    this.#db.exec('commit')
  }

  /** Executes operations as the writer does. */
  commit(ops: readonly LedgerOperation[]): readonly LedgerResult[] {
    this.#db.exec('begin immediate')
    const results = ops.map((op) => this.#ledger.apply(op))
    this.#ledger.beforeCommit()
    this.#db.exec('commit')
    this.#ledger.afterCommit()
    return results
  }

  rest(most: number): void {
    if (!this.#ledger.isDirty) return
    this.#db.exec('begin immediate')
    this.#ledger.writeBehind(most)
    this.#db.exec('commit')
  }

  /** The next operation fails at this statement, if it has as many. */
  refusedAt(statement: number, work: () => void): boolean {
    const isStopped = this.#stoppedAt(statement, work)
    if (isStopped) {
      this.#db.exec('rollback')
      this.#ledger.afterRollback()
    }
    return isStopped
  }

  /** Killed at this statement and started again under the same name, so that it keeps its holds. */
  killedAt(statement: number, work: () => void): boolean {
    const isStopped = this.#stoppedAt(statement, work)
    this.end()
    this.start()
    return isStopped
  }

  end(): void {
    this.#ledger.close()
    this.#db.close()
  }

  #stoppedAt(statement: number, work: () => void): boolean {
    this.#left = statement
    try {
      work()
      return false
    } catch (error) {
      if (!(error instanceof Stopped)) throw error
      return true
    } finally {
      this.#left = Infinity
    }
  }

  #countStatements(): void {
    const prepare = this.#db.prepare.bind(this.#db)
    const step = (): void => {
      if (--this.#left < 0) throw new Stopped()
    }
    this.#db.prepare = ((text: string) => {
      const statement = prepare(text)
      for (const name of ['run', 'get', 'all', 'iterate'] as const) {
        const real = statement[name].bind(statement) as (...parameters: unknown[]) => unknown
        Reflect.set(statement, name, (...parameters: unknown[]) => {
          step()
          return real(...parameters)
        })
      }
      return statement
    }) as Connection['prepare']
  }
}

const credits = fc.integer({ min: 0, max: 700 })
const limit = fc.oneof(fc.constant(0), fc.integer({ min: 300, max: 1500 }))
const account = fc.integer({ min: 1, max: 3 }).map(toAccountId)

/** A command, before the existing holds and the time are known. */
type Ask = (at: number, holds: number[]) => LedgerOperation | undefined

function nth(holds: number[], index: number): number | undefined {
  return holds.splice(index % Math.max(1, holds.length), 1)[0]
}

const reserve = fc
  .record({ account, pool: fc.constantFrom(...pools), amount: credits, part: fc.nat(100), day: limit, lasts: fc.nat(20) })
  .map(({ account, pool, amount, part, day, lasts }): Ask => {
    return (at) =>
      toReserveOperation(
        createReserveOrder({
          account,
          pool,
          at,
          limits: { day, week: 3 * day, month: 8 * day },
          amount,
          minAmount: Math.floor((amount * part) / 100),
          leaseUntil: at + lasts * hour,
        }),
      )
  })
const settle = fc.tuple(fc.nat(20), credits).map(([index, credits]): Ask => {
  return (at, holds) => {
    const hold = nth(holds, index)
    return hold === undefined ? undefined : toEndingOperation({ kind: 'settle', ...createSettleOrder(hold, credits, at) })
  }
})
const refund = fc.nat(20).map((index): Ask => {
  return (at, holds) => {
    const hold = nth(holds, index)
    return hold === undefined ? undefined : toEndingOperation({ kind: 'refund', ...createRefundOrder(hold, at) })
  }
})
const grant = fc
  .record({ account, pool: fc.constantFrom(...pools), credits, id: fc.uuid() })
  .map(({ account, pool, credits, id }): Ask => {
    return (at) => ({ kind: 'grant', id, account, packKind: 'grant', pool, credits, at, expiresAt: at + 50 * hour })
  })
const carry = account.map((account): Ask => {
  return (at) => {
    const used = { day: 5, week: 0, month: 9 }
    return toOpenWithUsageOperation({ account, pool: 'fast', at, periods: calendar.getPeriods(at), used })
  }
})
const expire = fc.constant<Ask>((at) => ({ kind: 'expire', at, monotonicMs: at, except: [] }))

const batch = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: reserve },
    { weight: 5, arbitrary: settle },
    { weight: 2, arbitrary: refund },
    { weight: 1, arbitrary: grant },
    { weight: 1, arbitrary: carry },
    { weight: 1, arbitrary: expire },
  ),
  { minLength: 1, maxLength: 6 },
)
const statement = fc.nat(70)
const which = fc.nat(1)
const step = fc.oneof(
  { weight: 8, arbitrary: fc.record({ kind: fc.constant('commit' as const), which, batch }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom('kill' as const, 'refuse' as const), which, batch, statement }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('rest' as const), which, most: fc.nat(4), dies: fc.boolean(), statement }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('time' as const), by: fc.integer({ min: -hour, max: 30 * hour }) }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('forget' as const), which, ago: fc.integer({ min: -1, max: 60 * hour }) }),
  },
)
const bounds = fc.record({
  sweepAfter: fc.integer({ min: 1, max: 60 }),
  writeAfter: fc.integer({ min: 2, max: 40 }),
  sweepStep: fc.integer({ min: 1, max: 3 }),
  maxRecent: fc.integer({ min: 1, max: 3 }),
})

t.test('computes every balance from its turns, whichever process dies at whichever statement', async (t) => {
  t.comment(`BALANCE_SEED=${seed} BALANCE_RUNS=${numRuns}`)
  const folder = createTemporaryFolder(t)
  const empty = join(folder, 'empty.db')
  const store = await openStoreAt(t, empty)
  for (const index of [1, 2, 3]) await addAccount(store, index)
  await store.close()
  let runs = 0
  let stops = 0
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 50, size: 'max' }), bounds, async (steps, bounds) => {
      runs += 1
      const [file, plain] = [join(folder, `behind${runs}.db`), join(folder, `plain${runs}.db`)]
      for (const copy of [file, plain]) copyFileSync(empty, copy)
      const behind = [new Process(file, 'one', bounds), new Process(file, 'two', bounds)] as const
      const right = [new Process(plain, 'one', always), new Process(plain, 'two', always)] as const
      const readers = [openForReading(file, 0), openForReading(plain, 0)] as const
      const read = createReadOnlyKysely(readers[0])
      const compare = () => comparePurses(read, readers[1])
      try {
        let at = noon
        let holds: number[] = []
        for (const step of steps) {
          if (step.kind === 'time') {
            at += step.by
            continue
          }
          const which = step.which === 0 ? 0 : 1
          const [process, other] = [behind[which], right[which]]
          if (step.kind === 'rest') {
            if (step.dies) process.killedAt(step.statement % 8, () => process.rest(step.most))
            else process.rest(step.most)
          } else if (step.kind === 'forget') {
            const cuts = planFilePruning(file, at - step.ago, 1000)
            same(cuts, planFilePruning(plain, at - step.ago, 1000))
            const ops = cuts.map((step): LedgerOperation => ({ kind: 'prune', step }))
            same(process.commit(ops), other.commit(ops))
            // The hold has expired and its row is pruned: there is nothing to end.
            holds = holds.filter((hold) => isKept(readers[1], hold))
          } else {
            const before = [...holds]
            const ops = step.batch.map((ask) => ask(at, holds)).filter((op) => op !== undefined)
            const commit = () => process.commit(ops)
            if (step.kind !== 'commit') {
              const isStopped =
                step.kind === 'kill' ? process.killedAt(step.statement, commit) : process.refusedAt(step.statement, commit)
              if (isStopped) {
                stops += 1
                holds = before
              } else other.commit(ops)
            } else {
              const results = commit()
              same(results, other.commit(ops))
              for (const result of results) if (result.kind === 'held') holds.push(result.hold.id)
            }
          }
          await compare()
        }
        same(verifyDatabaseFile(file).mismatches, [])
        // One more start writes everything; then the rows alone are the balances.
        behind[0].killedAt(0, () => behind[0].commit([]))
        behind[0].commit([{ kind: 'expire', at, monotonicMs: 0, except: [] }])
        right[0].commit([{ kind: 'expire', at, monotonicMs: 0, except: [] }])
        behind[0].rest(Infinity)
        same(rowsOf(readers[0]), rowsOf(readers[1]))
        same(verifyDatabaseFile(file), verifyDatabaseFile(plain))
      } finally {
        for (const reader of readers) reader.close()
        for (const process of [...behind, ...right]) process.end()
      }
    }),
    { numRuns, seed, interruptAfterTimeLimit: 60_000 },
  )
  t.ok(runs > 10, `${runs} histories`)
  t.ok(stops > 10, `${stops} stops`)
})

/** Balances as a reader sees them, and as written with every commit. */
async function comparePurses(read: ReturnType<typeof createReadOnlyKysely>, right: Connection): Promise<void> {
  for (const row of rowsOf(right)) {
    const balance = await readCurrentBalance(read, String(row['account']))
    same(
      [balance?.seq, balance?.lastTurn, balance?.hash, balance?.bucketValues],
      [row['seq'], row['last_turn'], row['hash'], cellsOf(row)],
    )
  }
}

function isKept(db: Connection, turn: number): boolean {
  return db.prepare('select 1 from turn where id = ?').get(turn) !== undefined
}

function rowsOf(db: Connection): readonly Record<string, unknown>[] {
  return db.prepare<[], Record<string, unknown>>('select * from balance order by account').all()
}

function cellsOf(row: Record<string, unknown>): unknown[] {
  return Object.entries(row).flatMap(([name, value]) => (/^(fast|premium)_/.test(name) ? [value] : []))
}

function same(actual: unknown, expected: unknown): void {
  const [is, should] = [JSON.stringify(actual), JSON.stringify(expected)]
  if (is !== should) throw new Error(`is ${is}, should be ${should}`)
}
