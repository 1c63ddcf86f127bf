/**
 * Amounts in use at this moment (requests, bytes) of each subject and in sum, over all serving threads of a process. Each thread adds to
 * cells of its own, so there is no lock, and the cells of a thread that died are cleared. A subject is identified by a keyed hash of 16
 * bits: two subjects share a cell once in 65 535 pairs, and then share their budget.
 */
import { randomInt } from 'node:crypto'

/** The first row is the sum of all subjects. */
const rows = 65_536
const totalRow = 0

/** Passed to each thread. */
export interface BudgetMemory {
  /** One row for each subject, with a cell for each thread. */
  readonly cells: SharedArrayBuffer
  readonly threads: number
  readonly seed: number
}

export function createBudgetMemory(threads: number): BudgetMemory {
  return { cells: new SharedArrayBuffer(rows * threads * 4), threads, seed: randomInt(2 ** 32) }
}

/** Gives back everything that a thread which has ended had in use. */
export function clearThread({ cells, threads }: BudgetMemory, thread: number): void {
  const all = new Int32Array(cells)
  for (let at = thread; at < all.length; at += threads) Atomics.store(all, at, 0)
}

export interface BudgetBounds {
  /** For one subject. */
  readonly max: number
  /** For all subjects. */
  readonly maxTotal: number
}

export class SharedBudget {
  readonly #cells: Int32Array
  readonly #threads: number
  readonly #seed: number
  readonly #thread: number

  /** @param thread from 0, below the memory's number of threads */
  constructor({ cells, threads, seed }: BudgetMemory, thread: number) {
    this.#cells = new Int32Array(cells)
    this.#threads = threads
    this.#seed = seed
    this.#thread = thread
  }

  /** Adds to what the subject uses, or returns which bound would be exceeded. Two threads at the same moment may both be refused. */
  take(subject: string, amount: number, { max, maxTotal }: BudgetBounds): 'taken' | 'subject_full' | 'total_full' {
    const row = this.#findRow(subject)
    this.#add(row, amount)
    if (this.#sum(row) > max) {
      this.#add(row, -amount)
      return 'subject_full'
    }
    this.#add(totalRow, amount)
    if (this.#sum(totalRow) > maxTotal) {
      this.#add(row, -amount)
      this.#add(totalRow, -amount)
      return 'total_full'
    }
    return 'taken'
  }

  give(subject: string, amount: number): void {
    if (amount === 0) return
    this.#add(this.#findRow(subject), -amount)
    this.#add(totalRow, -amount)
  }

  /** What all subjects use. */
  get total(): number {
    return this.#sum(totalRow)
  }

  #add(row: number, amount: number): void {
    Atomics.add(this.#cells, row * this.#threads + this.#thread, amount)
  }

  #sum(row: number): number {
    let sum = 0
    for (let thread = 0; thread < this.#threads; thread++) sum += Atomics.load(this.#cells, row * this.#threads + thread)
    return sum
  }

  #findRow(subject: string): number {
    let hash = this.#seed
    for (let i = 0; i < subject.length; i++) hash = Math.imul(hash ^ subject.charCodeAt(i), 0x9e3779b1) ^ (hash >>> 15)
    hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
    return 1 + (((hash ^ (hash >>> 13)) >>> 0) % (rows - 1))
  }
}
