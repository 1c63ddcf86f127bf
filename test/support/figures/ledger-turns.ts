/** The ended turns of a database, read from its rows and added up here: apart from all code that writes or shows figures. */
import { openForReading } from '../../../src/store/sqlite/connection/connection.ts'

export interface LedgerTurn {
  readonly id: number
  readonly request: string
  readonly account: string
  readonly key: string
  readonly product: string
  readonly target: string
  readonly ending: string
  readonly state: 'settled' | 'refunded' | 'expired'
  readonly credits: number
  readonly input: number
  readonly cached: number
  readonly output: number
  readonly cost: number
  readonly started: number
  readonly ended: number
  readonly firstToken: number | null
  /** Grows with each start of the server. */
  readonly process: number
}

export interface TurnFilter {
  readonly member?: string
  readonly key?: string
  readonly product?: string
  readonly target?: string
  readonly ending?: string
  readonly failed?: boolean
  readonly from?: number
  readonly to?: number
}

/** Newest first. */
export function readLedgerTurns(file: string): readonly LedgerTurn[] {
  const db = openForReading(file, 15_000)
  try {
    return db
      .prepare<[], LedgerTurn>(
        `select id, request_id as request, account, credential as key, model as product, coalesce(target, '') as target, state, credits,
          coalesce(code, case state when 'settled' then 'completed' else state end) as ending, input_tokens as input,
          cached_input_tokens as cached, output_tokens as output, coalesce(upstream_cost_nanodollars, 0) as cost, started_at as started,
          ended_at as ended, first_token_ms as firstToken, owner_process as process
        from turn where state <> 'held' order by started_at desc, id desc`,
      )
      .all()
  } finally {
    db.close()
  }
}

export function countHeldTurns(file: string): number {
  const db = openForReading(file, 15_000)
  try {
    return Number(db.prepare(`select count(*) from turn where state = 'held'`).pluck().get())
  } finally {
    db.close()
  }
}

export function filterTurns(turns: readonly LedgerTurn[], filter: TurnFilter): readonly LedgerTurn[] {
  const { member, key, product, target, ending, failed = false, from = 0, to = Number.POSITIVE_INFINITY } = filter
  return turns.filter(
    (turn) =>
      (member ?? turn.account) === turn.account &&
      (key ?? turn.key) === turn.key &&
      (product ?? turn.product) === turn.product &&
      (target ?? turn.target) === turn.target &&
      (ending ?? turn.ending) === turn.ending &&
      (!failed || turn.state !== 'settled') &&
      turn.started >= from &&
      turn.started < to,
  )
}

/** As the operator API names it. */
export function sumTurns(turns: readonly LedgerTurn[]) {
  const sum = (pick: (turn: LedgerTurn) => number): number => turns.reduce((total, turn) => total + pick(turn), 0)
  return {
    turns: turns.length,
    charged: turns.filter(({ state }) => state === 'settled').length,
    failed: turns.filter(({ state }) => state !== 'settled').length,
    credits: sum(({ credits }) => credits),
    input_tokens: sum(({ input }) => input),
    cached_input_tokens: sum(({ cached }) => cached),
    output_tokens: sum(({ output }) => output),
    cost_nanodollars: sum(({ cost }) => cost),
    endings: countBy(turns, ({ ending }) => ending),
  }
}

export function countBy<Item>(items: readonly Item[], pick: (item: Item) => string): Readonly<Record<string, number>> {
  return Object.fromEntries([...Map.groupBy(items, pick)].map(([key, group]) => [key, group.length]))
}
