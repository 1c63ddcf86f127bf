/** What each turn of the run is to be: drawn from the seed and the turn's number alone, so that a turn can be looked at again. */

/** The same numbers for the same seed (mulberry32). */
export class Chance {
  #state: number

  constructor(seed: number) {
    this.#state = seed >>> 0
  }

  /** From 0 up to 1. */
  next(): number {
    this.#state = (this.#state + 0x6d_2b_79_f5) >>> 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }

  /** A whole number from `least` to `most`. */
  whole(least: number, most: number): number {
    return least + Math.floor(this.next() * (most - least + 1))
  }

  /** One of the names, as often as its weight says. */
  of<Name extends string>(weights: Readonly<Record<Name, number>>): Name {
    const names = Object.keys(weights) as Name[]
    let left = this.next() * names.reduce((sum, name) => sum + weights[name], 0)
    for (const name of names) if ((left -= weights[name]) < 0) return name
    return names[0] as Name
  }
}

export type Usage = 'right' | 'missing' | 'zero' | 'in_choice'

export type Ending =
  | 'complete'
  | 'status'
  | 'reset_at_once'
  | 'reset_midway'
  | 'error_midway'
  | 'no_finish'
  | 'garbage'
  | 'web_page'

/** What the upstream does for one turn. Each token is four bytes, so that a count of events and one of bytes agree. */
export interface Script {
  readonly ending: Ending
  readonly status: number
  readonly usage: Usage
  readonly inputTokens: number
  readonly tokens: number
  /** Tokens that come before it fails, for those that fail midway. */
  readonly failsAfter: number
  /** It answers with a JSON document, though it is asked for a stream. */
  readonly asDocument: boolean
  readonly headMs: number
  /** Between tokens; with 0 all come in one write. */
  readonly paceMs: number
}

export interface Plan {
  readonly number: number
  readonly script: Script
  readonly model: 'svc-2.1' | 'svc-2.1-fast'
  readonly stream: boolean
  readonly maxTokens: number | null
  /** How long the client stays; null: to the end. */
  readonly leavesAfterMs: number | null
  /** Asks again under the same key where the connection ends without an answer. */
  readonly keyed: boolean
}

export function planOf(seed: number, number: number): Plan {
  const chance = new Chance(Math.imul(seed, 0x9e_37_79_b1) ^ Math.imul(number + 1, 0x85_eb_ca_6b))
  const ending = chance.of<Ending>({
    complete: 84,
    status: 6,
    reset_at_once: 2,
    reset_midway: 3,
    error_midway: 2,
    no_finish: 1,
    garbage: 1,
    web_page: 1,
  })
  const isPaced = chance.next() < 0.2
  const tokens = chance.whole(3, isPaced ? 40 : 60)
  const paceMs = isPaced ? chance.whole(2, 20) : 0
  const headMs = chance.next() < 0.1 ? chance.whole(5, 200) : 0
  const leaves = chance.next() < (isPaced ? 0.5 : 0.08)
  const stream = chance.next() < 0.6
  const lastsMs = headMs + tokens * paceMs
  return {
    number,
    script: {
      ending,
      status: [400, 401, 404, 429, 500, 502, 503][chance.whole(0, 6)] ?? 500,
      usage: chance.of<Usage>({ right: 70, missing: 12, zero: 8, in_choice: 10 }),
      inputTokens: chance.whole(20, 120),
      tokens,
      failsAfter: chance.whole(0, tokens - 1),
      // For a client that wants a stream that is a failure.
      asDocument: !stream && chance.next() < 0.2,
      headMs,
      paceMs,
    },
    model: chance.next() < 0.7 ? 'svc-2.1' : 'svc-2.1-fast',
    stream,
    maxTokens: chance.next() < 0.8 ? chance.whole(tokens, 400) : null,
    leavesAfterMs: leaves ? chance.whole(0, Math.ceil(lastsMs * 1.1) + 15) : null,
    keyed: chance.next() < 0.05,
  }
}
