/**
 * Limits concurrent password hashing. One hash costs tens of milliseconds and 19 MiB on threads that files and name look-ups need too. A few
 * hashes run at once and a bounded number waits: known devices first, then the networks in turn. Where no room is left, the network that
 * waits for most hashes gives way, so that a flood from a few networks refuses only their own requests.
 */
import { TooManyAttempts } from '../limits/attempt-limits.ts'
import { decoyHash, hashPassword, verifyPassword } from './password.ts'

interface PasswordHasherOptions {
  /** Hashes computed at once. */
  readonly maxConcurrent: number
  /** Hashes that may wait: of known devices, and of all others together. */
  readonly maxPending: number
}

/** The client that a hash is computed for. */
export interface HashClient {
  /** The address prefix by which limits count. */
  readonly network: string
  /** It has signed in to the account before. */
  readonly isKnownDevice: boolean
}

/** About the time a full queue takes. */
const retryAfterMs = 3_000

interface Waiting {
  readonly start: () => void
  readonly refuse: (error: TooManyAttempts) => void
}

export class PasswordHasher {
  readonly #options: PasswordHasherOptions
  readonly #knownDevices: Waiting[] = []
  /** By network, in the order of their turns; no list is empty. */
  readonly #networks = new Map<string, Waiting[]>()
  #running = 0
  #pendingOfNetworks = 0

  constructor(options: PasswordHasherOptions) {
    this.#options = options
  }

  /** @throws TooManyAttempts */
  hash(password: string, client: HashClient): Promise<string> {
    return this.#enqueue(client, () => hashPassword(password))
  }

  /** A null hash takes as long and returns false. @throws TooManyAttempts */
  async verify(
    password: string,
    phc: string | null,
    client: HashClient,
  ): Promise<{ readonly ok: boolean; readonly rehash: boolean }> {
    const verdict = await this.#enqueue(client, () => verifyPassword(password, phc ?? decoyHash))
    return phc === null ? { ok: false, rehash: false } : verdict
  }

  async #enqueue<Result>(client: HashClient, work: () => Promise<Result>): Promise<Result> {
    if (this.#running < this.#options.maxConcurrent) this.#running += 1
    else await new Promise<void>((start, refuse) => this.#wait(client, { start, refuse }))
    try {
      return await work()
    } finally {
      // The slot goes to the next in the queue, or becomes free.
      const next = this.#takeNext()
      if (next === undefined) this.#running -= 1
      else next.start()
    }
  }

  #wait({ network, isKnownDevice }: HashClient, waiting: Waiting): void {
    const { maxPending } = this.#options
    if (isKnownDevice) {
      if (this.#knownDevices.length >= maxPending) waiting.refuse(new TooManyAttempts(retryAfterMs))
      else this.#knownDevices.push(waiting)
      return
    }
    const networkQueue = this.#networks.get(network) ?? []
    if (this.#pendingOfNetworks >= maxPending && !this.#refuseOneOfLongest(networkQueue.length)) {
      waiting.refuse(new TooManyAttempts(retryAfterMs))
      return
    }
    networkQueue.push(waiting)
    this.#networks.set(network, networkQueue)
    this.#pendingOfNetworks += 1
  }

  /** Refuses the newest request of the network that has most, if it would still have as many as one with `length` and one more. */
  #refuseOneOfLongest(length: number): boolean {
    const longest = [...this.#networks.values()].reduce<Waiting[]>((most, each) => (each.length > most.length ? each : most), [])
    if (longest.length <= length + 1) return false
    longest.pop()?.refuse(new TooManyAttempts(retryAfterMs))
    this.#pendingOfNetworks -= 1
    return true
  }

  #takeNext(): Waiting | undefined {
    const nextKnownDevice = this.#knownDevices.shift()
    if (nextKnownDevice !== undefined) return nextKnownDevice
    for (const [network, queue] of this.#networks) {
      const next = queue.shift()
      // The network waits for its next turn behind all others.
      this.#networks.delete(network)
      if (queue.length > 0) this.#networks.set(network, queue)
      this.#pendingOfNetworks -= 1
      return next
    }
    return undefined
  }
}
