/**
 * The one way of a node's turns into the shared ledger: operations wait here, and leave together, a batch at a time. What is in doubt because
 * its answer was lost is sent again until it is known, and ends once, since every operation names what it makes.
 */
import { setTimeout as after } from 'node:timers/promises'
import type { PoolClient } from 'pg'
import type { BookOp, BookResult, CountResult, EndingOp } from '../ledger/operations.ts'
import { nothingUsed, reportedColumns, valuesOf } from '../turn-columns.ts'
import type { LaneOp, Memory, Outcome, Task } from './batch.ts'
import { Batch, NoPurse } from './batch.ts'
import { alone } from './connections.ts'
import type { Connections } from './connections.ts'
import { isConflict, isOfTheStatement, isStale, toCaller, unavailable } from './failures.ts'
import type { LaneFigures, LedgerLane } from './lane-link.ts'
import * as sql from './ledger-sql.ts'
import { openPurses } from './newcomers.ts'

const mostInBatch = 512
const mostWaiting = 10_000
/** Purses remembered between batches. */
const mostRemembered = 16_384
/** Ids of holds are taken from the database so many at a time (the step of the sequence). */
const idsAtOnce = 4_096
/** How long whoever asks waits for a database that is not there: for a hold, and for all that may not be lost. */
const holdPatienceMs = 3_000
const patienceMs = 60_000
const lookMs = 250
const stuckMs = 1_000
const retryMs = 100
const mostTries = 20

interface Waiting extends Task {
  /** Empty until the database has said whose hold it ends. */
  account: string
  readonly since: number
  readonly settle: (outcome: Outcome) => void
  /** Whoever asked has been refused for want of a database. */
  isGivenUp: boolean
}

export class Lane implements LedgerLane {
  readonly #connections: Connections
  readonly #owner: () => number
  readonly #memory: Memory = { purses: new Map(), held: new Map() }
  /** Of every hold of this node's, whatever else is forgotten. */
  readonly #accountOf = new Map<number, string>()
  #queue: Waiting[] = []
  /** Those of the batch under way. */
  #under: readonly Waiting[] = []
  #underSince = 0
  #isRunning = false
  #isClosed = false
  readonly #idle: (() => void)[] = []
  readonly #watch: NodeJS.Timeout
  #nextId = 0
  #idsLeft = 0
  /** Named for holds that were then refused. */
  #spareIds: number[] = []
  #commits = 0
  #operations = 0
  #commitSeconds: number[] = []
  #lostSince: number | null = null

  constructor(connections: Connections, owner: () => number) {
    this.#connections = connections
    this.#owner = owner
    this.#watch = setInterval(() => this.#giveUpOverdue(), lookMs).unref()
  }

  /** `isInDoubt`: it may have been done before. @throws `temporarily_unavailable` where the database is not to be had in time: for a hold nothing is charged then. */
  async submit(op: LaneOp, isInDoubt = false): Promise<BookResult> {
    const account = this.#accountFor(op)
    if (this.#isClosed || (op[0] === 'reserve' && this.#queue.length >= mostWaiting)) throw unavailable()
    const outcome = await new Promise<Outcome>((settle) => {
      this.#queue.push({ op, account, hold: 0, isInDoubt, since: performance.now(), settle, isGivenUp: false })
      this.#start()
    })
    if (outcome instanceof Error) throw toCaller(outcome)
    return outcome
  }

  /** Gives back what a node holds, or holds past its time by its own clock; how many turns. */
  async giveBack(owner: number, at: number, until?: number): Promise<number> {
    const { text, values } = sql.holdsOf(owner, until)
    const { rows } = await this.#connections.read(text, values)
    const holds = Map.groupBy(rows as { account: string; id: number }[], ({ account }) => account)
    const given = await Promise.all(
      [...holds].map(([account, turns]) => this.submit(['give back', account, turns.map(({ id }) => id), at])),
    )
    return given.reduce((sum, result) => sum + (result as CountResult)[1], 0)
  }

  figures(): LaneFigures {
    const commitSeconds = this.#commitSeconds
    this.#commitSeconds = []
    return {
      queue: this.#queue.length + this.#under.length,
      commits: this.#commits,
      syncs: this.#commits,
      operations: this.#operations,
      commitSeconds,
      holdsOpen: this.#memory.held.size,
      writable: this.#lostSince === null && !this.#isStuck,
      owed: this.#lostSince === null ? 0 : [...this.#queue, ...this.#under].filter(({ op }) => isEnding(op)).length,
      owedSince: this.#lostSince,
    }
  }

  get isBusy(): boolean {
    return this.#isRunning
  }

  /** The database has taken a batch, and says nothing. */
  get #isStuck(): boolean {
    return this.#under.length > 0 && performance.now() - this.#underSince > stuckMs
  }

  /** After all that was asked for, as far as that is possible within `ms`. */
  async close(ms: number): Promise<void> {
    if (this.#queue.length + this.#under.length > 0)
      await Promise.race([new Promise<void>((done) => this.#idle.push(done)), after(ms, undefined, { ref: false })])
    this.#isClosed = true
    clearInterval(this.#watch)
    for (const task of [...this.#queue, ...this.#under]) task.settle(unavailable())
    this.#queue = []
  }

  /** An ending says which hold it ends; whose that is this thread knows, unless another made it, or it has ended before. */
  #accountFor(op: LaneOp): string {
    switch (op[0]) {
      case 'reserve':
        return op[18]
      case 'grant':
        return op[2]
      case 'carry':
      case 'give back':
        return op[1]
      case 'settle':
      case 'refund':
        return this.#accountOf.get(op[1]) ?? ''
    }
  }

  /** Asks where they are not known; those for whom there is none are answered. */
  async #withAccounts(tasks: readonly Waiting[]): Promise<readonly Waiting[]> {
    const holds = tasks.flatMap(({ op, account }) => (account === '' && isEnding(op) ? [[op[1]]] : []))
    if (holds.length === 0) return tasks
    const { text, values } = sql.accountsOf(holds)
    const { rows } = await this.#connections.read(text, values)
    const accounts = new Map((rows as { id: number; account: string }[]).map(({ id, account }) => [id, account]))
    return tasks.filter((task) => {
      if (task.account !== '' || !isEnding(task.op)) return true
      task.account = accounts.get(task.op[1]) ?? ''
      if (task.account === '') this.#answer(task, new Error(`there is no hold ${task.op[1]}`))
      return task.account !== ''
    })
  }

  #start(): void {
    if (this.#isRunning) return
    this.#isRunning = true
    // All of one round of the loop leave together.
    setImmediate(() => void this.#run())
  }

  async #run(): Promise<void> {
    while ((this.#queue.length > 0 || this.#lostSince !== null) && !this.#isClosed) {
      const batch = this.#queue.splice(0, mostInBatch)
      if (batch.length === 0) await this.#look()
      else await this.#perform(batch)
      this.#under = []
    }
    this.#isRunning = false
    for (const done of this.#idle.splice(0)) done()
  }

  /**
   * Nobody waits for the database any more. Whether it is back is asked all the same: no balancer sends a turn, which would find that out, to
   * a node that says it is not.
   */
  async #look(): Promise<void> {
    try {
      // A lock of a row is written like any change, and changes nothing.
      await this.#connections.write(alone, 'select 1 from roster_end for update', [])
      this.#lostSince = null
    } catch {
      await after(retryMs)
    }
  }

  /** All together; where one of them breaks what the database demands, each account by itself, and then each operation. */
  async #perform(batch: readonly Waiting[]): Promise<void> {
    let tasks = batch
    for (let tries = 1; tasks.length > 0 && !this.#isClosed;) {
      this.#under = tasks
      this.#underSince = performance.now()
      try {
        tasks = await this.#withAccounts(tasks)
        if (tasks.length === 0) return
        const outcomes = await this.#transact(tasks)
        this.#lostSince = null
        for (const [index, task] of tasks.entries()) this.#answer(task, outcomes[index] ?? new Error('no outcome'))
        return
      } catch (error) {
        if (isConflict(error) && tries < mostTries) {
          tries += 1
          await after(Math.random() * 2 ** Math.min(tries, 6))
        } else if (isStale(error) && tries < mostTries) {
          // Somebody else has ended what this node took for held.
          tries += 1
          for (const { op } of tasks) if (isEnding(op)) this.#memory.held.delete(op[1])
        } else if (isOfTheStatement(error)) {
          if (tasks.length === 1) for (const task of tasks) this.#answer(task, asError(error))
          else for (const part of partsOf(tasks)) await this.#perform(part)
          return
        } else {
          this.#lost()
          tasks = tasks.filter((task) => !task.isGivenUp || task.isInDoubt)
          await after(retryMs)
        }
      }
    }
  }

  async #transact(tasks: readonly Waiting[]): Promise<readonly Outcome[]> {
    const client = await this.#connections.take()
    let batch: Batch | undefined
    try {
      await this.#nameHolds(client, tasks)
      for (;;) {
        const started = performance.now()
        batch = new Batch(
          {
            begin: () => this.#connections.begin(client),
            query: (statement) => client.query(statement),
            alone: (statement) => this.#connections.alone(client, statement),
          },
          this.#memory,
          this.#owner(),
          tasks,
        )
        try {
          const outcomes = await batch.run()
          this.#connections.giveBack(client)
          this.#commits += 1
          this.#operations += tasks.length
          this.#commitSeconds.push((performance.now() - started) / 1000)
          this.#forgetOld()
          return outcomes
        } catch (error) {
          if (!(error instanceof NoPurse)) throw error
          await client.query('rollback')
          await openPurses(this.#connections, client, error.accounts)
        }
      }
    } catch (error) {
      const isSound = isOfTheStatement(error) || isConflict(error)
      if (isSound) await client.query('rollback').catch(() => undefined)
      // Only where the statement itself was refused is it known that nothing was committed.
      else if (batch?.isSent === true) for (const task of tasks) task.isInDoubt = true
      this.#connections.giveBack(client, isSound ? undefined : error)
      throw error
    }
  }

  async #nameHolds(client: PoolClient, tasks: readonly Waiting[]): Promise<void> {
    for (const task of tasks) {
      if (task.op[0] !== 'reserve' || task.hold !== 0) continue
      const spare = this.#spareIds.pop()
      if (spare !== undefined) {
        task.hold = spare
        continue
      }
      if (this.#idsLeft === 0) {
        const { rows } = await client.query<{ first: number }>(`select nextval('turn_block') as first`)
        this.#nextId = rows[0]?.first ?? 0
        this.#idsLeft = idsAtOnce
      }
      task.hold = this.#nextId
      this.#nextId += 1
      this.#idsLeft -= 1
    }
  }

  #answer(task: Waiting, outcome: Outcome): void {
    if (!(outcome instanceof Error)) {
      const [kind, id] = outcome
      if (kind === 'held') {
        this.#accountOf.set(id, task.account)
        if (task.isGivenUp) this.#refund(id)
      } else if (task.hold > 0) this.#spareIds.push(task.hold)
      if (kind === 'ended' && isEnding(task.op)) this.#accountOf.delete(task.op[1])
      if (task.op[0] === 'give back') for (const hold of task.op[2]) this.#accountOf.delete(hold)
    }
    task.settle(outcome)
  }

  /** Of a hold that turned out to be made after its caller was refused. */
  #refund(hold: number): void {
    const used = valuesOf(reportedColumns, { ...nothingUsed, ended_at: Date.now(), code: 'temporarily_unavailable' })
    const refund: BookOp = ['refund', hold, ...used]
    // Where that fails the lease ends it.
    void this.submit(refund).catch(() => undefined)
  }

  /** No connection was to be had, or the one there was is gone: what is remembered may be of another server's past. */
  #lost(): void {
    this.#lostSince ??= Date.now()
    this.#memory.purses.clear()
    this.#memory.held.clear()
  }

  #giveUpOverdue(): void {
    const now = performance.now()
    for (const task of [...this.#under, ...this.#queue]) {
      const most = task.op[0] === 'reserve' ? holdPatienceMs : patienceMs
      if (task.isGivenUp || now - task.since < most) continue
      task.isGivenUp = true
      task.settle(unavailable())
    }
    // What was never sent, and nobody waits for, need not be. An ending is owed, whoever still waits for it.
    this.#queue = this.#queue.filter((task) => !task.isGivenUp || task.isInDoubt || task.op[0] !== 'reserve')
  }

  #forgetOld(): void {
    const { purses } = this.#memory
    for (const account of purses.keys()) {
      if (purses.size <= mostRemembered) return
      purses.delete(account)
    }
  }
}

function isEnding(op: LaneOp): op is EndingOp {
  return op[0] === 'settle' || op[0] === 'refund'
}

function partsOf(tasks: readonly Waiting[]): readonly (readonly Waiting[])[] {
  const byAccount = [...Map.groupBy(tasks, ({ account }) => account).values()]
  return byAccount.length > 1 ? byAccount : tasks.map((task) => [task])
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error))
}
