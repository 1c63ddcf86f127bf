/** What must be done now and then, whoever asks: overdue holds go back, old turns leave the log, uses are written down, boosts are paid. */
import type { Services } from './services.ts'

const expireEveryMs = 2_500
const flushEveryMs = 15_000
const payEveryMs = 2_000
const forgetEveryMs = 60_000
const cleanUpEveryMs = 600_000
const verifyEveryMs = 3_600_000
const dayMs = 86_400_000
/** Looked at in one go: more than ever ran at once, because a turn is forgotten only together with what its account ended before it. */
const turnsLookedAt = 50_000

export class Chores {
  readonly #services: Services
  readonly #timers: NodeJS.Timeout[]
  readonly #running = new Set<Promise<void>>()
  /** Gives up what looks for long: an end does not wait for it. */
  readonly #closing = new AbortController()

  /** `of`: a whole server's, or those alone that each of its threads that serve must see to by itself. */
  constructor(services: Services, of: 'server' | 'thread' = 'server') {
    this.#services = services
    const { ledger, clock, credentials, config, observe, membership } = services
    this.#timers = [
      this.#every(expireEveryMs, 'expire holds', async () => {
        const expired = await ledger.expire(clock.now(), clock.ticks())
        if (expired > 0) services.log.warn({ expired }, 'holds of dead or lost turns were given back')
      }),
      this.#every(flushEveryMs, 'write key uses', () => credentials.flushUses()),
      // Within this time a key revoked by another process is worth nothing here.
      this.#every(credentials.followEveryMs, 'follow changes', () => credentials.followChanges()),
    ]
    if (of === 'thread') return
    this.#timers.push(
      this.#once(payEveryMs, 'pay boosts', async () => {
        await membership.boosts.payInvites()
        await membership.boosts.deliverLost()
      }),
      this.#once(payEveryMs, 'end plans', async () => void (await membership.endPlans())),
      this.#once(forgetEveryMs, 'tidy membership', () => membership.tidy()),
      this.#once(cleanUpEveryMs, 'forget old turns', async () => {
        const before = clock.now() - config.store.keepTurnsForDays * dayMs
        const { signal } = this.#closing
        while (!signal.aborted && (await ledger.forgetTurns(before, turnsLookedAt, signal)) > 0);
      }),
      this.#once(cleanUpEveryMs, 'clean up images', () => services.images.cleanUp()),
      this.#once(verifyEveryMs, 'verify the ledger', async () =>
        observe.ledgerChecked((await ledger.verify(this.#closing.signal)).mismatches.length),
      ),
    )
  }

  /** Stops, and waits for what is under way. */
  async close(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer)
    this.#closing.abort()
    await Promise.all(this.#running)
    await this.#services.credentials.flushUses().catch(() => undefined)
  }

  /** One of the nodes that share a database does it for all. */
  #once(ms: number, name: string, chore: () => Promise<void>): NodeJS.Timeout {
    const { cluster } = this.#services.store
    return this.#every(ms, name, async () => {
      if (cluster === null || (await cluster.isMine(name, ms))) await chore()
    })
  }

  #every(ms: number, name: string, chore: () => Promise<void>): NodeJS.Timeout {
    let busy = false
    return setInterval(() => {
      if (busy) return
      busy = true
      const run = chore()
        .catch((error: unknown) => {
          if (error !== this.#closing.signal.reason)
            this.#services.log.error({ chore: name, err: error }, 'a chore failed; it will be tried again')
        })
        .finally(() => {
          busy = false
          this.#running.delete(run)
        })
      this.#running.add(run)
    }, ms).unref()
  }
}
