/**
 * Independent accounting of the run: the charge allowed for each turn, from what the upstream produced and the client received, by the
 * documented rules and without the ledger's code; compared with the turn log and the balances.
 */
import { join } from 'node:path'
import { openForReading } from '../../src/store/sqlite/connection/connection.ts'
import type { Connection } from '../../src/store/sqlite/connection/connection.ts'
import type { DishonestReading } from './dishonest-reading.ts'
import type { ServerStalls } from './server-stalls.ts'
import type { Call, CallStep } from './upstream.ts'
import { createStepScript } from './upstream.ts'
import { pools } from './pools.ts'
import { cachedPrices } from './prices.ts'
import { tokenText } from './wire-formats.ts'
import { toolName } from './turn-plan.ts'
import type { Script, TurnPlan } from './turn-plan.ts'

/** One life of the server. */
export interface ServerLife {
  killedAt: number | null
}

/** How a request ended for its client. `seen`: the complete answer; `broken`: the connection was lost before its end. */
export type ClientOutcome = 'seen' | 'refunded' | 'refused' | 'left' | 'broken'

export interface Attempt {
  readonly requestId: string
  readonly plan: TurnPlan
  /** Tokens that the gateway assumes for the prompt before it has reports. */
  readonly promptTokens: number
  readonly life: ServerLife
  readonly outcome: ClientOutcome
  readonly at: number
  readonly status: number | null
  /** Events with output that a dishonest member received. */
  readonly receivedEvents: number
  /** The client was told a code that promises a refund. */
  readonly namesUpstream: boolean
}

interface Row {
  readonly request_id: string
  readonly account: string
  readonly model: string
  readonly pool: 'fast' | 'premium'
  readonly state: 'held' | 'settled' | 'refunded' | 'expired'
  readonly credits: number
  readonly reserved: number
  readonly debt: number
  readonly owner: number
}

export type LedgerFault = 'lost' | 'minted' | 'double' | 'overcharged' | 'undercharged' | 'above hold' | 'delivered, not charged'

export interface Report {
  readonly turns: number
  readonly completed: number
  readonly refused: number
  readonly failed: number
  readonly left: number
  readonly cut: number
  readonly expired: number
  readonly faults: Readonly<Record<LedgerFault, number>>
  /** The first few violations. */
  readonly samples: readonly string[]
  /** Turns of dishonest members, the events that they received, and how often the upstream could not write for too long. */
  readonly dishonest: {
    readonly turns: number
    readonly receivedEvents: number
    readonly upstreamGaveUp: number
    /** How often that was while the server did not run, so that neither side can be named as the slow one. */
    readonly serverStalled: number
    readonly refunded: number
  }
  /** Tokens produced for clients before they left, and the tokens charged of them. */
  readonly disconnects: { readonly turns: number; readonly producedCredits: number; readonly chargedCredits: number }
}

/** Nano-dollars per token and percent of discount, as in the shipped configuration. */
const prices = {
  'svc-2.1': { input: 435, cachedInput: cachedPrices.flagship * 1000, output: 870, share: 25 },
  'svc-2.1-search': { input: 435, cachedInput: cachedPrices.flagship * 1000, output: 870, share: 25 },
  'svc-2.1-fast': { input: 140, cachedInput: cachedPrices.light * 1000, output: 280, share: 30 },
} as const

/** Tokens produced this shortly before a client left may still have been in flight. */
const inFlightMs = 50
/** A settlement that was known this long before a kill is on the disk, in the ledger or beside it. */
const durableMs = 3_000
/** More than the results of a search add to the estimate of a prompt. */
const searchResultTokens = 1_000
/** The most that a client can save by leaving early. */
const minShare = 0.9

export function checkAccounting(
  folder: string,
  attempts: readonly Attempt[],
  calls: ReadonlyMap<string, readonly Call[]>,
  granted: readonly number[],
  stalls: ServerStalls,
): Report {
  const db = openForReading(join(folder, 'gateway.db'), 10_000)
  try {
    return new AccountingCheck(db, attempts, calls, stalls).report(granted)
  } finally {
    db.close()
  }
}

class AccountingCheck {
  readonly #db: Connection
  readonly #attempts: readonly Attempt[]
  readonly #calls: ReadonlyMap<string, readonly Call[]>
  readonly #stalls: ServerStalls
  readonly #rows = new Map<string, Row[]>()
  readonly #faults: Record<LedgerFault, number> = {
    lost: 0,
    minted: 0,
    double: 0,
    overcharged: 0,
    undercharged: 0,
    'above hold': 0,
    'delivered, not charged': 0,
  }
  readonly #samples: string[] = []
  readonly #dishonest = { turns: 0, receivedEvents: 0, upstreamGaveUp: 0, serverStalled: 0, refunded: 0 }
  readonly #disconnects = { turns: 0, producedCredits: 0, chargedCredits: 0 }

  constructor(db: Connection, attempts: readonly Attempt[], calls: ReadonlyMap<string, readonly Call[]>, stalls: ServerStalls) {
    this.#stalls = stalls
    this.#db = db
    this.#attempts = attempts
    this.#calls = calls
    const rows = db.prepare<[], Row>(
      'select request_id, account, model, pool, state, credits, reserved, debt, owner_process as owner from turn order by id',
    )
    for (const row of rows.iterate()) {
      const same = this.#rows.get(row.request_id)
      if (same === undefined) this.#rows.set(row.request_id, [row])
      else same.push(row)
    }
  }

  report(granted: readonly number[]): Report {
    const counts = { completed: 0, refused: 0, failed: 0, left: 0, cut: 0, expired: 0 }
    let turns = 0
    const chargedTo = new Map<number, number>()
    const known = new Set<string>()
    for (const each of this.#attempts) {
      const rows = this.#rows.get(each.requestId) ?? []
      known.add(each.requestId)
      if (rows.length > 0 || this.#calls.has(each.requestId)) turns++
      if (rows.some(({ state }) => state === 'expired')) counts.expired++
      counts[
        ({ seen: 'completed', refunded: 'failed', broken: 'cut', refused: 'refused', left: 'left' } as const)[each.outcome]
      ]++
      this.#checkAttempt(each, rows)
      // The calls after a search have holds of their own; the key of a turn belongs to its first.
      const charged = rows[0]?.state === 'settled' ? 1 : 0
      chargedTo.set(each.plan.number, (chargedTo.get(each.plan.number) ?? 0) + charged)
    }
    // All attempts of one turn share a key, and so one charge.
    for (const [number, charged] of chargedTo)
      if (charged > 1) this.#recordFault('double', `turn ${number}: charged ${charged} times`)
    for (const [id, rows] of this.#rows) {
      if (!known.has(id)) this.#recordFault('overcharged', `${id}: no client sent it`, rows)
      if (rows.some(({ credits, reserved }) => credits > reserved))
        this.#recordFault('above hold', `${id}: charged more than its hold`, rows)
    }
    this.#checkBalances(granted)
    return {
      turns,
      ...counts,
      faults: this.#faults,
      samples: this.#samples,
      disconnects: this.#disconnects,
      dishonest: this.#dishonest,
    }
  }

  /** Each step of a turn has one hold. */
  #checkAttempt(each: Attempt, rows: readonly Row[]): void {
    const { plan } = each
    const calls = this.#calls.get(each.requestId) ?? []
    const say = (fault: LedgerFault, why: string): void =>
      this.#recordFault(
        fault,
        `${why}: ${JSON.stringify({ ...each, calls: calls.map(({ tokenTimes, ...call }) => ({ ...call, made: tokenTimes.length })) })}`,
        rows,
      )
    const steps = findSteps(plan, rows)
    if (steps === null) return say('double', 'more holds than calls, or of other models')
    if (calls.some(({ step }) => !steps.includes(step))) return say('lost', 'the upstream was asked without a hold')
    if (each.outcome === 'seen' && !steps.includes('answer')) return say('lost', 'an answer without a turn')
    for (const [index, row] of rows.entries()) {
      const step = steps[index] ?? 'answer'
      const call = calls.findLast((other) => other.step === step)
      const outcome = findStepOutcome(each, step, index < rows.length - 1, call)
      this.#checkStep({ ...each, outcome }, step, row, call, say)
    }
  }

  #checkStep(
    each: Attempt,
    step: CallStep,
    row: Row,
    call: Call | undefined,
    say: (fault: LedgerFault, why: string) => void,
  ): void {
    const { plan, outcome, life } = each
    const script = createStepScript(plan, step)
    const { model } = row
    const followsSearch = plan.search !== null && step === 'answer'
    if (row.state === 'held') return say('minted', 'still held at the end')
    if (row.debt > 0) say('overcharged', 'more than was held and left')
    if (each.namesUpstream && row.state === 'settled' && step === 'answer')
      say('overcharged', 'charged, and told a code of the upstream')
    if (plan.dishonest !== null) return this.#checkDishonest(each, row, call, say)
    // The estimate of a prompt is corrected by what the upstream reported for others, between a half and two.
    const lowEstimate = step === 'search' ? 0 : Math.floor(each.promptTokens / 2)
    const highEstimate = each.promptTokens * 2 + (followsSearch ? searchResultTokens : 0)
    const isReported = isUsageReported(script, call)
    const tokens = call === undefined ? script.tokens : computeChargedTokens(script, call)
    // Hidden reasoning is output up to the cap; above it a hold that is large enough may be used.
    const reasoning = isReported ? script.reasoningTokens : 0
    const priceOf = (estimate: number, output: number): number =>
      Math.min(row.reserved, isReported ? computeReportedPrice(model, script, output) : computePrice(model, estimate, 0, output))
    const leastOutput = Math.min(tokens + reasoning, Math.max(tokens, call?.cap ?? 0))
    const [leastReported, most] = [priceOf(lowEstimate, leastOutput), priceOf(highEstimate, tokens + reasoning)]
    const least =
      script.hasLargeReport && isReported ? Math.min(leastReported, computeHeldPrice(row, plan, tokens)) : leastReported
    const checkWhole = (): void => {
      if (credits > most) say('overcharged', `${most} credits at most are right`)
      if (credits < least) say('undercharged', `${least} credits at least are right`)
    }
    const charged = row.state === 'settled'
    const { credits } = row
    if (!charged && credits !== 0) say('overcharged', 'charged and given back')
    switch (outcome) {
      case 'seen':
        if (!charged) say('lost', 'an answer that was seen is not charged')
        else checkWhole()
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
    // The client did not receive the end. The charge lies between what was produced for it and the whole answer.
    const knownAt = Math.max(each.at, call?.endedAt ?? 0)
    if (row.state === 'expired') {
      if (life.killedAt === null) say('lost', 'given back though its server was not killed')
      else if (
        outcome === 'left' &&
        call !== undefined &&
        call.ended !== 'failed' &&
        call.ended !== null &&
        life.killedAt - knownAt > durableMs
      )
        say('lost', 'its ending was known long before the kill')
      return
    }
    if (row.state === 'refunded') {
      const isFair = call === undefined || call.ended === 'failed' || (outcome === 'broken' && call.ended === 'abandoned')
      if (!isFair) say('lost', 'given back though the upstream did not fail')
      return
    }
    // Without a report the gateway counts the name of a tool as well, once.
    const calledName = script.repeatsToolName ? toolName : script.searchQuery === null ? '' : 'web_search'
    // The first report of an Anthropic upstream has a token of the output already.
    const uncounted = Math.ceil(calledName.length / 4) + (call?.api === 'messages' ? 1 : 0)
    const maxTokens = (script.ignoresCap ? tokens : script.tokens) + uncounted + reasoning
    const maxCredits = computePrice(model, Math.max(highEstimate, script.inputTokens), 0, maxTokens)
    if (credits > maxCredits) say('overcharged', `${maxCredits} credits at most are right`)
    if (call === undefined) return credits > 0 ? say('overcharged', 'the upstream was not asked') : undefined
    if (outcome === 'broken' && call.ended === 'complete' && (credits < least || credits > most)) {
      // The server was killed, or the connection lost, after the settlement; or the client's end was seen before the answer's.
      if (life.killedAt === null) return checkWhole()
    }
    // It refused the request while the client left.
    const isRejected = call.ended === 'failed' && call.tokenTimes.length === 0
    const priceAt = (time: number): number => {
      if (isRejected) return 0
      const made = Math.min(call.tokenTimes.filter((at) => at <= time).length, tokens)
      const estimated = computePrice(model, lowEstimate, 0, made)
      return Math.min(row.reserved, estimated, isReported ? computeReportedPrice(model, script, made) : estimated)
    }
    const minCredits = priceAt(each.at - inFlightMs) * minShare
    if (outcome === 'left') {
      this.#disconnects.turns++
      this.#disconnects.producedCredits += priceAt(each.at)
      this.#disconnects.chargedCredits += credits
    }
    if (credits < Math.floor(minCredits)) say('undercharged', `${minCredits} credits at least are right`)
  }

  /** Whatever the member does, it pays for what it received, but for one event. */
  #checkDishonest(each: Attempt, row: Row, call: Call | undefined, say: (fault: LedgerFault, why: string) => void): void {
    const { plan, life, receivedEvents, promptTokens } = each
    const { script } = plan
    const { state, credits, model, reserved } = row
    this.#dishonest.turns++
    this.#dishonest.receivedEvents += receivedEvents
    if (call?.gaveUp === true) this.#dishonest.upstreamGaveUp++
    if (state === 'refunded') this.#dishonest.refunded++
    // The end of this turn is not on the disk.
    if (state === 'expired')
      return life.killedAt === null ? say('lost', 'given back though its server was not killed') : undefined
    const output = Math.max(0, receivedEvents - 1) * script.chunkTokens
    const input = receivedEvents <= 1 ? 0 : Math.min(Math.floor(promptTokens / 2), script.inputTokens)
    const least = receivedEvents <= 1 ? 0 : Math.min(reserved, computePrice(model, input, input, output))
    const isUnclear = call?.gaveUp === true && this.#hasServerStalled(call, plan.dishonest)
    if (isUnclear) this.#dishonest.serverStalled++
    if (credits < least && !isUnclear && isMemberTheCause(plan, receivedEvents, call))
      say('delivered, not charged', `${least} credits at least are right`)
    // A complete answer reports all its tokens, also where they are no multiple of an event's.
    const written =
      Math.max((call?.tokenTimes.length ?? 0) * script.chunkTokens, call?.ended === 'complete' ? call.tokens : 0) + 1
    const most = computePrice(model, Math.max(promptTokens * 2, script.inputTokens), 0, written)
    if (credits > most) say('overcharged', `${most} credits at most are right`)
    if (state === 'settled' && each.outcome === 'refunded') say('overcharged', 'told refunded and charged')
  }

  /** Whether the server did not run for a good part of the time after which the upstream gave up. */
  #hasServerStalled({ endedAt }: Call, dishonest: DishonestReading | null): boolean {
    const patienceMs = dishonest?.upstreamPatienceMs ?? 0
    return this.#stalls.sum(endedAt - patienceMs, endedAt) >= patienceMs / 3
  }

  /** Grants, and charges against them, according to the turns. */
  #checkBalances(granted: readonly number[]): void {
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
    for (const [balanceKey, credits] of spent) {
      const left = credits - (taken.get(balanceKey) ?? 0)
      if (left !== 0)
        this.#recordFault(
          left > 0 ? 'minted' : 'overcharged',
          `${balanceKey}: turns say ${credits}, balances ${taken.get(balanceKey)}`,
        )
    }
    for (const bucket of buckets) {
      const right = pools[plans.get(bucket.account) ?? 'max'][bucket.window]
      if (bucket.granted !== right || bucket.debt !== 0 || bucket.reserved !== 0 || bucket.settled > right)
        this.#recordFault('minted', `${JSON.stringify(bucket)}: ${right} are right`)
    }
    const openings = new Set(buckets.map(({ account, pool, window, starts_at: at }) => `${account} ${pool} ${window} ${at}`))
    if (openings.size !== buckets.length) this.#recordFault('minted', 'a period was opened twice')
    const given = packs.map((pack) => pack.granted).toSorted((a, b) => a - b)
    if (JSON.stringify(given) !== JSON.stringify(granted.toSorted((a, b) => a - b)))
      this.#recordFault('minted', `packs ${given.join()} where ${granted.join()} were granted`)
  }

  /** The last server has stopped and written every balance. */
  #buckets(): Bucket[] {
    const past = this.#db.prepare<[], Bucket>('select * from bucket').all()
    const balances = this.#db.prepare<[], Record<string, number>>('select * from balance').all()
    const open = balances.flatMap((balance) =>
      (['fast', 'premium'] as const).flatMap((pool) =>
        (['day', 'week', 'month'] as const).map((window): Bucket => {
          const of = (field: string): number => balance[`${pool}_${window}_${field}`] ?? 0
          const [id, starts, ends] = [of('id'), of('starts_at'), of('ends_at')]
          const [amount, reserved, settled, debt] = [of('granted'), of('reserved'), of('settled'), of('debt')]
          return {
            account: String(balance['account']),
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

  #recordFault(fault: LedgerFault, why: string, rows?: readonly Row[]): void {
    this.#faults[fault]++
    if (this.#samples.length < 40) this.#samples.push(`${fault}: ${why}${rows === undefined ? '' : ` ${JSON.stringify(rows)}`}`)
  }
}

/** An upstream also gives up if the machine is too slow for it: then the member has not stopped yet, or for too short a time. */
function isMemberTheCause({ dishonest, script }: TurnPlan, receivedEvents: number, call: Call | undefined): boolean {
  if (dishonest === null || call?.gaveUp !== true || dishonest.upstreamPatienceMs === null) return true
  // It is slow throughout.
  if (dishonest.kind === 'trickles') return true
  const receivedBytes = receivedEvents * script.chunkTokens * tokenText.length
  return dishonest.stopMs >= dishonest.upstreamPatienceMs && receivedBytes >= dishonest.stopAfterBytes
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

/**
 * Output that is charged if the client stays. Of an upstream that ignores the cap: up to the cap without a report; else what it reports, in
 * a stream until it is cut off at more than half as much again and 16 tokens.
 */
function computeChargedTokens(script: Script, { tokens, cap, api }: Call): number {
  if (!script.ignoresCap) return tokens
  if (script.usage === 'missing') return Math.min(tokens, cap)
  // These report the output at their end only: the single token of the first report is disputed by the output.
  if (api !== 'chat' && !script.answersWithDocument) return Math.min(tokens, cap)
  return script.answersWithDocument ? tokens : Math.min(tokens, Math.floor(cap * 1.5 + 16) + 1)
}

/** An upstream that ignores the cap is cut off before the report at the end of its stream. */
function isUsageReported(script: Script, call: Call | undefined): boolean {
  if (call?.api === 'responses' && script.ignoresCap && !script.answersWithDocument) return false
  return script.usage !== 'missing' && script.usage !== 'zero'
}

/** The price of what was reserved for the prompt, which is charged where a report is above it. */
function computeHeldPrice({ model, reserved }: Row, { maxTokens }: TurnPlan, output: number): number {
  if (maxTokens === null) return 0
  const unused = computePrice(model, 0, 0, Math.max(maxTokens, leastCap)) - computePrice(model, 0, 0, output)
  // Each price is rounded up.
  return Math.max(0, reserved - unused - 2)
}

/** Of the Responses API. */
const leastCap = 16

function computeReportedPrice(model: string, { inputTokens, cachedTokens }: Script, output: number): number {
  return computePrice(model, inputTokens, Math.min(cachedTokens ?? 0, inputTokens), output)
}

function computePrice(model: string, input: number, cached: number, output: number): number {
  const price = prices[model as keyof typeof prices]
  const amount = (input - cached) * price.input + cached * price.cachedInput + output * price.output
  return Math.ceil((amount * price.share) / 100_000)
}

/**
 * The step of each hold; null if the holds are none that a turn can have. A search whose hold was refused is missing: the model answers
 * without it.
 */
function findSteps({ search, model }: TurnPlan, rows: readonly Row[]): readonly CallStep[] | null {
  const models = rows.map((row) => row.model).join(' ')
  const possible: readonly (readonly CallStep[])[] =
    search === null
      ? [['answer']]
      : [['request_search'], ['request_search', 'search', 'answer'], ['request_search', 'answer'], ['request_search', 'search']]
  const toModels = (steps: readonly CallStep[]): string =>
    steps.map((step) => (step === 'search' ? 'svc-2.1-search' : model)).join(' ')
  return rows.length === 0 ? [] : (possible.find((steps) => toModels(steps) === models) ?? null)
}

/** What a client's outcome says about one step of its turn. A step with a later one has ended. */
function findStepOutcome({ outcome }: Attempt, step: CallStep, isFollowed: boolean, call: Call | undefined): ClientOutcome {
  if (step === 'answer') return outcome
  const isComplete = call?.ended === 'complete'
  if (isFollowed) return step === 'search' && !isComplete ? 'refunded' : 'seen'
  const isRefused = outcome === 'refused' || outcome === 'refunded'
  return isRefused && isComplete ? 'seen' : outcome
}
