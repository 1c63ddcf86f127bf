/**
 * Threads of the store, kept by a process of tests from one test to the next: to start one and to load what it runs costs more than most
 * tests do in it. A thread does one program at a time and is given to the next only after the last has ended by itself; whoever dies, or is
 * ended, is gone. Programs are the real ones, evaluated anew each time; what they import stays loaded.
 */
import { EventEmitter } from 'node:events'
import { syncBuiltinESMExports } from 'node:module'
import threads from 'node:worker_threads'
import type { MessagePort, Transferable, WorkerOptions } from 'node:worker_threads'
import type { ToThread } from './kept-thread.ts'

const kept = /\/(?:writer|reader|lane|task)-thread\.ts$/
const RealWorker = threads.Worker

/** By what they run and under which limits. */
const idle = new Map<string, threads.Worker[]>()

/** From now on, for whoever starts a thread in this process. */
export function keepThreads(): void {
  threads.Worker = new Proxy(RealWorker, {
    construct: (real, [program, options = {}]: [URL | string, WorkerOptions?]) =>
      kept.test(String(program)) && options.transferList === undefined
        ? new KeptThread(String(program), options)
        : new real(program, options),
  })
  syncBuiltinESMExports()
}

/** As much of a `Worker` as the store uses. */
class KeptThread extends EventEmitter {
  readonly #name: string
  readonly #thread: threads.Worker
  readonly #port: MessagePort
  readonly #failed = (error: unknown): void => void this.emit('error', error)
  readonly #ended = (code: number): void => {
    this.#port.off('close', this.#done).close()
    this.emit('exit', code)
  }
  /** Its line ends with the last of what it said; only its own word tells that it ended that by itself. */
  #signs = 0
  readonly #done = (): void => {
    this.#signs += 1
    if (this.#signs < 2) return
    this.#thread.off('message', this.#done).off('error', this.#failed).off('exit', this.#ended)
    this.#thread.unref()
    const others = idle.get(this.#name) ?? []
    others.push(this.#thread)
    idle.set(this.#name, others)
    this.emit('exit', 0)
  }

  constructor(program: string, { workerData, ...limits }: WorkerOptions) {
    super()
    this.#name = program + JSON.stringify(limits)
    this.#thread = idle.get(this.#name)?.pop() ?? new RealWorker(new URL('kept-thread.ts', import.meta.url), limits)
    const { port1, port2 } = new threads.MessageChannel()
    this.#port = port1
    this.#thread.on('message', this.#done).on('error', this.#failed).on('exit', this.#ended)
    port1.on('message', (message: unknown) => this.emit('message', message))
    port1.on('close', this.#done)
    this.ref()
    this.#thread.postMessage({ program, data: workerData as unknown, port: port2 } satisfies ToThread, [port2])
  }

  postMessage(message: unknown, transfer: Transferable[] = []): void {
    this.#port.postMessage(message, transfer)
  }

  ref(): void {
    this.#port.ref()
    this.#thread.ref()
  }

  unref(): void {
    this.#port.unref()
    this.#thread.unref()
  }

  terminate(): Promise<number> {
    return this.#thread.terminate()
  }
}
