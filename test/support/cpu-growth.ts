/** How the CPU time of this thread grows where the input doubles: 2 for linear work, 4 for work that takes the square of its input. */

import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** Work below this is too short to compare. */
const minMicros = 2_000
const minSize = 1_000
const maxSize = 16_000
const maxRounds = 12

/**
 * The growth from one size to the next, to the one after that, or the mean of three doublings, whichever is less: a collection of garbage or
 * a full cache is in one of them, the square of the input in all.
 * @param prepare builds the input of this size, which is not measured, and returns work that can be repeated
 * @param limit rounds end early once the growth is below it
 */
export function measureGrowth(prepare: (size: number) => () => unknown, limit: number): { growth: number; size: number } {
  const works = new Map<number, () => unknown>()
  const measure = (size: number): number => {
    const work = works.get(size) ?? prepare(size)
    works.set(size, work)
    collectYoung()
    const before = readThreadMicros()
    work()
    return readThreadMicros() - before
  }
  // The first rounds are also those in which the code is compiled.
  let size = minSize
  for (let micros = measure(size); micros < minMicros && size < maxSize; micros = measure(size))
    size = Math.min(maxSize, size * 2 ** Math.ceil(Math.log2(minMicros / Math.max(micros, 1))))
  let least = Infinity
  for (const [from, doublings] of [
    [size, 1],
    [2 * size, 1],
    [size / 2, 3],
  ] as const) {
    least = Math.min(least, measureMeanGrowth(measure, from, doublings, limit))
    if (least <= limit) break
  }
  return { size, growth: least }
}

/** The mean growth of each doubling, by the shortest time of each size. */
function measureMeanGrowth(measure: (size: number) => number, size: number, doublings: number, limit: number): number {
  let [small, large, growth] = [Infinity, Infinity, Infinity]
  for (let round = 0; round < maxRounds && (round < 2 || growth > limit); round++) {
    small = Math.min(small, measure(size))
    large = Math.min(large, measure(size * 2 ** doublings))
    growth = (large / Math.max(small, 1)) ** (1 / doublings)
  }
  return growth
}

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as (options: { readonly type: 'minor' }) => void

/** So that the work is not interrupted to collect what was there before. */
function collectYoung(): void {
  collect({ type: 'minor' })
}

const cell = new Int32Array(new SharedArrayBuffer(4))

/** Linux adds up a thread's time when it leaves its core: without the wait the last milliseconds would be missing. */
export function readThreadMicros(): number {
  Atomics.wait(cell, 0, 0, 0.01)
  const { user, system } = process.threadCpuUsage()
  return user + system
}
