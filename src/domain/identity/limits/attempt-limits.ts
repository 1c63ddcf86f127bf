/** Limits on attempts, counted in the store so that they survive a restart and are shared by all processes. */
/** At most `times` in any span of `withinMs`. */
export interface AttemptLimit {
  readonly times: number
  readonly withinMs: number
}

/**
 * Attempts, one row each, so that "at most so many within so long" holds for every span of that length, not only for fixed windows. The
 * rows survive a restart, and processes share them.
 */
export interface Attempts {
  /** Counts one attempt and returns null; over the limit it counts nothing and returns when the next one fits. Atomic. */
  consume(subject: string, limit: AttemptLimit, now: number): Promise<number | null>
  /** When the next one fits; null for now. Counts nothing. */
  findFreeAt(subject: string, limit: AttemptLimit, now: number): Promise<number | null>
  /** Removes the newest attempt, which proved harmless. */
  restore(subject: string): Promise<void>
  sweep(at: number): Promise<void>
}

/** Thrown when an attempt limit is exceeded; a retry can succeed after `retryAfterMs`. Every other outcome is a return value. */
export class TooManyAttempts extends Error {
  readonly retryAfterMs: number
  /** What is possible meanwhile: `email`, requesting an email; `magic_link`, opening the link of an email that was sent. */
  readonly alternative: 'email' | 'magic_link' | null

  constructor(retryAfterMs: number, alternative: TooManyAttempts['alternative'] = null) {
    super('too many requests')
    this.name = 'TooManyAttempts'
    this.retryAfterMs = retryAfterMs
    this.alternative = alternative
  }
}

const minuteMs = 60_000
const hourMs = 60 * minuteMs

/**
 * What is limited. `network` is an address prefix, `address` a mailbox, `device` all browsers together that have signed in to the account
 * before. `email-send-limits.ts` counts the `code-` limits (emails); `AttemptLimits` counts the others, and `code-to-new-addresses`: the
 * emails of the whole service to addresses without an account that did not lead to one. `sign-in-service.ts` explains how the numbers bound
 * guessing.
 */
const defaultAttemptLimits = {
  'code-by-network': { times: 20, withinMs: hourMs },
  'code-by-network-and-address': { times: 5, withinMs: hourMs },
  'code-by-address': { times: 10, withinMs: hourMs },
  'code-by-device': { times: 5, withinMs: hourMs },
  'code-resend': { times: 1, withinMs: minuteMs },
  'code-to-new-addresses': { times: 300, withinMs: hourMs },
  'code-tries': { times: 5, withinMs: hourMs },
  'verify-by-network': { times: 60, withinMs: 10 * minuteMs },
  'second-factor-by-account': { times: 5, withinMs: hourMs },
  'password-by-network': { times: 30, withinMs: 10 * minuteMs },
  'password-by-address': { times: 5, withinMs: hourMs },
  'password-by-device': { times: 5, withinMs: hourMs },
  'device-start': { times: 10, withinMs: 10 * minuteMs },
  'device-poll': { times: 120, withinMs: minuteMs },
  'user-code-by-network': { times: 5, withinMs: 10 * minuteMs },
  'user-code-by-account': { times: 5, withinMs: 10 * minuteMs },
  'email-change-by-account': { times: 3, withinMs: 24 * hourMs },
  'key-by-account': { times: 60, withinMs: hourMs },
  'form-by-account': { times: 300, withinMs: hourMs },
  'provider-by-network': { times: 60, withinMs: 10 * minuteMs },
  'app-register': { times: 20, withinMs: hourMs },
  'app-start': { times: 60, withinMs: 10 * minuteMs },
  'app-token': { times: 120, withinMs: 10 * minuteMs },
  'redeem-by-account': { times: 10, withinMs: hourMs },
  'redeem-by-network': { times: 30, withinMs: hourMs },
  'order-by-account': { times: 30, withinMs: hourMs },
  'order-check-by-account': { times: 60, withinMs: 10 * minuteMs },
  'target-try-by-operator': { times: 6, withinMs: minuteMs },
  'boost-by-account': { times: 60, withinMs: minuteMs },
  'device-decision-by-account': { times: 30, withinMs: hourMs },
  'app-decision-by-account': { times: 30, withinMs: hourMs },
  'audit-by-account': { times: 300, withinMs: hourMs },
  'audit-failures': { times: 600, withinMs: hourMs },
  'audit-failures-by-network': { times: 60, withinMs: hourMs },
  'audit-failures-by-account': { times: 60, withinMs: hourMs },
} as const satisfies Readonly<Record<string, AttemptLimit>>

export type AttemptLimitName = keyof typeof defaultAttemptLimits
export const attemptLimitNames = Object.keys(defaultAttemptLimits) as AttemptLimitName[]

export type AttemptLimitTable = Readonly<Record<AttemptLimitName, AttemptLimit>>

/** The defaults, overridden by the operator's settings. */
export function mergeAttemptLimits(
  overrides: Readonly<Partial<Record<AttemptLimitName, AttemptLimit | undefined>>>,
): AttemptLimitTable {
  const overriddenLimits = Object.entries(overrides).filter(([, limit]) => limit !== undefined)
  return { ...defaultAttemptLimits, ...Object.fromEntries(overriddenLimits) }
}

export class AttemptLimits {
  readonly #attempts: Attempts
  readonly #table: AttemptLimitTable

  constructor(attempts: Attempts, table: AttemptLimitTable) {
    this.#attempts = attempts
    this.#table = table
  }

  /** Counts one attempt. @throws TooManyAttempts over the limit; `alternative` names another way to sign in */
  async consume(
    name: AttemptLimitName,
    subject: string,
    now: number,
    alternative: TooManyAttempts['alternative'] = null,
  ): Promise<void> {
    const freeAt = await this.#attempts.consume(`${name}:${subject}`, this.#table[name], now)
    if (freeAt !== null) throw new TooManyAttempts(freeAt - now, alternative)
  }

  /** Counts one attempt of a client's network: of its address or /64, and of the wider IPv6 prefixes. @throws TooManyAttempts */
  async consumeForNetwork(
    name: AttemptLimitName,
    network: string,
    now: number,
    alternative: TooManyAttempts['alternative'] = null,
  ): Promise<void> {
    await this.consume(name, network, now, alternative)
    await this.consumeForWiderNetworks(name, network, now, alternative).catch(async (error: unknown) => {
      await this.restore(name, network)
      throw error
    })
  }

  /** The same for the wider prefixes alone. @throws TooManyAttempts */
  async consumeForWiderNetworks(
    name: AttemptLimitName,
    network: string,
    now: number,
    alternative: TooManyAttempts['alternative'] = null,
  ): Promise<void> {
    const consumedPrefixes: string[] = []
    for (const { prefix, factor } of getWiderNetworks(network)) {
      const { times, withinMs } = this.#table[name]
      const freeAt = await this.#attempts.consume(`${name}:${prefix}`, { times: times * factor, withinMs }, now)
      if (freeAt === null) {
        consumedPrefixes.push(prefix)
        continue
      }
      for (const each of consumedPrefixes) await this.restore(name, each)
      throw new TooManyAttempts(freeAt - now, alternative)
    }
  }

  /** Counts one attempt if it fits; false if it does not. */
  async tryConsume(name: AttemptLimitName, subject: string, now: number): Promise<boolean> {
    return (await this.#attempts.consume(`${name}:${subject}`, this.#table[name], now)) === null
  }

  /** When the next attempt fits; null for now. Counts nothing. */
  findFreeAt(name: AttemptLimitName, subject: string, now: number): Promise<number | null> {
    return this.#attempts.findFreeAt(`${name}:${subject}`, this.#table[name], now)
  }

  /** Uncounts an attempt that proved to be no guess. */
  restore(name: AttemptLimitName, subject: string): Promise<void> {
    return this.#attempts.restore(`${name}:${subject}`)
  }

  async restoreForNetwork(name: AttemptLimitName, network: string): Promise<void> {
    await this.restore(name, network)
    await this.restoreForWiderNetworks(name, network)
  }

  async restoreForWiderNetworks(name: AttemptLimitName, network: string): Promise<void> {
    for (const { prefix } of getWiderNetworks(network)) await this.restore(name, prefix)
  }
}

/**
 * The IPv6 prefixes around a /64, with the multiple of its limit that they have together. Providers give a customer a /56 or a /48, so a limit
 * by /64 alone allows one customer 256 or 65 536 times as much. Mobile networks give each phone a /64 of a shared prefix, so the prefix may do
 * more than one client.
 */
export function getWiderNetworks(network: string): readonly { readonly prefix: string; readonly factor: number }[] {
  const match = /^([0-9a-f]+:[0-9a-f]+:[0-9a-f]+):([0-9a-f]+)::\/64$/.exec(network)
  if (match === null) return []
  const [, head = '', subnet = ''] = match
  const upper = Number.parseInt(subnet, 16) & 0xff00
  return [
    { prefix: `${head}:${upper.toString(16)}::/56`, factor: 4 },
    { prefix: `${head}::/48`, factor: 16 },
  ]
}
