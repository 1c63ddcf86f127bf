/** Nodes that count requests per minute together, while the store is late or lost and nodes stand still. */
import t from 'tap'
import { DistributedRateLimit } from '../../src/access/limits/distributed.ts'
import { decayUnits, minuteMs, requestUnits } from '../../src/access/limits/limits.ts'
import { MemoryRateLimit } from '../../src/access/limits/memory.ts'
import type { RateLimitStore } from '../../src/access/limits/rate-limit-store.ts'
import { SimulatedClock } from '../support/simulated-clock.ts'
import { createRandom } from './random.ts'
import type { Random } from './random.ts'

const [nodeCount, perMinute] = [3, 30]
const [stepMs, durationMs] = [25, 20_000]

/** A store that counts for all nodes, with a clock of its own. */
class SharedStore {
  state: 'answers' | 'late' | 'lost' = 'answers'
  nowMs = 0
  readonly #used = new Map<string, { readonly units: number; readonly at: number }>()

  /** As after a restart without persistence. */
  forget(): void {
    this.#used.clear()
  }

  connect(clock: SimulatedClock, random: Random): RateLimitStore {
    return {
      consume: async (requests) => {
        const { state } = this
        if (state === 'lost') throw new Error('connect ECONNREFUSED')
        const before = requests.map((request) => this.#count(request))
        await clock.wait(state === 'late' ? 60 + random.below(500) : 1 + random.below(30))
        return before
      },
      close: () => undefined,
    }
  }

  #count({ subject, perMinute, count }: Parameters<RateLimitStore['consume']>[0][number]): number {
    const { units, at } = this.#used.get(subject) ?? { units: 0, at: 0 }
    const before = decayUnits(units, this.nowMs - at, perMinute)
    const room = Math.floor((perMinute * requestUnits - before) / requestUnits)
    this.#used.set(subject, { units: before + Math.min(count, Math.max(0, room)) * requestUnits, at: this.nowMs })
    return before
  }
}

interface SimulatedNode {
  readonly clock: SimulatedClock
  readonly limits: DistributedRateLimit
  pausedUntilMs: number
}

/** Ten times the limit is requested. Returns when each request was admitted, in order. */
async function requestAtAll(seed: number, faults: 'none' | 'silence' | 'lost data'): Promise<readonly number[]> {
  const random = createRandom(seed)
  const hasFaults = faults === 'silence'
  const store = new SharedStore()
  const nodes = Array.from({ length: nodeCount }, (): SimulatedNode => {
    const clock = new SimulatedClock({ now: 0, monotonicMs: 0 })
    const limits = new DistributedRateLimit({
      name: 'the server of LIMITS_URL',
      open: async () => store.connect(clock, random),
      local: new MemoryRateLimit(),
      nodes: () => nodeCount,
      clock,
      onUnavailable: () => undefined,
      onRecovered: () => undefined,
    })
    return { clock, limits, pausedUntilMs: 0 }
  })
  await Promise.all(nodes.map(({ clock, limits }) => Promise.all([limits.open(), clock.run(100)])))
  store.nowMs = 100
  const admittedMs: number[] = []
  for (const untilMs = store.nowMs + durationMs; store.nowMs < untilMs; store.nowMs += stepMs) {
    const { nowMs } = store
    if (faults === 'lost data' && nowMs % 200 < stepMs) store.forget()
    if (hasFaults && random.isOne(0.005)) store.state = random.choose(['answers', 'late', 'lost'])
    for (const node of nodes) {
      const { clock, limits } = node
      if (hasFaults && random.isOne(0.004)) node.pausedUntilMs = nowMs + random.below(6_000)
      if (node.pausedUntilMs > nowMs) {
        clock.skip(stepMs)
        continue
      }
      const isSent = random.isOne((10 * perMinute * stepMs) / minuteMs / nodeCount)
      if (isSent)
        void Promise.resolve(limits.consume('acc_1', perMinute, clock.monotonicMs())).then(
          ({ allowed }) => void (allowed && admittedMs.push(store.nowMs)),
        )
      await clock.run(stepMs)
    }
  }
  for (const { limits } of nodes) limits.close()
  return admittedMs
}

/** The largest share of what `limit` a minute allows within any time, the burst of a minute included. */
function findLargestShare(admittedMs: readonly number[], limit: number): number {
  let largest = 0
  for (const [first, fromMs] of admittedMs.entries())
    for (let last = first; last < admittedMs.length; last++) {
      const allowed = limit + (limit * ((admittedMs[last] ?? 0) - fromMs)) / minuteMs
      largest = Math.max(largest, (last - first + 1) / allowed)
    }
  return largest
}

t.test('nodes admit together what one would, while the store answers in time', async (t) => {
  for (let seed = 1; seed <= 3; seed++) {
    const admitted = await requestAtAll(seed, 'none')
    const allowed = perMinute + (perMinute * durationMs) / minuteMs
    t.ok(admitted.length >= allowed * 0.9 && findLargestShare(admitted, perMinute) <= 1.05, `${admitted.length} of ${allowed}`)
  }
})

for (const [name, faults] of [
  ['nodes that the store does not answer in time', 'silence'],
  ['nodes whose store loses its data again and again', 'lost data'],
] as const)
  t.test(`${name} admit at most as much again`, async (t) => {
    for (let seed = 1; seed <= 3; seed++) {
      const admitted = await requestAtAll(seed, faults)
      const share = findLargestShare(admitted, perMinute)
      t.ok(share <= 2, `seed ${seed}: ${admitted.length} admitted, ${share.toFixed(2)} times the limit`)
      t.ok(admitted.length >= perMinute * 0.9, `seed ${seed}: the limit is not lower either`)
    }
  })
