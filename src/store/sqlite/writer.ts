/**
 * The writer, seen from a thread that serves: it gathers operations while a commit is under way and sends them together as the next one.
 * One request is outstanding at a time, so what arrives together shares one transaction. What is to be durable is answered only when a
 * flush that began after its commit is done, while others are committed.
 */
import { MessageChannel } from 'node:worker_threads'
import type { MessagePort } from 'node:worker_threads'
import type { Flushed, Op, Reply, Request, Result } from './protocol.ts'
import type { SweptResult } from '../ledger/operations.ts'
import { answer, DatabaseError, refused, toError, unwritable } from './database-error.ts'
import { Gathering } from './gathering.ts'
import { defaultTransactionLimitMs, Transaction } from './transaction.ts'
import type { Connect, Link } from './writer-link.ts'

/** More than this many waiting operations are refused at once: an answer now beats a place in a queue that has no end. */
const queueLimit = 10_000
/** Operations of one commit: bounds how long the first of them waits for the last. */
const batchLimit = 512
/** Commit times kept for whoever looks; a look every few seconds empties them. */
const keptSeconds = 4096
interface Waiting {
  readonly op: Op
  readonly durable: boolean
  readonly resolve: (result: Result) => void
  readonly reject: (error: unknown) => void
}

/** Committed, and to be answered when the disk has it. */
interface Unflushed {
  readonly flush: number
  readonly waiting: Waiting
  readonly result: Result
}

/** Somebody who wants the writer alone. */
interface Entrant {
  readonly enter: () => void
  readonly reject: (error: unknown) => void
}

export interface WriterVitals {
  readonly queue: number
  readonly commits: number
  readonly operations: number
  readonly syncs: number
  readonly commitSeconds: readonly number[]
  readonly flushSeconds: readonly number[]
  readonly holdsOpen: number
  readonly writable: boolean
}

export class Writer {
  readonly #connect: Connect
  /** Undefined after it has ended; the next operation makes another one. */
  #link: Link | undefined
  /** As whom the next thread has to enrol. */
  #enrolment: readonly [name: string, pid: number, at: number] | undefined
  #isEnrolled: boolean
  /** Threads of this process that own holds of their own. */
  readonly #threads = new Set<string>()
  /** Counts the threads there were: whoever had the last one to himself has nothing to give back to the next. */
  #generation = 0
  readonly #transactionLimitMs: number
  readonly #onFault: (fault: DatabaseError) => void
  readonly #queue: (Waiting | Entrant)[] = []
  /** In the order of their flushes. */
  readonly #unflushed: Unflushed[] = []
  /** Hears that none is left. */
  #onFlushed = (): void => undefined
  #outstanding: { readonly resolve: (reply: Reply) => void; readonly reject: (error: unknown) => void } | undefined
  readonly #gathering: Gathering
  #scheduled = false
  #busy = false
  /** Set once and for all when the thread is gone or was told to go. */
  #ended: Error | undefined
  #commits = 0
  #operations = 0
  #syncs = 0
  #holdsOpen = 0
  #writable = true
  #commitSeconds: number[] = []
  #flushSeconds: number[] = []

  /** `onFault` hears each operation that the database refused; `isEnrolled` where others see to that. */
  constructor(
    connect: Connect,
    transactionLimitMs = defaultTransactionLimitMs,
    onFault: (fault: DatabaseError) => void = () => {},
    isEnrolled = false,
    gathering = new Gathering(),
  ) {
    this.#isEnrolled = isEnrolled
    this.#gathering = gathering
    this.#connect = connect
    this.#transactionLimitMs = transactionLimitMs
    this.#onFault = onFault
  }

  /** Resolves when the thread has opened the file; throws its reason when it could not. */
  async ready(): Promise<void> {
    answer(await this.#alone(['open']))
  }

  /** Resolves once the operation is committed, and on the disk when `durable`. Throws when it was not. */
  submit(op: Op, durable: boolean): Promise<Result> {
    if (this.#ended !== undefined) return Promise.reject(refused(this.#ended))
    if (this.#queue.length >= queueLimit)
      return Promise.reject(refused(new Error('too many operations are waiting for the writer')))
    return new Promise((resolve, reject) => {
      this.#queue.push({ op, durable, resolve, reject })
      this.#schedule()
    })
  }

  /** Waits for the writer and opens a transaction that nobody else writes in; always `commit` or `rollback` it. */
  async begin(): Promise<Transaction> {
    if (this.#ended !== undefined) throw refused(this.#ended)
    await this.#enter()
    try {
      answer(await this.#ask(['begin']))
    } catch (error) {
      this.#leave()
      throw error
    }
    const generation = this.#generation
    return new Transaction(
      (request) =>
        generation === this.#generation ? this.#ask(request) : Promise.reject(refused(new Error('the writer died meanwhile'))),
      () => this.#leave(generation),
      // Before it has enrolled a process brings the schema up to date: nobody waits yet, and a long log takes its time.
      this.#isEnrolled ? this.#transactionLimitMs : undefined,
    )
  }

  /** Makes this process known as an owner of holds. */
  async enrol(name: string, pid: number, at: number): Promise<void> {
    answer(await this.#alone(['enrol', name, pid, at, []]))
    this.#enrolment = [name, pid, at]
    this.#isEnrolled = true
  }

  /** A line for another thread of this process, which owns what it holds: until it is released, also where the writer's thread dies. */
  async attach(name: string, pid: number, at: number): Promise<MessagePort> {
    const { port1, port2 } = new MessageChannel()
    this.#threads.add(name)
    answer(await this.#alone(['attach', name, port2, pid, at], [port2]))
    return port1
  }

  /** That thread has ended: what it held ends as its journal says, or is given back. Where this fails the next sweep does it. */
  async release(name: string, at: number): Promise<SweptResult> {
    this.#threads.delete(name)
    const result = answer(await this.#alone(['release', name, at]))
    if (result?.[0] !== 'swept') throw new Error('the writer gave no answer')
    return result
  }

  vitals(): WriterVitals {
    const [commitSeconds, flushSeconds] = [this.#commitSeconds, this.#flushSeconds]
    this.#commitSeconds = []
    this.#flushSeconds = []
    return {
      queue: this.#queue.length,
      commits: this.#commits,
      operations: this.#operations,
      syncs: this.#syncs,
      commitSeconds,
      flushSeconds,
      holdsOpen: this.#holdsOpen,
      writable: this.writable,
    }
  }

  /** Whether the last thing it was asked was not refused for the database's sake. */
  get writable(): boolean {
    return this.#writable && this.#ended === undefined
  }

  /** Everything given before is written first; everything after is refused. */
  async close(): Promise<void> {
    if (this.#ended !== undefined) return
    const isIdle = this.#link === undefined && this.#queue.length === 0
    const last = isIdle ? undefined : this.#enter()
    this.#ended = new Error('the store is closed')
    await last
    // Those who wait for the disk alone have been given before, too.
    if (this.#unflushed.length > 0) await new Promise<void>((resolve) => (this.#onFlushed = resolve))
    await this.#link?.close()
  }

  async #alone(request: Request, transfer?: readonly MessagePort[]): Promise<Reply> {
    await this.#enter()
    const generation = this.#generation
    try {
      return await this.#ask(request, transfer)
    } finally {
      this.#leave(generation)
    }
  }

  /** Resolves when the writer is ours alone, until `#leave`. */
  #enter(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#queue.push({ enter: resolve, reject })
      this.#schedule()
    })
  }

  /** At the end of this turn of the event loop: what other requests submit in the same turn goes along. */
  #schedule(): void {
    if (this.#busy || this.#scheduled) return
    this.#scheduled = true
    setImmediate(() => {
      this.#scheduled = false
      this.#next()
    })
  }

  #next(): void {
    const first = this.#queue[0]
    if (this.#busy || first === undefined) return
    if (this.#link !== undefined && this.#gathering.goesOn(this.#queue.length)) return this.#schedule()
    this.#busy = true
    if (this.#link === undefined) {
      void this.#start()
      return
    }
    if ('enter' in first) {
      this.#gathering.sent(0)
      this.#queue.shift()
      first.enter()
      return
    }
    const count = this.#queue.findIndex((waiting, index) => 'enter' in waiting || index === batchLimit)
    const batch = this.#queue.splice(0, count === -1 ? this.#queue.length : count).filter((waiting) => 'op' in waiting)
    this.#gathering.sent(batch.length)
    void this.#commit(batch)
  }

  async #commit(batch: readonly Waiting[]): Promise<void> {
    const generation = this.#generation
    try {
      const [results, , , , flush] = await this.#ask([
        'batch',
        batch.some((waiting) => waiting.durable),
        batch.map((waiting) => waiting.op),
      ])
      this.#operations += batch.length
      batch.forEach((waiting, index) => {
        const result = results[index]
        if (result === undefined) waiting.reject(refused(new Error('the writer gave no answer')))
        else if (result[0] === 'fault') waiting.reject(toError(result))
        else if (waiting.durable && flush > 0) this.#unflushed.push({ flush, waiting, result })
        else waiting.resolve(result)
      })
    } catch (error) {
      for (const waiting of batch) waiting.reject(error)
    }
    this.#leave(generation)
  }

  #leave(generation = this.#generation): void {
    if (generation !== this.#generation) return
    this.#busy = false
    this.#next()
  }

  #ask(request: Request, transfer?: readonly MessagePort[]): Promise<Reply> {
    return new Promise((resolve, reject) => {
      this.#outstanding = { resolve, reject }
      this.#link?.post(request, transfer)
    })
  }

  #tookFlush(seconds: number): void {
    this.#syncs += 1
    if (this.#flushSeconds.length < keptSeconds) this.#flushSeconds.push(seconds)
  }

  /** Not the first one where an earlier one has died. */
  async #start(): Promise<void> {
    const generation = this.#generation
    const ended = (error: Error): void => {
      if (generation === this.#generation) this.#died(error)
    }
    let link: Link | undefined
    try {
      const said = (message: Reply | Flushed): void => {
        if (generation !== this.#generation) return
        if (message[0] === 'flushed') this.#flushed(message)
        else this.#arrived(message)
      }
      link = await this.#connect({ said, ended })
      if (generation !== this.#generation) return
      this.#link = link
      if (this.#enrolment !== undefined) answer(await this.#ask(['enrol', ...this.#enrolment, [...this.#threads]]))
      this.#leave(generation)
    } catch (error) {
      // A thread that cannot enrol is of no use; where it died of that, the queue has heard of it already.
      ended(error instanceof Error ? error : new Error(String(error)))
      await link?.abandon()
    }
  }

  #arrived(reply: Reply): void {
    const [results, seconds, synced, holdsOpen, , flushSeconds] = reply
    if (seconds > 0) {
      this.#commits += 1
      if (synced) this.#syncs += 1
      if (this.#commitSeconds.length < keptSeconds) this.#commitSeconds.push(seconds)
    }
    if (flushSeconds > 0) this.#tookFlush(flushSeconds)
    this.#holdsOpen = holdsOpen
    for (const result of results) if (result[0] === 'fault') this.#onFault(new DatabaseError(result[1], result[2]))
    this.#writable = !results.some((result) => result[0] === 'fault' && unwritable.test(result[1]))
    const outstanding = this.#outstanding
    this.#outstanding = undefined
    outstanding?.resolve(reply)
  }

  /** What is committed and not durable may be lost with the power: its senders are told what they are told of a lost commit. */
  #flushed([, upTo, seconds, fault, mended]: Flushed): void {
    this.#tookFlush(seconds)
    if (fault !== null) this.#onFault(new DatabaseError(fault[1], fault[2]))
    const refusal = fault === null || mended ? undefined : toError(fault)
    if (refusal !== undefined) this.#writable = false
    const later = this.#unflushed.findIndex(({ flush }) => flush > upTo)
    for (const { waiting, result } of this.#unflushed.splice(0, later === -1 ? this.#unflushed.length : later)) {
      if (refusal === undefined) waiting.resolve(result)
      else waiting.reject(refusal)
    }
    if (this.#unflushed.length === 0) this.#onFlushed()
  }

  /** What was sent may or may not be committed, which only its sender can judge; what waits is refused; the next one starts anew. */
  #died(error: Error): void {
    this.#link = undefined
    this.#generation += 1
    this.#busy = false
    this.#writable = false
    const refusal = refused(error)
    this.#outstanding?.reject(refusal)
    this.#outstanding = undefined
    for (const { waiting } of this.#unflushed.splice(0)) waiting.reject(refusal)
    this.#onFlushed()
    for (const waiting of this.#queue.splice(0)) waiting.reject(refusal)
  }
}
