/**
 * Any history of two processes on one file whose purses are written behind, killed or refused at any statement, against the same history
 * on a file whose purses are written with every commit. `PURSE_RUNS` sets how many (default 30), `PURSE_SEED` repeats them.
 */
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import * as fc from 'fast-check'
import t from 'tap'
import { calendarOf } from '../../../src/membership/period.ts'
import { pools } from '../../../src/store/purse.ts'
import { purseNow } from '../../../src/store/purse-now.ts'
import { askedColumns, valuesOf } from '../../../src/store/turn-columns.ts'
import type { Connection } from '../../../src/store/sqlite/connection.ts'
import { openForReading, openForWriting } from '../../../src/store/sqlite/connection.ts'
import { cutsInFile } from '../../../src/store/sqlite/cut-file.ts'
import { readingFrom } from '../../../src/store/sqlite/dialect.ts'
import { toOp } from '../../../src/store/ledger/endings.ts'
import { LedgerStatements } from '../../../src/store/sqlite/ledger-statements.ts'
import type { Op, Result, SqlOp } from '../../../src/store/sqlite/protocol.ts'
import type { PurseBounds } from '../../../src/store/sqlite/purses.ts'
import { verifyFile } from '../../../src/store/sqlite/verify-file.ts'
import { accountId, addAccount, endOf, noon, refundOf } from '../contract.ts'
import { folderOf, openAt } from './support.ts'

const numRuns = Number(process.env['PURSE_RUNS'] ?? 30)
const seed = Number(process.env['PURSE_SEED'] ?? Date.now() % 2 ** 31)
const hour = 3_600_000
const calendar = calendarOf('UTC')

t.setTimeout(115_000)

type LedgerOp = Exclude<Op, SqlOp>

const always: PurseBounds = { sweepAfter: 1, writeAfter: 1, sweepStep: 1, kept: 4 }

/** The statement at which the process dies or its disk is full. */
class Stopped extends Error {}

/** One process at a file. */
class Process {
  readonly #file: string
  readonly #name: string
  readonly #bounds: PurseBounds
  #db!: Connection
  #ledger!: LedgerStatements
  /** Statements until the stop. */
  #left = Infinity

  constructor(file: string, name: string, bounds: PurseBounds) {
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
    this.#ledger = new LedgerStatements(this.#db, this.#name, 1, noon, () => true, this.#bounds)
    this.#db.exec('commit')
  }

  /** As the writer does it. */
  commit(ops: readonly LedgerOp[]): readonly Result[] {
    this.#db.exec('begin immediate')
    const results = ops.map((op) => this.#ledger.apply(op))
    this.#ledger.finish()
    this.#db.exec('commit')
    this.#ledger.committed()
    return results
  }

  rest(most: number): void {
    if (!this.#ledger.isBehind) return
    this.#db.exec('begin immediate')
    this.#ledger.writeBehind(most)
    this.#db.exec('commit')
  }

  /** Whatever it is asked next is refused at one of its statements; nothing where it has fewer. */
  refusedAt(statement: number, work: () => void): boolean {
    const isStopped = this.#stoppedAt(statement, work)
    if (isStopped) {
      this.#db.exec('rollback')
      this.#ledger.undone()
    }
    return isStopped
  }

  /** Killed there, and started again under its name, so that its holds stay its own. */
  killedAt(statement: number, work: () => void): boolean {
    const isStopped = this.#stoppedAt(statement, work)
    this.end()
    this.start()
    return isStopped
  }

  end(): void {
    this.#ledger.leave()
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
const account = fc.integer({ min: 1, max: 3 }).map(accountId)

/** What is asked, before it is known which holds there are and what time it is. */
type Ask = (at: number, holds: number[]) => LedgerOp | undefined

function nth(holds: number[], index: number): number | undefined {
  return holds.splice(index % Math.max(1, holds.length), 1)[0]
}

const reserve = fc
  .record({ account, pool: fc.constantFrom(...pools), want: credits, part: fc.nat(100), day: limit, lasts: fc.nat(20) })
  .map(({ account, pool, want, part, day, lasts }): Ask => {
    return (at) => {
      const periods = calendar.at(at)
      const asked = valuesOf(askedColumns, {
        request_id: 'mbr_1',
        account,
        model: 'svc-2.1',
        pool,
        started_at: at,
        price_input: 435,
        price_output: 870,
        discount_percent: 75,
        idempotency_key: null,
        body_hash: null,
      })
      const { day: d, week: w, month: m } = periods
      const dates = [d.start, d.end, d.nextEnd, w.start, w.end, w.nextEnd, m.start, m.end, m.nextEnd] as const
      return [
        'reserve',
        ...dates,
        day,
        3 * day,
        8 * day,
        want,
        Math.floor((want * part) / 100),
        at + lasts * hour,
        Infinity,
        ...asked,
      ]
    }
  })
const settle = fc.tuple(fc.nat(20), credits).map(([index, credits]): Ask => {
  return (at, holds) => {
    const hold = nth(holds, index)
    return hold === undefined ? undefined : toOp({ kind: 'settle', ...endOf(hold, credits, at) })
  }
})
const refund = fc.nat(20).map((index): Ask => {
  return (at, holds) => {
    const hold = nth(holds, index)
    return hold === undefined ? undefined : toOp({ kind: 'refund', ...refundOf(hold, at) })
  }
})
const grant = fc
  .record({ account, pool: fc.constantFrom(...pools), credits, id: fc.uuid() })
  .map(({ account, pool, credits, id }): Ask => {
    return (at) => ['grant', id, account, 'grant', pool, credits, at, at + 50 * hour]
  })
const carry = account.map((account): Ask => {
  return (at) => {
    const { day, week, month } = calendar.at(at)
    return ['carry', account, 'fast', at, day.start, day.end, 5, week.start, week.end, 0, month.start, month.end, 9]
  }
})
const expire = fc.constant<Ask>((at) => ['expire', at, at, []])

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
  kept: fc.integer({ min: 1, max: 3 }),
})

t.test('whatever is written behind, whoever dies at whichever statement, every purse is what its turns make it', async (t) => {
  t.comment(`PURSE_SEED=${seed} PURSE_RUNS=${numRuns}`)
  const folder = folderOf(t)
  const empty = join(folder, 'empty.db')
  const store = await openAt(t, empty)
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
      const read = readingFrom(readers[0])
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
            const cuts = cutsInFile(file, at - step.ago, 1000)
            same(cuts, cutsInFile(plain, at - step.ago, 1000))
            const ops = cuts.map((cut): LedgerOp => ['cut', cut])
            same(process.commit(ops), other.commit(ops))
            // Its hold has run out and its row is gone: nobody has anything left to end.
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
              for (const result of results) if (result[0] === 'held') holds.push(result[1])
            }
          }
          await compare()
        }
        same(verifyFile(file).mismatches, [])
        // One more start writes everything, and then the rows alone are the purses.
        behind[0].killedAt(0, () => behind[0].commit([]))
        behind[0].commit([['expire', at, 0, []]])
        right[0].commit([['expire', at, 0, []]])
        behind[0].rest(Infinity)
        same(rowsOf(readers[0]), rowsOf(readers[1]))
        same(verifyFile(file), verifyFile(plain))
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

/** As a reader sees them, and as they were written with every commit. */
async function comparePurses(read: ReturnType<typeof readingFrom>, right: Connection): Promise<void> {
  for (const row of rowsOf(right)) {
    const purse = await purseNow(read, String(row['account']))
    same([purse?.seq, purse?.lastTurn, purse?.hash, purse?.cells], [row['seq'], row['last_turn'], row['hash'], cellsOf(row)])
  }
}

function isKept(db: Connection, turn: number): boolean {
  return db.prepare('select 1 from turn where id = ?').get(turn) !== undefined
}

function rowsOf(db: Connection): readonly Record<string, unknown>[] {
  return db.prepare<[], Record<string, unknown>>('select * from written_purse order by account').all()
}

function cellsOf(row: Record<string, unknown>): unknown[] {
  return Object.entries(row).flatMap(([name, value]) => (/^(fast|premium)_/.test(name) ? [value] : []))
}

function same(actual: unknown, expected: unknown): void {
  const [is, should] = [JSON.stringify(actual), JSON.stringify(expected)]
  if (is !== should) throw new Error(`is ${is}, should be ${should}`)
}
