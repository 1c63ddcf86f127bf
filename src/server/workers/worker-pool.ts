/**
 * The workers of a server, controlled from its main thread: started together, queried together, and replaced when one dies. The holds,
 * locks and metrics that a dead worker leaves behind are recovered before its replacement starts.
 */
import { Worker } from 'node:worker_threads'
import { clearProcessBudgets } from '../../access/limits/process-budgets.ts'
import type { LimitMemory } from '../../access/limits/shared-memory.ts'
import { releaseLocks } from '../../access/limits/shared-memory.ts'
import type { WorkerStores } from '../../store/sqlite/open.ts'
import type { Clock, Timer } from '../../system/clock.ts'
import type { MetricsJson } from '../../observability/merge-metrics.ts'
import { retainCounters } from '../../observability/merge-metrics.ts'
import type { Services } from '../../services/services.ts'
import type { MainRequests, WorkerRequests, Share, WorkerInit } from './messages.ts'
import type { RpcHandlers } from './worker-rpc.ts'
import { WorkerRpc } from './worker-rpc.ts'

interface WorkerPoolOptions {
  readonly count: number
  readonly threads: WorkerStores
  readonly limits: WorkerInit['limits']
  readonly budgets: WorkerInit['budgets']
  /** Start data common to all workers. */
  readonly start: Pick<WorkerInit, 'config' | 'secret' | 'demoUrl' | 'monotonicOriginMs'>
  /** Creates the handlers of a worker's requests, except opening a port to the writer. */
  readonly createHandlers: (worker: number) => Omit<RpcHandlers<WorkerRequests>, 'writerPort'>
  readonly clock: Clock
  readonly log: Services['log']
  /** Called with the number of serving workers and of deaths so far. */
  readonly onChange: (living: number, deaths: number) => void
  /** The worker's program; replaced in tests. */
  readonly workerUrl?: URL
  /** Time between checks whether workers respond; shorter in tests. */
  readonly pingMs?: number
}

interface PoolMember {
  readonly worker: number
  readonly share: Share
  readonly thread: Worker
  readonly rpc: WorkerRpc<WorkerRequests, MainRequests>
  readonly ended: Promise<void>
  isServing: boolean
  /** Pings in a row without a response. */
  missedPings: number
  /** Its metrics as of the last request. */
  metrics: MetricsJson
}

/** A worker that takes longer to respond is skipped. */
const answerTimeoutMs = 1_000
/** As long as a worker may miss pings. */
const reconfigureTimeoutMs = 10_000
const defaultPingMs = 1_000
/**
 * A worker that misses this many pings in a row is replaced: it keeps its connections and gets new ones, but serves none. Pings are counted,
 * not time, so that a process that was suspended as a whole does not replace its workers.
 */
const maxMissedPings = 10
/** Time to release everything, besides the drain time. */
const closeGraceMs = 10_000
/** With this many deaths within a minute, replacements are delayed, with exponential backoff. */
const crashLoopDeaths = 5
const minuteMs = 60_000
const minRestartDelayMs = 1_000
const maxRestartDelayMs = 30_000

export class WorkerPool {
  readonly #options: WorkerPoolOptions
  readonly #members: PoolMember[] = []
  /** 0 until the first worker has been given a port. */
  #port = 0
  #startedCount = 0
  #deaths = 0
  /** Monotonic times of the deaths within the last minute. */
  #recentDeaths: number[] = []
  #restartDelayMs = 0
  #isClosing = false
  #retiredMetrics: MetricsJson = []
  readonly #restartTimers = new Set<Timer>()
  #pingTimer: Timer | undefined

  #config: WorkerInit['config']

  constructor(options: WorkerPoolOptions) {
    this.#options = options
    this.#config = options.start.config
  }

  /** Resolves with the address when all workers serve. @throws the error of the first worker that cannot start */
  async open(port: number): Promise<string> {
    this.#port = port
    const { count, clock } = this.#options
    const shares = Array.from({ length: count }, (_, index) => ({ index, count }))
    const [first, ...others] = shares
    if (first === undefined) throw new Error('at least one worker serves')
    // The first worker determines the port of the others.
    const url = await this.#start(first)
    await Promise.all(others.map((share) => this.#start(share)))
    this.#pingTimer = clock.every(this.#options.pingMs ?? defaultPingMs, () => this.#pingAll()).unref()
    return url
  }

  /** Queries all serving workers; omits those that do not respond in time. */
  async requestAll<Name extends 'notReadyReasons' | 'metrics'>(
    name: Name,
  ): Promise<{ readonly responses: readonly MainRequests[Name]['response'][]; readonly isComplete: boolean }> {
    const results = await Promise.allSettled(
      this.#members.filter(({ isServing }) => isServing).map(({ rpc }) => rpc.request(name, null, { withinMs: answerTimeoutMs })),
    )
    const responses = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
    return { responses, isComplete: responses.length === results.length }
  }

  /** The metrics of all workers, including those that have ended. */
  async collectMetrics(): Promise<readonly MetricsJson[]> {
    await Promise.all(
      this.#members.map(async (member) => {
        if (!member.isServing) return
        member.metrics = await member.rpc.request('metrics', null, { withinMs: answerTimeoutMs }).catch(() => member.metrics)
      }),
    )
    return [...this.#members.map(({ metrics }) => metrics), this.#retiredMetrics]
  }

  /** Resolves when all workers use the configuration. One that does not respond is replaced by one that does. */
  async reconfigure({ values, certificate }: MainRequests['reconfigure']['request']): Promise<void> {
    // First, so that a worker that starts now has it.
    this.#config = { ...this.#config, values }
    await Promise.all(
      [...this.#members].map(async ({ worker, rpc, thread }) => {
        try {
          await rpc.request('reconfigure', { values, certificate }, { withinMs: reconfigureTimeoutMs })
        } catch (error) {
          this.#options.log.fatal({ worker, err: error }, 'a worker does not use the reloaded configuration and is replaced')
          await thread.terminate()
        }
      }),
    )
  }

  /** Notifies all workers except one. */
  notifyAll<Name extends 'invalidate' | 'unhealthyReason'>(
    name: Name,
    value: MainRequests[Name]['request'],
    exceptWorker = 0,
  ): void {
    for (const { worker, rpc } of this.#members) if (worker !== exceptWorker) rpc.notify(name, value)
  }

  /** Resolves when all workers have drained and ended. */
  async close(drainMs: number, flushTimeoutMs: number): Promise<void> {
    this.#isClosing = true
    this.#pingTimer?.cancel()
    for (const timer of this.#restartTimers) timer.cancel()
    await Promise.all(
      [...this.#members].map(async ({ worker, rpc, thread, ended }) => {
        try {
          await rpc.request('close', { drainMs, flushMs: flushTimeoutMs }, { withinMs: drainMs + flushTimeoutMs + closeGraceMs })
        } catch (error) {
          this.#options.log.error({ worker, err: error }, 'a worker did not shut down cleanly')
        }
        await thread.terminate()
        await ended
      }),
    )
  }

  async #start(share: Share): Promise<string> {
    const { threads, limits, budgets, start, createHandlers } = this.#options
    const worker = ++this.#startedCount
    const { parts, port } = await threads.open(worker)
    if (this.#isClosing) throw new Error('the server is closing')
    const extension = import.meta.url.slice(import.meta.url.lastIndexOf('.'))
    const program = this.#options.workerUrl ?? new URL(`./worker-thread${extension}`, import.meta.url)
    const workerData: WorkerInit = {
      ...start,
      config: this.#config,
      worker,
      share,
      limits,
      budgets,
      store: parts,
      writerPort: port,
    }
    const thread = new Worker(program, { workerData, transferList: [port] })
    const rpc = new WorkerRpc<WorkerRequests, MainRequests>(thread, {
      ...createHandlers(worker),
      writerPort: () => threads.openPort(worker),
    })
    let threadError: Error | undefined
    thread.on('error', (error: unknown) => (threadError = error instanceof Error ? error : new Error(String(error))))
    const threadEnd = new Promise<void>((resolve) => {
      thread.once('exit', () => {
        const reason = threadError ?? new Error('the thread has ended')
        rpc.close(reason)
        void this.#onExit(member, reason).then(resolve)
      })
    })
    const member: PoolMember = { worker, share, thread, rpc, ended: threadEnd, isServing: false, missedPings: 0, metrics: [] }
    this.#members.push(member)
    try {
      const url = await rpc.request('serve', this.#port)
      this.#port = Number(new URL(url).port)
      member.isServing = true
      this.#reportChange()
      return url
    } catch (error) {
      if (threadError === undefined) await thread.terminate()
      await threadEnd
      throw error
    }
  }

  #pingAll(): void {
    for (const member of this.#members) {
      if (!member.isServing) continue
      if (member.missedPings >= maxMissedPings) {
        // Terminated once; its exit starts the replacement.
        member.missedPings = -Infinity
        this.#options.log.fatal({ worker: member.worker }, 'a worker does not respond and is replaced')
        void member.thread.terminate()
        continue
      }
      // A response resets the count; a request that is still pending when the next one is sent is a missed ping.
      member.missedPings++
      member.rpc.request('ping', null).then(
        () => (member.missedPings = 0),
        () => undefined,
      )
    }
  }

  /** Recovers what a dead worker leaves behind, then schedules its replacement. */
  async #onExit(member: PoolMember, reason: Error): Promise<void> {
    const { worker, share, isServing } = member
    const { threads, limits, budgets, log } = this.#options
    this.#members.splice(this.#members.indexOf(member), 1)
    for (const memory of Object.values(limits) satisfies LimitMemory[]) releaseLocks(memory, worker)
    clearProcessBudgets(budgets, share.index)
    const holdRelease = threads.release(worker).then(
      ({ expired, recovered }) => {
        if (!this.#isClosing || expired > 0)
          log.warn(
            { worker, expired, recovered },
            'holds of an ended worker were released, except for settlements that it had recorded',
          )
      },
      (error: unknown) => log.error({ worker, err: error }, 'holds of an ended worker could not be released; they expire'),
    )
    const counterRetention = retainCounters(this.#retiredMetrics, member.metrics).then((left) => (this.#retiredMetrics = left))
    // A worker that never served is handled by its starter.
    if (!this.#isClosing && isServing) {
      log.fatal({ worker, err: reason }, 'a worker died and is replaced')
      this.#deaths += 1
      this.#scheduleRestart(share)
    }
    this.#reportChange()
    await Promise.all([holdRelease, counterRetention])
  }

  #scheduleRestart(share: Share): void {
    const { clock, log } = this.#options
    const now = clock.monotonicMs()
    this.#recentDeaths = [...this.#recentDeaths.filter((at) => now - at < minuteMs), now]
    const isCrashLoop = this.#recentDeaths.length >= crashLoopDeaths
    this.#restartDelayMs = isCrashLoop ? Math.min(maxRestartDelayMs, Math.max(minRestartDelayMs, this.#restartDelayMs * 2)) : 0
    if (isCrashLoop)
      log.fatal(
        { deaths: this.#recentDeaths.length, pauseMs: this.#restartDelayMs },
        'workers keep dying; the next replacement is delayed',
      )
    const timer = clock.after(this.#restartDelayMs, () => {
      this.#restartTimers.delete(timer)
      this.#start(share).catch((error: unknown) => {
        if (this.#isClosing) return
        log.fatal({ err: error }, 'a worker could not be replaced; it will be retried')
        this.#scheduleRestart(share)
      })
    })
    this.#restartTimers.add(timer)
  }

  #reportChange(): void {
    this.#options.onChange(this.#members.filter(({ isServing }) => isServing).length, this.#deaths)
  }
}
