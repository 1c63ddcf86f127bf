/** How often what may be tried, by whom; counted in the store, so that neither a restart nor a second process begins anew. */
import type { Allowance, Counters } from './counters.ts'
import { Busy } from './refusal.ts'

const minuteMs = 60_000
const hourMs = 60 * minuteMs

/**
 * What is counted. `network` is an address prefix, `address` a mailbox, `device` all browsers together that have signed in to the account
 * before. `code-` are letters, counted by `letter-rules.ts`; the rest is counted here. How the numbers bound guessing stands in
 * `sign-in-desk.ts`.
 */
export const allowanceNames = [
  'code-by-network',
  'code-by-network-and-address',
  'code-by-address',
  'code-by-device',
  'code-resend',
  'code-tries',
  'verify-by-network',
  'password-by-network',
  'password-by-address',
  'password-by-device',
  'device-start',
  'device-poll',
  'user-code-by-network',
  'user-code-by-account',
  'key-by-account',
  'provider-by-network',
  'app-register',
  'app-start',
  'app-token',
  'boost-by-account',
] as const
export type AllowanceName = (typeof allowanceNames)[number]

export type AllowanceTable = Readonly<Record<AllowanceName, Allowance>>

const defaultAllowances: AllowanceTable = {
  'code-by-network': { times: 20, withinMs: hourMs },
  'code-by-network-and-address': { times: 5, withinMs: hourMs },
  'code-by-address': { times: 10, withinMs: hourMs },
  'code-by-device': { times: 5, withinMs: hourMs },
  'code-resend': { times: 1, withinMs: minuteMs },
  'code-tries': { times: 5, withinMs: hourMs },
  'verify-by-network': { times: 60, withinMs: 10 * minuteMs },
  'password-by-network': { times: 30, withinMs: 10 * minuteMs },
  'password-by-address': { times: 5, withinMs: hourMs },
  'password-by-device': { times: 5, withinMs: hourMs },
  'device-start': { times: 10, withinMs: 10 * minuteMs },
  'device-poll': { times: 120, withinMs: minuteMs },
  'user-code-by-network': { times: 5, withinMs: 10 * minuteMs },
  'user-code-by-account': { times: 5, withinMs: 10 * minuteMs },
  'key-by-account': { times: 60, withinMs: hourMs },
  'provider-by-network': { times: 60, withinMs: 10 * minuteMs },
  'app-register': { times: 20, withinMs: hourMs },
  'app-start': { times: 60, withinMs: 10 * minuteMs },
  'app-token': { times: 120, withinMs: 10 * minuteMs },
  'boost-by-account': { times: 60, withinMs: minuteMs },
}

/** The defaults, but for what an operator has set. */
export function allowancesWith(changes: Readonly<Partial<Record<AllowanceName, Allowance | undefined>>>): AllowanceTable {
  const set = Object.entries(changes).filter(([, allowance]) => allowance !== undefined)
  return { ...defaultAllowances, ...Object.fromEntries(set) }
}

export class Allowances {
  readonly #counters: Counters
  readonly #table: AllowanceTable

  constructor(counters: Counters, table: AllowanceTable) {
    this.#counters = counters
    this.#table = table
  }

  /** Counts one more. @throws Busy when that is too many; `instead` tells what else may be tried */
  async take(name: AllowanceName, subject: string, now: number, instead: Busy['instead'] = null): Promise<void> {
    const freeAt = await this.#counters.take(`${name}:${subject}`, this.#table[name], now)
    if (freeAt !== null) throw new Busy(freeAt - now, instead)
  }

  /** What was counted turned out to be no guess. */
  giveBack(name: AllowanceName, subject: string): Promise<void> {
    return this.#counters.giveBack(`${name}:${subject}`)
  }
}
