/**
 * The run's own account-keeping: what each turn may have cost, from what the upstream made and the client saw, by the stated rules and
 * without any code of the ledger's; and whether the turn log and the balances say the same.
 */
import { join } from 'node:path'
import { openForReading } from '../../src/store/sqlite/connection.ts'
import type { Connection } from '../../src/store/sqlite/connection.ts'
import type { Call } from './upstream.ts'
import { pools } from './pools.ts'
import type { Plan } from './script.ts'

/** One life of the server. */
export interface Life {
  killedAt: number | null
}

/** How a request ended for its client. `seen`: the whole answer with its end; `broken`: the connection was lost before. */
export type Seen = 'seen' | 'refunded' | 'refused' | 'left' | 'broken'

export interface Try {
  readonly requestId: string
  readonly plan: Plan
  readonly bodyBytes: number
  readonly life: Life
  readonly seen: Seen
  readonly at: number
  readonly status: number | null
}

interface Row {
  readonly request_id: string
  readonly account: string
  readonly pool: 'fast' | 'premium'
  readonly state: 'held' | 'settled' | 'refunded' | 'expired'
  readonly credits: number
  readonly reserved: number
  readonly debt: number
  readonly owner: number
}

export type Fault = 'lost' | 'minted' | 'double' | 'overcharged' | 'undercharged'

export interface Report {
  readonly turns: number
  readonly completed: number
  readonly refused: number
  readonly failed: number
  readonly left: number
  readonly cut: number
  readonly givenBack: number
  readonly faults: Readonly<Record<Fault, number>>
  /** The first few of them. */
  readonly samples: readonly string[]
  /** Tokens that were made for clients when they left, and what they were charged of it. */
  readonly leaving: { readonly turns: number; readonly madeCredits: number; readonly chargedCredits: number }
}

/** Nano-dollars a token and percent off, as the shipped configuration has them. */
const prices = {
  'svc-2.1': { input: 435, output: 870, share: 25 },
  'svc-2.1-fast': { input: 140, output: 280, share: 30 },
} as const

/** What was made this shortly before a client left may still have been on its way. */
const onItsWayMs = 50
/** An ending that was known this long before the server was killed is on the disk, in the ledger or beside it. */
const durableMs = 3_000
/** What leaving early may spare, at most. */
const leastShare = 0.9

export function judge(
  folder: string,
  tries: readonly Try[],
  calls: ReadonlyMap<string, readonly Call[]>,
  granted: readonly number[],
): Report {
  const db = openForReading(join(folder, 'gateway.db'), 10_000)
  try {
    return new Judge(db, tries, calls).report(granted)
  } finally {
    db.close()
  }
}

class Judge {
  readonly #db: Connection
  readonly #tries: readonly Try[]
  readonly #calls: ReadonlyMap<string, readonly Call[]>
  readonly #rows = new Map<string, Row[]>()
  readonly #faults: Record<Fault, number> = { lost: 0, minted: 0, double: 0, overcharged: 0, undercharged: 0 }
  readonly #samples: string[] = []
  readonly #leaving = { turns: 0, madeCredits: 0, chargedCredits: 0 }

  constructor(db: Connection, tries: readonly Try[], calls: ReadonlyMap<string, readonly Call[]>) {
    this.#db = db
    this.#tries = tries
    this.#calls = calls
    const rows = db.prepare<[], Row>('select request_id, account, pool, state, credits, reserved, debt, owner from turn')
    for (const row of rows.iterate()) {
      const same = this.#rows.get(row.request_id)
      if (same === undefined) this.#rows.set(row.request_id, [row])
      else same.push(row)
    }
  }

  report(granted: readonly number[]): Report {
    const counts = { completed: 0, refused: 0, failed: 0, left: 0, cut: 0, givenBack: 0 }
    let turns = 0
    const chargedTo = new Map<number, number>()
    const known = new Set<string>()
    for (const each of this.#tries) {
      const rows = this.#rows.get(each.requestId) ?? []
      known.add(each.requestId)
      if (rows.length > 0 || this.#calls.has(each.requestId)) turns++
      if (rows.some(({ state }) => state === 'expired')) counts.givenBack++
      counts[({ seen: 'completed', refunded: 'failed', broken: 'cut', refused: 'refused', left: 'left' } as const)[each.seen]]++
      this.#judge(each, rows)
      const charged = rows.filter(({ state }) => state === 'settled').length
      chargedTo.set(each.plan.number, (chargedTo.get(each.plan.number) ?? 0) + charged)
    }
    // All tries of one turn have the same key, and so one charge between them.
    for (const [number, charged] of chargedTo) if (charged > 1) this.#fault('double', `turn ${number}: charged ${charged} times`)
    for (const [id, rows] of this.#rows) if (!known.has(id)) this.#fault('overcharged', `${id}: nobody has asked`, rows)
    this.#judgeBalances(granted)
    return { turns, ...counts, faults: this.#faults, samples: this.#samples, leaving: this.#leaving }
  }

  #judge(each: Try, rows: readonly Row[]): void {
    const { plan, seen, life } = each
    const { script } = plan
    const calls = this.#calls.get(each.requestId) ?? []
    const call = calls.at(-1)
    const row = rows[0]
    const say = (fault: Fault, why: string): void =>
      this.#fault(
        fault,
        `${why}: ${JSON.stringify({ ...each, calls: calls.map(({ made, ended, endedAt }) => ({ made: made.length, ended, endedAt })) })}`,
        rows,
      )
    if (rows.length > 1) return say('double', 'more than one hold')
    if (row === undefined) {
      if (calls.length > 0) say('lost', 'the upstream was asked without a hold')
      else if (seen === 'seen') say('lost', 'an answer without a turn')
      return
    }
    if (row.state === 'held') return say('minted', 'still held at the end')
    if (row.debt > 0) say('overcharged', 'more than was held and left')
    const likelyInput = Math.ceil(each.bodyBytes / 3)
    const isReported = script.usage === 'right' || script.usage === 'in_choice'
    const exact = priceOf(plan, isReported ? script.inputTokens : likelyInput, call?.tokens ?? script.tokens)
    const charged = row.state === 'settled'
    const { credits } = row
    if (!charged && credits !== 0) say('overcharged', 'charged and given back')
    switch (seen) {
      case 'seen':
        if (!charged) say('lost', 'an answer that was seen is not charged')
        else if (credits !== exact) say(credits > exact ? 'overcharged' : 'undercharged', `${exact} credits are right`)
        return
      case 'refunded':
        if (charged) say('overcharged', 'told refunded and charged')
        return
      case 'refused':
        if (charged) say('overcharged', 'refused and charged')
        return
      case 'broken':
      case 'left':
    }
    // The client has not seen the end. What may be charged lies between what was made for it and the whole answer.
    const knownAt = Math.max(each.at, call?.endedAt ?? 0)
    if (row.state === 'expired') {
      if (life.killedAt === null) say('lost', 'given back though its server was not killed')
      else if (
        seen === 'left' &&
        call !== undefined &&
        call.ended !== 'failed' &&
        call.ended !== null &&
        life.killedAt - knownAt > durableMs
      )
        say('lost', 'its ending was known long before the kill')
      return
    }
    if (row.state === 'refunded') {
      const isFair = call === undefined || call.ended === 'failed' || (seen === 'broken' && call.ended === 'abandoned')
      if (!isFair) say('lost', 'given back though the upstream did not fail')
      return
    }
    const most = priceOf(plan, Math.max(likelyInput, script.inputTokens), script.tokens)
    if (credits > most || credits > row.reserved) say('overcharged', `${most} credits at most are right`)
    if (call === undefined) return credits > 0 ? say('overcharged', 'the upstream was not asked') : undefined
    if (seen === 'broken' && call.ended === 'complete' && credits !== exact) {
      // A server that is killed, or a connection lost, after the answer was settled; or a client's end seen before the answer's.
      if (life.killedAt === null) return say(credits > exact ? 'overcharged' : 'undercharged', `${exact} credits are right`)
    }
    const input = Math.min(likelyInput, script.inputTokens)
    const least = priceOf(plan, input, call.made.filter((at) => at <= each.at - onItsWayMs).length) * leastShare
    if (seen === 'left') {
      this.#leaving.turns++
      this.#leaving.madeCredits += priceOf(plan, input, call.made.filter((at) => at <= each.at).length)
      this.#leaving.chargedCredits += credits
    }
    if (credits < Math.floor(least)) say('undercharged', `${least} credits at least are right`)
  }

  /** What was granted, and what was taken from it, by what the turns say. */
  #judgeBalances(granted: readonly number[]): void {
    const plans = new Map(
      this.#db
        .prepare<[], { id: string; plan: 'max' | 'free' }>('select id, plan from account')
        .all()
        .map(({ id, plan }) => [id, plan]),
    )
    const spent = new Map<string, number>()
    for (const rows of this.#rows.values())
      for (const { account, pool, credits } of rows)
        spent.set(`${account} ${pool}`, (spent.get(`${account} ${pool}`) ?? 0) + credits)
    const packs = this.#db
      .prepare<[], { account: string; pool: string; granted: number; settled: number }>('select * from pack')
      .all()
    const buckets = this.#buckets()
    const taken = new Map<string, number>()
    for (const { account, pool, settled } of [...packs, ...buckets.filter(({ window }) => window === 'day')])
      taken.set(`${account} ${pool}`, (taken.get(`${account} ${pool}`) ?? 0) + settled)
    for (const [purse, credits] of spent) {
      const left = credits - (taken.get(purse) ?? 0)
      if (left !== 0)
        this.#fault(left > 0 ? 'minted' : 'overcharged', `${purse}: turns say ${credits}, balances ${taken.get(purse)}`)
    }
    for (const bucket of buckets) {
      const right = pools[plans.get(bucket.account) ?? 'max'][bucket.window]
      if (bucket.granted !== right || bucket.debt !== 0 || bucket.reserved !== 0 || bucket.settled > right)
        this.#fault('minted', `${JSON.stringify(bucket)}: ${right} are right`)
    }
    const openings = new Set(buckets.map(({ account, pool, window, starts_at: at }) => `${account} ${pool} ${window} ${at}`))
    if (openings.size !== buckets.length) this.#fault('minted', 'a period was opened twice')
    const given = packs.map((pack) => pack.granted).toSorted((a, b) => a - b)
    if (JSON.stringify(given) !== JSON.stringify(granted.toSorted((a, b) => a - b)))
      this.#fault('minted', `packs ${given.join()} where ${granted.join()} were granted`)
  }

  /** The last server has stopped, and so written every purse as it was. */
  #buckets(): Bucket[] {
    const past = this.#db.prepare<[], Bucket>('select * from bucket').all()
    const purses = this.#db.prepare<[], Record<string, number>>('select * from written_purse').all()
    const open = purses.flatMap((purse) =>
      (['fast', 'premium'] as const).flatMap((pool) =>
        (['day', 'week', 'month'] as const).map((window): Bucket => {
          const of = (field: string): number => purse[`${pool}_${window}_${field}`] ?? 0
          const [id, starts, ends] = [of('id'), of('starts_at'), of('ends_at')]
          const [amount, reserved, settled, debt] = [of('granted'), of('reserved'), of('settled'), of('debt')]
          return {
            account: String(purse['account']),
            pool,
            window,
            id,
            starts_at: starts,
            ends_at: ends,
            granted: amount,
            reserved,
            settled,
            debt,
          }
        }),
      ),
    )
    return [...past, ...open.filter(({ id }) => id !== 0)]
  }

  #fault(fault: Fault, why: string, rows?: readonly Row[]): void {
    this.#faults[fault]++
    if (this.#samples.length < 40) this.#samples.push(`${fault}: ${why}${rows === undefined ? '' : ` ${JSON.stringify(rows)}`}`)
  }
}

interface Bucket {
  readonly account: string
  readonly pool: 'fast' | 'premium'
  readonly window: 'day' | 'week' | 'month'
  readonly id: number
  readonly starts_at: number
  readonly ends_at: number
  readonly granted: number
  readonly reserved: number
  readonly settled: number
  readonly debt: number
}

function priceOf({ model }: Plan, input: number, output: number): number {
  const price = prices[model]
  return Math.ceil(((input * price.input + output * price.output) * price.share) / 100_000)
}
