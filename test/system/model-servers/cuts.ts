/** Ways to play a recording other than as it was recorded: cut at a byte, glued, split. */
import { bytesOf } from './recording.ts'
import type { Playback } from './replay-server.ts'
import type { Scenario } from './scenarios.ts'

export interface Cut {
  /** A copy of its own; the id tells what was changed. */
  readonly scenario: Scenario
  readonly change: Pick<Playback, 'cutAt' | 'end' | 'pieces'>
}

/** Each scenario cut at every tenth byte by FIN and by reset, whole in one write, and in pieces of few, 17 and 100 bytes. */
export function cutsOf(scenarios: readonly Scenario[]): Cut[] {
  return scenarios.flatMap((scenario) => {
    const length = bytesOf(scenario.recording.response).length
    const cuts = Array.from({ length: Math.ceil(length / 10) }, (_, index) => index * 10).flatMap((cutAt) =>
      (['FIN', 'RST'] as const).map((end) => ({ cutAt, end, pieces: piecesAt(cutAt) })),
    )
    // A write for each byte of a long stream takes seconds.
    const uncut = (['glued', length > 1_500 ? 5 : 1, 17, 100] as const).map((pieces) => ({ pieces }))
    return [...uncut, ...cuts].map((change) => ({ scenario: { ...scenario, id: `${scenario.id}, ${nameOf(change)}` }, change }))
  })
}

/** `count` of them, the same for the same seed; a tenth are uncut. */
export function sampleOf(cuts: readonly Cut[], count: number, seed: number): Cut[] {
  const random = randomFrom(seed)
  const pick = (from: readonly Cut[], number: number): Cut[] => {
    const left = [...from]
    return Array.from({ length: Math.min(number, left.length) }, () => left.splice(Math.floor(random() * left.length), 1)).flat()
  }
  const uncut = cuts.filter(({ change }) => change.cutAt === undefined)
  const rest = cuts.filter(({ change }) => change.cutAt !== undefined)
  return [...pick(uncut, Math.floor(count / 10)), ...pick(rest, count - Math.floor(count / 10))]
}

/** Neighbouring cuts come in different pieces. */
function piecesAt(cutAt: number): Playback['pieces'] & {} {
  return (['recorded', 'glued', 64, [cutAt / 2, cutAt - 1]] as const)[(cutAt / 10) % 4] ?? 'recorded'
}

function nameOf({ cutAt, end, pieces }: Cut['change']): string {
  const shape =
    typeof pieces === 'object' ? `split at ${pieces.join(' and ')}` : typeof pieces === 'number' ? `by ${pieces}` : pieces
  return cutAt === undefined ? `${shape}` : `${shape}, ${end} at ${cutAt}`
}

/** mulberry32, a small generator with a seed. */
function randomFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d_2b_79_f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
