/** Numbers that follow from a seed (mulberry32). */
export function createRandom(seed: number) {
  let state = seed >>> 0
  const number = (): number => {
    state = (state + 0x6d_2b_79_f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  return {
    number,
    /** From 0 to below `end`. */
    below: (end: number): number => Math.floor(number() * end),
    isOne: (share: number): boolean => number() < share,
    choose: <T>(items: readonly T[]): T => items[Math.floor(number() * items.length)] as T,
  }
}

export type Random = ReturnType<typeof createRandom>
