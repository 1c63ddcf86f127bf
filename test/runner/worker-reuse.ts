/**
 * Reuses threads of the store from one test to the next within a process: starting one and loading its program costs more than most tests.
 * A thread runs one program at a time and is reused only after that program has ended by itself; a thread that died or was terminated is
 * discarded. Programs are the real ones, evaluated anew each time; their imports stay loaded.
 */
import { EventEmitter } from 'node:events'
import { syncBuiltinESMExports } from 'node:module'
import threads from 'node:worker_threads'
import type { MessagePort, Transferable, WorkerOptions } from 'node:worker_threads'
import type { RunProgramMessage } from './reused-worker.ts'

const reusablePrograms = /\/(?:writer|read-task|ledger-queue|task)-thread\.ts$/
const RealWorker = threads.Worker

/** Idle threads by program and resource limits. */
const idleWorkers = new Map<string, threads.Worker[]>()

/** Takes effect for every Worker that this process starts from now on. */
export function reuseWorkers(): void {
  threads.Worker = new Proxy(RealWorker, {
    construct: (real, [program, options = {}]: [URL | string, WorkerOptions?]) =>
      reusablePrograms.test(String(program)) && options.transferList === undefined
        ? new ReusedWorker(String(program), options)
        : new real(program, options),
  })
  syncBuiltinESMExports()
}

/** The part of the `Worker` interface that the store uses. */
class ReusedWorker extends EventEmitter {
  readonly #name: string
  readonly #worker: threads.Worker
  readonly #port: MessagePort
  readonly #onError = (error: unknown): void => void this.emit('error', error)
  readonly #onExit = (code: number): void => {
    this.#port.off('close', this.#onDone).close()
    this.emit('exit', code)
  }
  /** The port closes with the last message; only the program's own message shows that it ended by itself. */
  #doneSignals = 0
  readonly #onDone = (): void => {
    this.#doneSignals += 1
    if (this.#doneSignals < 2) return
    this.#worker.off('message', this.#onDone).off('error', this.#onError).off('exit', this.#onExit)
    this.#worker.unref()
    const others = idleWorkers.get(this.#name) ?? []
    others.push(this.#worker)
    idleWorkers.set(this.#name, others)
    this.emit('exit', 0)
  }

  constructor(program: string, { workerData, ...limits }: WorkerOptions) {
    super()
    this.#name = program + JSON.stringify(limits)
    this.#worker = idleWorkers.get(this.#name)?.pop() ?? new RealWorker(new URL('./reused-worker.ts', import.meta.url), limits)
    const { port1, port2 } = new threads.MessageChannel()
    this.#port = port1
    this.#worker.on('message', this.#onDone).on('error', this.#onError).on('exit', this.#onExit)
    port1.on('message', (message: unknown) => this.emit('message', message))
    port1.on('close', this.#onDone)
    this.ref()
    this.#worker.postMessage({ program, data: workerData as unknown, port: port2 } satisfies RunProgramMessage, [port2])
  }

  postMessage(message: unknown, transfer: Transferable[] = []): void {
    this.#port.postMessage(message, transfer)
  }

  ref(): void {
    this.#port.ref()
    this.#worker.ref()
  }

  unref(): void {
    this.#port.unref()
    this.#worker.unref()
  }

  terminate(): Promise<number> {
    return this.#worker.terminate()
  }
}
