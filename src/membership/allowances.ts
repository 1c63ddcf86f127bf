/** How often what may be tried, by whom; counted in the store, so that neither a restart nor a second process begins anew. */
import type { Allowance, Counters } from './counters.ts'
import { Busy } from './refusal.ts'

const minuteMs = 60_000
const hourMs = 60 * minuteMs

/** What is counted. `network` is an address prefix, `address` a mail address. */
export const allowanceNames = [
  'code-by-network',
  'code-by-address',
  'code-resend',
  'verify-by-network',
  'password-by-network',
  'password-by-address',
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
  'code-by-network': { times: 100, withinMs: hourMs },
  'code-by-address': { times: 5, withinMs: hourMs },
  'code-resend': { times: 1, withinMs: minuteMs },
  'verify-by-network': { times: 60, withinMs: 10 * minuteMs },
  'password-by-network': { times: 30, withinMs: 10 * minuteMs },
  'password-by-address': { times: 10, withinMs: 15 * minuteMs },
  'device-start': { times: 30, withinMs: 10 * minuteMs },
  'device-poll': { times: 120, withinMs: minuteMs },
  'user-code-by-network': { times: 20, withinMs: 10 * minuteMs },
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

  /** Counts one more. @throws Busy when that is too many */
  async take(name: AllowanceName, subject: string, now: number): Promise<void> {
    const { times, withinMs } = this.#table[name]
    const { count, resetsAt } = await this.#counters.take(`${name}:${subject}`, withinMs, now)
    if (count > times) throw new Busy(resetsAt - now)
  }

  /** What was counted turned out to be no guess. */
  giveBack(name: AllowanceName, subject: string): Promise<void> {
    return this.#counters.giveBack(`${name}:${subject}`)
  }
}
