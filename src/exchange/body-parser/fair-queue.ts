/** Fair queue for the parser: one queue per member, served round-robin. */

interface QueuedRequest {
  readonly member: string
  readonly bytes: number
}

export class FairQueue<Job extends QueuedRequest> {
  /** The next queue is first. Few members have large requests at the same time, so a linear search is fast enough. */
  readonly #queues: { readonly member: string; readonly jobs: Job[] }[] = []
  readonly #maxBytes: number
  #bytes = 0

  /** @param maxBytes maximum of all queued bodies together; a single one may be larger */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  get bytes(): number {
    return this.#bytes
  }

  /** Returns the jobs to evict: none, the last of the member with the most queued bytes, or the new one. */
  enqueue(job: Job): Job[] {
    let queue = this.#queues.find(({ member }) => member === job.member)
    if (queue === undefined) this.#queues.push((queue = { member: job.member, jobs: [] }))
    queue.jobs.push(job)
    this.#bytes += job.bytes
    const evicted: Job[] = []
    while (this.#bytes > this.#maxBytes && this.#bytes > job.bytes) {
      const last = this.#findLargest(queue)?.jobs.at(-1)
      if (last === undefined) break
      this.remove(last)
      evicted.push(last)
      if (last === job) break
    }
    return evicted
  }

  dequeue(): Job | undefined {
    const queue = this.#queues.shift()
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
