/**
 * Fair queue for the parser: one queue per member, and the member that has used the least of the thread's time is served next. Used time is
 * forgotten by half every ten seconds, so that a member who has sent costly bodies waits behind others for a while, and then no longer.
 */

interface QueuedRequest {
  readonly member: string
  readonly bytes: number
}

interface UsedTime {
  readonly micros: number
  /** When it was that much. */
  readonly at: number
}

const halfLifeMs = 10_000
/** Older than this, it is a millionth. */
const maxAgeMs = 20 * halfLifeMs

export class FairQueue<Job extends QueuedRequest> {
  /** The members that have waited longest are first. Few have large requests at the same time, so a linear search is fast enough. */
  readonly #queues: { readonly member: string; readonly jobs: Job[] }[] = []
  /** The members charged longest ago are first. */
  readonly #used = new Map<string, UsedTime>()
  readonly #maxBytes: number
  readonly #now: () => number
  #bytes = 0

  /**
   * @param maxBytes maximum of all queued bodies together; a single one may be larger
   * @param now monotonic time in milliseconds
   */
  constructor(maxBytes: number, now: () => number) {
    this.#maxBytes = maxBytes
    this.#now = now
  }

  get bytes(): number {
    return this.#bytes
  }

  /** Adds to the time that the member has used. */
  charge(member: string, micros: number): void {
    const at = this.#now()
    const usedTime = { micros: this.#readUsed(member, at) + micros, at }
    this.#used.delete(member)
    this.#used.set(member, usedTime)
    for (const [other, { at: chargedAt }] of this.#used) {
      if (at - chargedAt <= maxAgeMs) break
      this.#used.delete(other)
    }
  }

  /** Returns the jobs to evict: none, the last of the member with the most queued bytes, or the new one. */
  enqueue(job: Job): Job[] {
    let queue = this.#queues.find(({ member }) => member === job.member)
    if (queue === undefined) this.#queues.push((queue = { member: job.member, jobs: [] }))
    queue.jobs.push(job)
    this.#bytes += job.bytes
    const evictedJobs: Job[] = []
    while (this.#bytes > this.#maxBytes && this.#bytes > job.bytes) {
      const last = this.#findLargest(queue)?.jobs.at(-1)
      if (last === undefined) break
      this.remove(last)
      evictedJobs.push(last)
      if (last === job) break
    }
    return evictedJobs
  }

  /** The first job of the member with the least used time; between equals, of the one that has waited longest. */
  dequeue(): Job | undefined {
    const at = this.#now()
    let [next, least] = [0, Infinity]
    for (const [index, { member }] of this.#queues.entries()) {
      const usedMicros = this.#readUsed(member, at)
      if (usedMicros < least) [next, least] = [index, usedMicros]
    }
    const [queue] = this.#queues.splice(next, 1)
    const job = queue?.jobs.shift()
    if (queue === undefined || job === undefined) return undefined
    if (queue.jobs.length > 0) this.#queues.push(queue)
    this.#bytes -= job.bytes
    return job
  }

  remove(job: Job): void {
    const queueIndex = this.#queues.findIndex(({ member }) => member === job.member)
    const jobs = this.#queues[queueIndex]?.jobs ?? []
    const jobIndex = jobs.indexOf(job)
    if (jobIndex === -1) return
    jobs.splice(jobIndex, 1)
    if (jobs.length === 0) this.#queues.splice(queueIndex, 1)
    this.#bytes -= job.bytes
  }

  #readUsed(member: string, at: number): number {
    const usedTime = this.#used.get(member)
    return usedTime === undefined || at - usedTime.at > maxAgeMs ? 0 : usedTime.micros * 2 ** ((usedTime.at - at) / halfLifeMs)
  }

  /** The queue with the most bytes; between equals the newcomer's. */
  #findLargest(newcomer: { readonly jobs: readonly Job[] }): { readonly jobs: readonly Job[] } {
    const sumBytes = ({ jobs }: { readonly jobs: readonly Job[] }) => jobs.reduce((sum, { bytes }) => sum + bytes, 0)
    let [largest, largestBytes] = [newcomer, sumBytes(newcomer)]
    for (const queue of this.#queues) {
      const bytes = sumBytes(queue)
      if (bytes > largestBytes) [largest, largestBytes] = [queue, bytes]
    }
    return largest
  }
}
