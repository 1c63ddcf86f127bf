/** The thread of the lane: takes what another thread asks for, and tells it what has become of it. */
import { parentPort, workerData } from 'node:worker_threads'
import type { MessagePort } from 'node:worker_threads'
import { GatewayError } from '../../errors.ts'
import { Connections } from './connections.ts'
import { Lane } from './lane.ts'
import { settings } from './lane-settings.ts'
import type { Answered, FromLane, LaneStart, Numbered, ToLane } from './lane-link.ts'

/** How often it tells how it is while something waits, and once after that. */
const tellMs = 250

class LaneThread {
  readonly #port: MessagePort
  readonly #connections: Connections
  readonly #lane: Lane
  readonly #telling: NodeJS.Timeout
  /** This node, as the other thread last knew it. */
  #owner = 0
  #answers: Numbered<Answered>[] = []

  private constructor(port: MessagePort, { url }: LaneStart) {
    this.#port = port
    this.#connections = new Connections({ url, most: 2, settings })
    this.#lane = new Lane(this.#connections, () => this.#owner)
    let wasBusy = false
    this.#telling = setInterval(() => {
      const { isBusy } = this.#lane
      if (isBusy || wasBusy) this.#tell()
      wasBusy = isBusy
    }, tellMs).unref()
  }

  static begin(port: MessagePort, start: LaneStart): void {
    const thread = new LaneThread(port, start)
    port.on('message', (message: ToLane) => thread.#hear(message))
  }

  #hear(message: ToLane): void {
    if (message[0] === 'close') {
      void this.#close(message[1])
      return
    }
    this.#owner = message[1]
    if (message[0] === 'ops') {
      const [, , isAgain, ops] = message
      for (const [number, op] of ops) void this.#answer(number, this.#lane.submit(op, isAgain))
      return
    }
    const [number, [whose, at, until]] = message[2]
    const given = this.#lane.giveBack(whose, at, until).then((count): Answered => ['given', count])
    void this.#answer(number, given)
  }

  async #answer(number: number, work: Promise<Answered>): Promise<void> {
    const answer = await work.catch(toFault)
    this.#answers.push([number, answer])
    // All of one batch leave together.
    if (this.#answers.length === 1) setImmediate(() => this.#tell())
  }

  #tell(): void {
    const answers = this.#answers
    this.#answers = []
    this.#port.postMessage([answers, this.#lane.figures()] satisfies FromLane)
  }

  async #close(ms: number): Promise<void> {
    clearInterval(this.#telling)
    await this.#lane.close(ms)
    await this.#connections.close()
    setImmediate(() => {
      this.#tell()
      this.#port.close()
    })
  }
}

/** What a caller may be told passes as it is; the rest is for the log. */
function toFault(error: unknown): Answered {
  const { cause } = error as Error
  const why = cause instanceof Error ? cause : error
  const isUnavailable = error instanceof GatewayError && error.code === 'temporarily_unavailable'
  return ['fault', isUnavailable, why instanceof Error ? why.message : String(why)]
}

if (parentPort === null) throw new Error('this file is started by a store, as a thread')
LaneThread.begin(parentPort, workerData as LaneStart)
