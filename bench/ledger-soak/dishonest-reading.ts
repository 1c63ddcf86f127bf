/** Members who read an answer so that it ends early, to pay less for it than they receive. */
import { setTimeout as pause } from 'node:timers/promises'
import type { SeededRandom } from './turn-plan.ts'

export interface DishonestReading {
  readonly kind: 'stops_once' | 'pauses' | 'trickles' | 'never_reads' | 'resets' | 'stretches'
  /** It stops after so many bytes, for so long. */
  readonly stopAfterBytes: number
  readonly stopMs: number
  /** It stops again after as many bytes. */
  readonly repeats: boolean
  /** It resets the connection instead of reading on. */
  readonly resets: boolean
  /** The upstream gives up after it could not write for so long; null: never. Longer than a client may delay an answer. */
  readonly upstreamPatienceMs: number | null
  readonly upstreamGivesUpBy: 'reset_midway' | 'no_finish' | 'error_midway'
}

/** A slow answer; it lasts longer than the gateway's total time. */
export const stretchedAnswer = { tokens: 80, chunkTokens: 1, paceMs: 250 } as const
/** More than all buffers between an upstream and a client hold, after `shrinkBuffers` in `server.ts`. */
export const largeAnswer = { tokens: 500_000, chunkTokens: 5_000, paceMs: 0 } as const

export function drawDishonestReading(random: SeededRandom): DishonestReading {
  const kind = random.pick<DishonestReading['kind']>({
    stops_once: 4,
    pauses: 3,
    trickles: 2,
    never_reads: 2,
    resets: 2,
    stretches: 2,
  })
  const isPatient = kind === 'never_reads' || kind === 'stretches' || random.next() < 0.2
  const upstreamGivesUpBy = random.pick({ reset_midway: 3, no_finish: 1, error_midway: 1 })
  const upstreamPatienceMs = random.integer(1_000, 2_000)
  const stop = {
    stops_once: { stopAfterBytes: random.integer(0, 300_000), stopMs: random.integer(1_500, 3_500) },
    pauses: { stopAfterBytes: random.integer(50_000, 300_000), stopMs: random.integer(300, 1_800) },
    trickles: { stopAfterBytes: 1, stopMs: random.integer(50, 300) },
    never_reads: { stopAfterBytes: random.integer(0, 100_000), stopMs: 8_000 },
    resets: { stopAfterBytes: random.integer(0, 300_000), stopMs: random.integer(500, 3_000) },
    stretches: { stopAfterBytes: Infinity, stopMs: 0 },
  }[kind]
  return {
    kind,
    ...stop,
    repeats: kind === 'pauses' || kind === 'trickles',
    resets: kind === 'resets',
    upstreamPatienceMs: isPatient ? null : upstreamPatienceMs,
    upstreamGivesUpBy,
  }
}

/** Passes the chunks on as this member takes them. */
export async function* readDishonestly(
  body: AsyncIterable<Buffer>,
  { stopAfterBytes, stopMs, repeats, resets }: DishonestReading,
  reset: () => void,
): AsyncGenerator<Buffer> {
  let bytes = 0
  let stopAt = stopAfterBytes
  for await (const chunk of body) {
    yield chunk
    bytes += chunk.length
    if (bytes < stopAt) continue
    stopAt = repeats ? bytes + stopAfterBytes : Infinity
    await pause(stopMs)
    if (resets) reset()
  }
}

/** Events with output in a stream of any API format; each has `chunkTokens` tokens. */
export function countOutputEvents(text: string): number {
  return text.match(/"delta":(?:\{[^{}]{0,80}?"(?:content|text)":)?" wor/g)?.length ?? 0
}
