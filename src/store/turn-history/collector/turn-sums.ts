/** Adds ended turns to the sums by hour and day: those of their account and key by hour, and those of all accounts by hour and day. */
import { LatencyHistogram } from '../../../domain/turn-history/latency-histogram.ts'
import type { HistorySlots } from '../../../domain/turn-history/history-slots.ts'
import type { TurnSumTable } from '../../schema/history-schema.ts'
import type { CollectedTurn } from './ended-turn.ts'

export const sumKeyColumns = { account: 'text', span: 'text', starts_at: 'whole', group_id: 'whole', credential: 'text' } as const

export const sumColumns = {
  ...sumKeyColumns,
  turns: 'whole',
  credits: 'whole',
  input_tokens: 'whole',
  cached_input_tokens: 'whole',
  output_tokens: 'whole',
  cost_nanodollars: 'whole',
  duration: 'text',
  first_token: 'text',
} as const

export type SumKey = readonly [account: string, span: 'hour' | 'day', startsAt: number, group: number, credential: string]

/** A row of sums as both databases return it. */
export type SumRow = { readonly [Name in keyof typeof sumColumns]: TurnSumTable[Name] extends string ? string : number }

export class TurnSums {
  readonly #sums = new Map<string, TurnSum>()

  /** @param ofAllPlans the group without the plan: charts of all accounts would read as many rows for each plan */
  add(
    turn: CollectedTurn,
    { group, ofAllPlans }: { readonly group: number; readonly ofAllPlans: number },
    slots: HistorySlots,
  ): void {
    const hour = slots.toHour(turn.started_at)
    this.#get([turn.account, 'hour', hour, group, turn.credential]).add(turn)
    this.#get(['', 'hour', hour, ofAllPlans, '']).add(turn)
    this.#get(['', 'day', slots.toDay(turn.started_at), ofAllPlans, '']).add(turn)
  }

  /** Adds what is stored. */
  addStored(rows: readonly SumRow[]): void {
    for (const row of rows)
      this.#get([row.account, row.span as 'hour' | 'day', row.starts_at, row.group_id, row.credential]).addStored(row)
  }

  listKeys(): readonly SumKey[] {
    return [...this.#sums.values()].map(({ key }) => key)
  }

  /** In the order of `sumColumns`, and of the primary key, so that statements of several nodes cannot block each other. */
  toRows() {
    return [...this.#sums.keys()].toSorted().map((key) => this.#sums.get(key)?.toRow() ?? [])
  }

  #get(key: SumKey): TurnSum {
    const name = key.join(' ')
    const existingSum = this.#sums.get(name)
    if (existingSum !== undefined) return existingSum
    const sum = new TurnSum(key)
    this.#sums.set(name, sum)
    return sum
  }
}

class TurnSum {
  readonly key: SumKey
  #turns = 0
  #credits = 0
  #inputTokens = 0
  #cachedInputTokens = 0
  #outputTokens = 0
  #cost = 0
  readonly #duration = new LatencyHistogram()
  readonly #firstToken = new LatencyHistogram()

  constructor(key: SumKey) {
    this.key = key
  }

  add(turn: CollectedTurn): void {
    this.#turns += 1
    this.#credits += turn.credits
    this.#inputTokens += turn.input_tokens
    this.#cachedInputTokens += turn.cached_input_tokens
    this.#outputTokens += turn.output_tokens
    this.#cost += turn.upstream_cost_nanodollars ?? 0
    // An expired turn ended when it was found, and not when it stopped.
    if (turn.ended_at !== null && turn.state !== 'expired') this.#duration.observe(turn.ended_at - turn.started_at)
    if (turn.first_token_ms !== null) this.#firstToken.observe(turn.first_token_ms)
  }

  addStored(row: SumRow): void {
    this.#turns += row.turns
    this.#credits += row.credits
    this.#inputTokens += row.input_tokens
    this.#cachedInputTokens += row.cached_input_tokens
    this.#outputTokens += row.output_tokens
    this.#cost += row.cost_nanodollars
    this.#duration.addText(row.duration)
    this.#firstToken.addText(row.first_token)
  }

  toRow(): readonly (string | number)[] {
    return [
      ...this.key,
      this.#turns,
      this.#credits,
      this.#inputTokens,
      this.#cachedInputTokens,
      this.#outputTokens,
      this.#cost,
      this.#duration.toText(),
      this.#firstToken.toText(),
    ]
  }
}
