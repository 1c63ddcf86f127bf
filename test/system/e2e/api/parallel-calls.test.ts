/** Parallel programs as members run them: the official SDK with its own two retries, at the limits of the shipped plan. */
import OpenAI from 'openai'
import t from 'tap'
import { startGateway } from '../../../support/gateway/test-gateway.ts'
import { SimulatedClock } from '../../../support/simulated-clock.ts'

/**
 * The time of gateway and clients. It stands still while a thread has something to do, and goes on to the end of the next wait once all
 * threads wait.
 */
class SharedTime {
  readonly clock = new SimulatedClock({ monotonicMs: 0, isLive: true })
  #active: number
  readonly #waits: { readonly endMs: number; readonly end: () => void }[] = []

  constructor(threads: number) {
    this.#active = threads
  }

  async wait(ms: number): Promise<void> {
    await new Promise<void>((end) => {
      this.#waits.push({ endMs: this.clock.monotonicMs() + ms, end })
      this.leave()
    })
    this.#active++
  }

  /** A thread has ended, or waits. */
  leave(): void {
    if (--this.#active > 0 || this.#waits.length === 0) return
    this.#waits.sort((a, b) => a.endMs - b.endMs)
    const next = this.#waits.shift()
    if (next === undefined) return
    this.clock.skip(next.endMs - this.clock.monotonicMs())
    next.end()
  }
}

t.test('serves a hundred calls from eight threads on Pro within the two retries of the SDK', async (t) => {
  const threads = 8
  const time = new SharedTime(threads)
  const g = await startGateway(t, {}, { clock: time.clock })
  const { token, id } = await g.createMember('pro')
  t.equal(g.config.plans['pro']?.rpm, 60)
  t.equal(g.config.plans['pro']?.concurrency, threads)
  let refusals = 0
  const client = new OpenAI({
    baseURL: `${g.url}/v1`,
    apiKey: token,
    async fetch(...input: Parameters<typeof fetch>) {
      const response = await fetch(...input)
      const seconds = response.headers.get('retry-after')
      if (seconds === null) return response
      refusals++
      await time.wait(Number(seconds) * 1_000)
      const headers = new Headers(response.headers)
      headers.set('retry-after-ms', '0')
      return new Response(response.body, { status: response.status, headers })
    },
  })
  t.equal(client.maxRetries, 2)
  const failures: string[] = []
  const calls = Array.from({ length: 100 }, (_, index) => index)
  const runThread = async () => {
    for (let call = calls.pop(); call !== undefined; call = calls.pop())
      await client.chat.completions
        .create({ model: 'svc-2.1', messages: [{ role: 'user', content: `Call ${call}` }] })
        .catch((error: unknown) => failures.push(String(error)))
    time.leave()
  }
  await Promise.all(Array.from({ length: threads }, runThread))
  t.same(failures, [])
  t.ok(refusals >= 40, `${refusals} refusals: sixty calls were served at once, the others after a wait`)
  const passedMs = time.clock.monotonicMs()
  t.ok(passedMs >= 40_000 && passedMs < 60_000, `${passedMs} ms`)
  await g.waitUntilSettled()
  const turns = await g.listTurns(id)
  t.equal(turns.length, 100)
  t.ok(turns.every(({ state }) => state === 'settled'))
})
