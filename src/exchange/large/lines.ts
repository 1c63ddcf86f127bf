/** Those who wait for the thread: a line for each member, and the lines are served in turn. */

export interface Waiting {
  readonly member: string
  readonly bytes: number
}

export class Lines<Job extends Waiting> {
  /** The line that is served next stands first. Few members have large requests at once, so they are looked through. */
  readonly #lines: { readonly member: string; readonly jobs: Job[] }[] = []
  readonly #mostBytes: number
  #bytes = 0

  /** @param mostBytes of all that wait together; one alone may be larger */
  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes
  }

  get bytes(): number {
    return this.#bytes
  }

  /** Who has to go for it: nobody, the last of whoever has the most waiting, or the one who comes. */
  add(job: Job): Job[] {
    let line = this.#lines.find(({ member }) => member === job.member)
    if (line === undefined) this.#lines.push((line = { member: job.member, jobs: [] }))
    line.jobs.push(job)
    this.#bytes += job.bytes
    const gone: Job[] = []
    while (this.#bytes > this.#mostBytes && this.#bytes > job.bytes) {
      const last = this.#longest(line)?.jobs.at(-1)
      if (last === undefined) break
      this.remove(last)
      gone.push(last)
      if (last === job) break
    }
    return gone
  }

  next(): Job | undefined {
    const line = this.#lines.shift()
    const job = line?.jobs.shift()
    if (line === undefined || job === undefined) return undefined
    if (line.jobs.length > 0) this.#lines.push(line)
    this.#bytes -= job.bytes
    return job
  }

  remove(job: Job): void {
    const place = this.#lines.findIndex(({ member }) => member === job.member)
    const jobs = this.#lines[place]?.jobs ?? []
    const at = jobs.indexOf(job)
    if (at === -1) return
    jobs.splice(at, 1)
    if (jobs.length === 0) this.#lines.splice(place, 1)
    this.#bytes -= job.bytes
  }

  /** The line with most bytes; of equal ones that of whoever has just come. */
  #longest(newcomer: { readonly jobs: readonly Job[] }): { readonly jobs: readonly Job[] } {
    const bytesOf = ({ jobs }: { readonly jobs: readonly Job[] }) => jobs.reduce((sum, { bytes }) => sum + bytes, 0)
    let [longest, most] = [newcomer, bytesOf(newcomer)]
    for (const line of this.#lines) {
      const bytes = bytesOf(line)
      if (bytes > most) [longest, most] = [line, bytes]
    }
    return longest
  }
}
