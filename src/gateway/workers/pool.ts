/**
 * The workers of a server, seen from its first thread: started together, asked together, and each replaced where it has died. One that has
 * died leaves holds, limits and figures behind, which are looked after before anything else.
 */
import { Worker } from 'node:worker_threads'
import type { LimitMemory } from '../../access/limits/shared.ts'
import { letGo } from '../../access/limits/shared.ts'
import type { StoreThreads } from '../../store/sqlite/open.ts'
import type { Clock } from '../../system/clock.ts'
import type { MetricsJson } from '../../system/observe/joined.ts'
import { keptOf } from '../../system/observe/joined.ts'
import type { Services } from '../services.ts'
import type { FromFirst, FromWorker, Share, WorkerStart } from './messages.ts'
import type { Answers } from './wire.ts'
import { Wire } from './wire.ts'

export interface PoolOptions {
  readonly count: number
  readonly threads: StoreThreads
  readonly limits: WorkerStart['limits']
  /** What every worker is started with, besides what is its own. */
  readonly start: Pick<WorkerStart, 'config' | 'secret' | 'demoUrl' | 'ticksOrigin'>
  /** What workers ask, but for lines to the writer; `worker` is the one who asks. */
  readonly answers: (worker: number) => Omit<Answers<FromWorker>, 'line'>
  readonly clock: Clock
  readonly log: Services['log']
  /** Hears how many live, and of each death. */
  readonly onChange: (living: number, deaths: number) => void
  /** Of a worker's thread; tests bring others. */
  readonly program?: URL
}

interface Member {
  readonly worker: number
  readonly share: Share
  readonly thread: Worker
  readonly wire: Wire<FromWorker, FromFirst>
  readonly ended: Promise<void>
  serves: boolean
  /** What it had counted when it was last asked. */
  metrics: MetricsJson
}

/** A worker that takes longer to answer than this is not waited for. */
const answerMs = 1_000
/** Besides the time to drain: to let go of everything. */
const farewellMs = 10_000
/** So many deaths within a minute are no accident: then the next one is replaced later, and later. */
const manyDeaths = 5
const minuteMs = 60_000
const firstPauseMs = 1_000
const longestPauseMs = 30_000

export class Pool {
  readonly #options: PoolOptions
  readonly #members: Member[] = []
  /** Until it is known each new one asks for any. */
  #port = 0
  #started = 0
  #deaths = 0
  /** When workers died within the last minute. */
  #recent: number[] = []
  #pauseMs = 0
  #isClosing = false
  #left: MetricsJson = []
  readonly #replacing = new Set<NodeJS.Timeout>()

  constructor(options: PoolOptions) {
    this.#options = options
  }

  /** Resolves with the address when all of them serve. Throws the first one's reason where it cannot. */
  async open(port: number): Promise<string> {
    this.#port = port
    const { count } = this.#options
    const shares = Array.from({ length: count }, (_, index) => ({ index, of: count }))
    const [first, ...others] = shares
    if (first === undefined) throw new Error('at least one worker serves')
    // The others are told the port that it was given.
    const url = await this.#start(first)
    await Promise.all(others.map((share) => this.#start(share)))
    return url
  }

  /** Those who have not answered in time are left out. */
  async ask<Name extends 'reasons' | 'metrics'>(
    name: Name,
  ): Promise<{ readonly answers: readonly FromFirst[Name]['gives'][]; readonly isWhole: boolean }> {
    const asked = await Promise.allSettled(
      this.#members.filter(({ serves }) => serves).map(({ wire }) => wire.ask(name, null, { withinMs: answerMs })),
    )
    const answers = asked.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []))
    return { answers, isWhole: answers.length === asked.length }
  }

  /** What all of them have counted, those too that are no more. */
  async metrics(): Promise<readonly MetricsJson[]> {
    await Promise.all(
      this.#members.map(async (member) => {
        if (!member.serves) return
        member.metrics = await member.wire.ask('metrics', null, { withinMs: answerMs }).catch(() => member.metrics)
      }),
    )
    return [...this.#members.map(({ metrics }) => metrics), this.#left]
  }

  /** To all but one. */
  tell<Name extends 'forget' | 'trouble'>(name: Name, value: FromFirst[Name]['asks'], but = 0): void {
    for (const { worker, wire } of this.#members) if (worker !== but) wire.tell(name, value)
  }

  /** Resolves when all have drained and ended. */
  async close(drainMs: number, owedMs: number): Promise<void> {
    this.#isClosing = true
    for (const timer of this.#replacing) clearTimeout(timer)
    await Promise.all(
      [...this.#members].map(async ({ worker, wire, thread, ended }) => {
        try {
          await wire.ask('close', { drainMs, owedMs }, { withinMs: drainMs + owedMs + farewellMs })
        } catch (error) {
          this.#options.log.error({ worker, err: error }, 'a worker did not end as it should')
        }
        await thread.terminate()
        await ended
      }),
    )
  }

  async #start(share: Share): Promise<string> {
    const { threads, limits, start, answers } = this.#options
    const worker = ++this.#started
    const { parts, line } = await threads.open(worker)
    if (this.#isClosing) throw new Error('the server is closing')
    const extension = import.meta.url.slice(import.meta.url.lastIndexOf('.'))
    const program = this.#options.program ?? new URL(`./worker-thread${extension}`, import.meta.url)
    const workerData: WorkerStart = { ...start, worker, share, limits, store: parts, line }
    const thread = new Worker(program, { workerData, transferList: [line] })
    const wire = new Wire<FromWorker, FromFirst>(thread, { ...answers(worker), line: () => threads.line(worker) })
    let fault: Error | undefined
    thread.on('error', (error: unknown) => (fault = error instanceof Error ? error : new Error(String(error))))
    const ended = new Promise<void>((resolve) => {
      thread.once('exit', () => {
        const why = fault ?? new Error('the thread has ended')
        wire.cut(why)
        void this.#ended(member, why).then(resolve)
      })
    })
    const member: Member = { worker, share, thread, wire, ended, serves: false, metrics: [] }
    this.#members.push(member)
    try {
      const url = await wire.ask('serve', this.#port)
      this.#port = Number(new URL(url).port)
      member.serves = true
      this.#changed()
      return url
    } catch (error) {
      if (fault === undefined) await thread.terminate()
      await ended
      throw error
    }
  }

  /** What it leaves behind, at once; then another one in its place. */
  async #ended(member: Member, why: Error): Promise<void> {
    const { worker, share, serves } = member
    const { threads, limits, log } = this.#options
    this.#members.splice(this.#members.indexOf(member), 1)
    for (const memory of Object.values(limits) satisfies LimitMemory[]) letGo(memory, worker)
    const released = threads.release(worker).then(
      ({ expired, owed }) => {
        if (!this.#isClosing || expired > 0)
          log.warn({ worker, expired, owed }, 'what a worker held was given back, but for what it knew of the endings')
      },
      (error: unknown) => log.error({ worker, err: error }, 'what a worker held is given back by the next sweep'),
    )
    const kept = keptOf(this.#left, member.metrics).then((left) => (this.#left = left))
    // One that never served is its starter's affair.
    if (!this.#isClosing && serves) {
      log.fatal({ worker, err: why }, 'a worker died; another one takes its place')
      this.#deaths += 1
      this.#replace(share)
    }
    this.#changed()
    await Promise.all([released, kept])
  }

  #replace(share: Share): void {
    const { clock, log } = this.#options
    const now = clock.ticks()
    this.#recent = [...this.#recent.filter((at) => now - at < minuteMs), now]
    const isMany = this.#recent.length >= manyDeaths
    this.#pauseMs = isMany ? Math.min(longestPauseMs, Math.max(firstPauseMs, this.#pauseMs * 2)) : 0
    if (isMany)
      log.fatal({ deaths: this.#recent.length, pauseMs: this.#pauseMs }, 'workers die again and again; the next one comes later')
    const timer = setTimeout(() => {
      this.#replacing.delete(timer)
      this.#start(share).catch((error: unknown) => {
        if (this.#isClosing) return
        log.fatal({ err: error }, 'a worker could not be replaced; it is tried again')
        this.#replace(share)
      })
    }, this.#pauseMs)
    this.#replacing.add(timer)
  }

  #changed(): void {
    this.#options.onChange(this.#members.filter(({ serves }) => serves).length, this.#deaths)
  }
}
