/**
 * One batch of the ledger's operations as one transaction of two trips: the accounts' purses are locked, in the order of their ids, and
 * read; the book decides; what has changed is written and committed. Where nobody else writes to these accounts it is decided by what is
 * remembered, and takes one trip: the statement that writes finds out whether that was right.
 */
import type { QueryResult } from 'pg'
import { LedgerBook } from '../ledger/book.ts'
import type { BookOp, BookResult } from '../ledger/operations.ts'
import type { EarlierTurn } from '../ledger/rows.ts'
import { bucketFields } from '../schema.ts'
import type { EndingTurn } from '../turn-columns.ts'
import { isStale } from './failures.ts'
import type { AwayBucket, PurseRow } from './page.ts'
import { AccountPage, NotLoaded, Page } from './page.ts'
import type { BucketTable, PackTable } from '../schema.ts'
import type { Statement } from './ledger-sql.ts'
import * as sql from './ledger-sql.ts'
import { rareStatements, turnRows } from './written.ts'

/** What a lane is asked: an operation of the book's, or to give back what turns hold that nobody will end. */
export type LaneOp = BookOp | readonly [kind: 'give back', account: string, holds: readonly number[], at: number]

export interface Task {
  readonly op: LaneOp
  readonly account: string
  /** Of the hold that it makes, given by this node, so that the same task sent twice makes one; 0 where it makes none. */
  hold: number
  /** It may have been committed: its answer was lost. */
  isInDoubt: boolean
}

/** The connection, as far as a batch needs it. */
export interface Asked {
  begin(): Promise<unknown>
  query(statement: Statement | string): Promise<QueryResult>
  /** As a transaction by itself. */
  alone(statement: Statement): Promise<QueryResult>
}

/** What a node remembers of its last batches; checked against the versions that it reads. */
export interface Memory {
  readonly purses: Map<string, PurseRow>
  /** The turns that this node holds, as they were held. */
  readonly held: Map<number, EndingTurn>
}

/** A purse that was found so many times in a row as this node had left it is taken to be so again. */
const surelyUnmoved = 4

/** Accounts that have no purse yet. */
export class NoPurse extends Error {
  readonly accounts: readonly string[]

  constructor(accounts: readonly string[]) {
    super(`no purse for ${accounts.length} accounts`)
    this.accounts = accounts
  }
}

type AccountTasks = readonly [account: string, tasks: readonly Task[]]

type StoredTurn = EndingTurn & { readonly reserved: number; readonly owner: number; readonly ended_at: number | null }

/** An answer to a task, or why there is none; others of the batch are not concerned. */
export type Outcome = BookResult | Error

export class Batch {
  readonly #asked: Asked
  readonly #memory: Memory
  readonly #owner: number
  readonly #tasks: readonly Task[]
  readonly #byAccount = new Map<string, Task[]>()
  readonly #pages = new Map<string, AccountPage>()
  readonly #stored = new Map<number, StoredTurn>()
  readonly #outcomes = new Map<Task, Outcome>()
  /** Whether what it decided was sent: from then on only the database knows what has become of it. */
  isSent = false

  constructor(asked: Asked, memory: Memory, owner: number, tasks: readonly Task[]) {
    this.#asked = asked
    this.#memory = memory
    this.#owner = owner
    this.#tasks = tasks
    for (const task of tasks) {
      const others = this.#byAccount.get(task.account)
      if (others === undefined) this.#byAccount.set(task.account, [task])
      else others.push(task)
    }
  }

  /** The outcomes in the order of the tasks. @throws what undid the transaction; the connection may still be in it. */
  async run(): Promise<readonly Outcome[]> {
    if (!(await this.#isDoneInOne())) {
      await this.#read()
      await this.#decide()
      await this.#write()
    }
    this.#remember()
    return this.#tasks.map((task) => this.#outcomes.get(task) ?? new Error('no outcome'))
  }

  /** In one trip, without reading. False where something has to be read, or another has written meanwhile: then nothing was done. */
  async #isDoneInOne(): Promise<boolean> {
    if (!this.#isRemembered()) return false
    const pages = this.#openRemembered()
    const isPlain = this.#undecided([...this.#byAccount]).length === 0 && pages.every((page) => page.isPlain)
    if (isPlain && (await this.#isWritten(pages))) return true
    this.#pages.clear()
    this.#outcomes.clear()
    return false
  }

  /** Whether nothing has to be read for these tasks, and nobody else is known to write to their accounts. */
  #isRemembered(): boolean {
    for (const account of this.#byAccount.keys())
      if ((this.#memory.purses.get(account)?.unmoved ?? 0) < surelyUnmoved) return false
    return this.#tasks.every((task) => !task.isInDoubt && this.#turnsToRead(task).length === 0 && keyOf(task.op) === null)
  }

  #openRemembered(): readonly AccountPage[] {
    // They are locked in this order.
    for (const account of [...this.#byAccount.keys()].toSorted()) {
      const row = this.#memory.purses.get(account)
      if (row !== undefined) this.#pages.set(account, new AccountPage(account, row))
    }
    this.#recall()
    return [...this.#pages.values()]
  }

  /** Whether what is remembered was right. */
  async #isWritten(pages: readonly AccountPage[]): Promise<boolean> {
    this.isSent = true
    try {
      await this.#asked.alone(sql.writeTurns(turnRows(pages)))
      return true
    } catch (error) {
      if (!isStale(error)) throw error
      this.isSent = false
      for (const { account } of pages) this.#memory.purses.delete(account)
      return false
    }
  }

  async #read(): Promise<void> {
    const accounts = [...this.#byAccount.keys()].toSorted()
    const locks = accounts.map((account) => [account, this.#memory.purses.get(account)?.version ?? -1])
    const turns = this.#tasks.flatMap((task) => this.#turnsToRead(task).map((id) => [task.account, id]))
    const keys = this.#tasks.flatMap(({ op, account }) => (keyOf(op) === null ? [] : [[account, keyOf(op)]]))
    const begun = this.#asked.begin()
    // It is awaited last, because all leave together.
    begun.catch(() => undefined)
    const [purses = nothing, read = nothing, earlier = nothing] = await this.#all(
      sql.lockPurses(locks),
      turns.length === 0 ? undefined : sql.readTurns(turns),
      keys.length === 0 ? undefined : sql.readKeys(keys),
    )
    await begun
    const moved = new Set<string>()
    for (const row of purses.rows as LockedPurse[]) {
      const remembered = row.cells === null ? this.#memory.purses.get(row.account) : undefined
      if (remembered === undefined) moved.add(row.account)
      this.#pages.set(row.account, new AccountPage(row.account, remembered ?? purseRow(row)))
    }
    const missing = accounts.filter((account) => !this.#pages.has(account))
    if (missing.length > 0) throw new NoPurse(missing)

    this.#takeIn(read.rows as StoredTurn[])
    for (const row of earlier.rows as (EarlierTurn & { account: string; idempotency_key: string })[])
      this.#pages.get(row.account)?.keys.set(row.idempotency_key, row)
    const unsure = this.#recall(moved)
    if (unsure.length === 0) return
    // As they are now.
    const [now = nothing] = await this.#all(sql.readTurns(unsure))
    this.#takeIn(now.rows as StoredTurn[])
  }

  /** Turns as this node holds them; gives those of accounts that others have worked on since. */
  #recall(moved: ReadonlySet<string> = noneMoved): readonly (readonly [account: string, id: number])[] {
    const unsure: (readonly [account: string, id: number])[] = []
    for (const { op, account } of this.#tasks) {
      for (const id of holdsOf(op)) {
        const held = this.#stored.has(id) ? undefined : this.#memory.held.get(id)
        if (held === undefined) continue
        if (moved.has(account)) unsure.push([account, id])
        else this.#pages.get(account)?.read.set(id, held)
      }
    }
    return unsure
  }

  #takeIn(turns: readonly StoredTurn[]): void {
    for (const turn of turns) {
      this.#stored.set(turn.id, turn)
      this.#pages.get(turn.account)?.read.set(turn.id, turn)
    }
  }

  #turnsToRead({ op, hold, isInDoubt }: Task): readonly number[] {
    if (op[0] === 'reserve') return isInDoubt ? [hold] : []
    return holdsOf(op).filter((id) => isInDoubt || !this.#memory.held.has(id))
  }

  async #decide(): Promise<void> {
    let left = this.#undecided([...this.#byAccount])
    while (left.length > 0) {
      await this.#readRare(left)
      left = this.#undecided(left)
    }
  }

  /** Those for which something has to be read first. */
  #undecided(accounts: readonly AccountTasks[]): readonly AccountTasks[] {
    const page = new Page(this.#pages, this.#owner)
    const book = new LedgerBook(page)
    return accounts.filter(([account, tasks]) => !this.#isDecided(account, tasks, page, book))
  }

  /** False where something has to be read first: then nothing was decided for this account. */
  #isDecided(account: string, tasks: readonly Task[], page: Page, book: LedgerBook): boolean {
    let sound = tasks
    for (;;) {
      this.#pages.get(account)?.reset()
      const broken = this.#decideEach(sound, page, book)
      if (broken === 'not loaded') return false
      if (broken === undefined) return true
      // What it did to the page before it broke must not stay: the others are decided without it.
      sound = sound.filter((task) => task !== broken)
    }
  }

  #decideEach(tasks: readonly Task[], page: Page, book: LedgerBook): Task | 'not loaded' | undefined {
    for (const task of tasks) {
      try {
        this.#outcomes.set(task, (task.isInDoubt ? this.#known(task) : undefined) ?? decided(task, page, book))
      } catch (error) {
        if (error instanceof NotLoaded) return 'not loaded'
        this.#outcomes.set(task, error instanceof Error ? error : new Error(String(error)))
        return task
      }
    }
    return undefined
  }

  /** The answer to a task that turns out to have been committed before its connection was lost. */
  #known({ op, hold }: Task): BookResult | undefined {
    if (op[0] === 'reserve') {
      const turn = this.#stored.get(hold)
      return turn === undefined ? undefined : ['held', turn.id, turn.reserved]
    }
    if (op[0] !== 'settle' && op[0] !== 'refund') return undefined
    const turn = this.#stored.get(op[1])
    const [state, at, credits] = op[0] === 'settle' ? ['settled', op[3], op[4]] : ['refunded', op[2], op[3]]
    // Whoever else ends a turn gives it back as expired.
    const isDone = turn?.state === state && turn.ended_at === at && turn.credits === credits
    return isDone ? ['ended', true, turn.state, turn.credits, turn.debt] : undefined
  }

  async #readRare(unread: readonly AccountTasks[]): Promise<void> {
    const accounts = unread.map(([account]) => account)
    const named = unread.flatMap(([, tasks]) => tasks.flatMap(({ op }) => (op[0] === 'grant' ? [op[1]] : [])))
    const [buckets = nothing, packs = nothing] = await this.#all(
      sql.readBuckets(accounts.map((account) => [account])),
      sql.readPacks(accounts, named),
    )
    for (const account of accounts) {
      const mine = (row: { readonly account: string }): boolean => row.account === account
      const page = this.#pages.get(account)
      if (page === undefined) continue
      page.rare = {
        packs: (packs.rows as PackTable[]).filter(mine),
        buckets: (buckets.rows as BucketTable[]).filter(mine).map(awayOf),
      }
    }
  }

  async #write(): Promise<void> {
    const pages = [...this.#pages.values()]
    const turns = turnRows(pages)
    const statements = [turns.purses.length === 0 ? undefined : sql.writeTurns(turns), ...rareStatements(pages)]
    this.isSent = true
    const answers = await this.#all(...statements, 'commit')
    if (answers.at(-1)?.command !== 'COMMIT') throw new Error('the transaction was undone')
  }

  #remember(): void {
    const { purses, held } = this.#memory
    for (const page of this.#pages.values()) {
      const { account, row, changes } = page
      // The newest last: those that nobody asks for are forgotten first.
      purses.delete(account)
      purses.set(
        account,
        page.isChanged
          ? { ...row, ...page.written, version: row.version + 1, unmoved: row.unmoved + 1 }
          : // Whether it is still so has to be asked each time.
            { ...row, unmoved: 0 },
      )
      for (const turn of changes.begun) held.set(turn.id, turn)
      for (const { turn } of changes.ended) held.delete(turn.id)
    }
    for (const turn of this.#stored.values()) {
      const isOpen = turn.state === 'held' && turn.owner === this.#owner
      if (isOpen && this.#pages.get(turn.account)?.turns.get(turn.id)?.state === 'held') held.set(turn.id, turn)
      else held.delete(turn.id)
    }
  }

  /** Sent together; the first that failed is why the others did. */
  async #all(...statements: readonly (Statement | string | undefined)[]): Promise<readonly QueryResult[]> {
    const answers = await Promise.allSettled(
      statements.map((statement) => (statement === undefined ? nothing : this.#asked.query(statement))),
    )
    const failed = answers.find((answer) => answer.status === 'rejected')
    if (failed !== undefined) throw failed.reason
    return answers.map((answer) => (answer.status === 'fulfilled' ? answer.value : nothing))
  }
}

interface LockedPurse {
  readonly account: string
  readonly version: number
  readonly running: number
  readonly seq: number
  readonly hash: Uint8Array
  readonly packs: number
  readonly cells: string | null
}

const noneMoved: ReadonlySet<string> = new Set()

const nothing = { rows: [], command: '' } as unknown as QueryResult

/** The key that it is to be charged once for. */
function keyOf(op: LaneOp): string | null {
  return op[0] === 'reserve' ? op[25] : null
}

function purseRow({ version, running, seq, hash, packs, cells }: LockedPurse): PurseRow {
  return { version, running, seq, hash, packs, cells: (cells ?? '{}').slice(1, -1).split(',').map(Number), unmoved: 0 }
}

function awayOf(row: BucketTable): AwayBucket {
  return { pool: row.pool, window: row.window, figures: bucketFields.map((field) => row[field]) }
}

function decided({ op, hold }: Task, page: Page, book: LedgerBook): BookResult {
  if (op[0] === 'give back') return ['count', book.expire(op[2], op[3])]
  page.nextHold = hold
  return book.apply(op)
}

function holdsOf(op: LaneOp): readonly number[] {
  if (op[0] === 'give back') return op[2]
  return op[0] === 'settle' || op[0] === 'refund' ? [op[1]] : []
}
