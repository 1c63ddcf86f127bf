/** Who is the slow side of a call, by the times at which the client took nothing. */
import t from 'tap'
import { ClientPace } from '../../../src/upstream/client-pace.ts'

/** @param blocks from when until when the client takes nothing */
function isSlow(blocks: readonly (readonly [from: number, to: number])[], at: number): boolean {
  const pace = new ClientPace()
  for (const [from, to] of blocks) {
    pace.recordBlocked(from)
    if (to <= at) pace.recordDrain(to)
  }
  return pace.isSlow(at)
}

/** Takes nothing for a part of each second. */
const everySecond = (blockedMs: number) => Array.from({ length: 60 }, (_, i) => [i * 1_000, i * 1_000 + blockedMs] as const)

const rows: readonly {
  readonly name: string
  readonly blocks: readonly (readonly [number, number])[]
  readonly at: number
  readonly slow: boolean
}[] = [
  { name: 'a client that always reads', blocks: [], at: 60_000, slow: false },
  { name: 'a short delay', blocks: [[1_000, 9_000]], at: 1_200, slow: false },
  { name: 'a client that takes nothing', blocks: [[1_000, 9_000]], at: 1_300, slow: true },
  { name: 'directly after a short delay', blocks: [[1_000, 1_200]], at: 1_200, slow: false },
  { name: 'after a delay of a second', blocks: [[1_000, 2_000]], at: 5_900, slow: true },
  { name: 'long after a delay of a second', blocks: [[1_000, 2_000]], at: 6_000, slow: false },
  { name: 'after a delay that was just long enough', blocks: [[1_000, 1_380]], at: 2_800, slow: true },
  { name: 'long after a delay that was just long enough', blocks: [[1_000, 1_380]], at: 2_900, slow: false },
  {
    name: 'a short delay after one that is over',
    blocks: [
      [1_000, 1_380],
      [4_000, 4_200],
    ],
    at: 4_200,
    slow: false,
  },
  { name: 'after a delay of a minute', blocks: [[1_000, 61_000]], at: 80_900, slow: true },
  { name: 'long after a delay of a minute', blocks: [[1_000, 61_000]], at: 81_000, slow: false },
  { name: 'many short delays that are a third of the time', blocks: everySecond(333), at: 59_500, slow: true },
  { name: 'many short delays that are a tenth of the time', blocks: everySecond(100), at: 59_500, slow: false },
]

for (const { name, blocks, at, slow } of rows)
  t.test(`${name}: ${slow ? 'the client is slow' : 'it is not slow'}`, async (t) => {
    t.equal(isSlow(blocks, at), slow)
  })
