/** What operators see of turns, and the job that keeps the data for it. */
import { invalidRequest, GatewayError } from '../../../errors.ts'
import { mergeDays } from '../../billing/report.ts'
import type { ReportRow } from '../../billing/report.ts'
import type { Calendar } from '../../billing/period.ts'
import type { Store } from '../../store.ts'
import type { Clock } from '../../../system/clock.ts'
import { createHistorySlots } from '../../turn-history/history-slots.ts'
import type { HistorySlots } from '../../turn-history/history-slots.ts'
import type {
  AccountCountQuery,
  FailureGroup,
  FailureQuery,
  HistoryProgress,
  MoneyQuery,
  OldestHold,
  StatementPage,
  TurnFilter,
  TurnHistory,
  TurnPage,
  TurnPosition,
  TurnStory,
  UsageChart,
  UsageQuery,
} from '../../turn-history/turn-history.ts'
import { chargedEndings, maxFailureSpanMs, maxHourlySpanMs, maxUsageSteps } from '../../turn-history/turn-history.ts'

interface TurnHistoryDeps {
  readonly store: Pick<Store, 'turnHistory' | 'apiKeys'>
  /** Of its own, in the operator's time zone. */
  readonly historyCalendar: Calendar
  readonly clock: { now(): number }
}

interface Pacing {
  readonly clock: Pick<Clock, 'monotonicMs' | 'wait'>
  readonly signal: AbortSignal
}

/** After each batch the job rests so many times as long, so that turns that run lose at most 4 % of a thread to it: it lags behind instead. */
const restFactor = 24
/** Turns of one transaction, which every other write of SQLite waits for. */
const turnsPerBatch = 200
const dayMs = 86_400_000
const hourMs = 3_600_000
const maxFailureGroups = 200
const maxTurnsOfRequest = 50

export class TurnHistoryService implements TurnHistory {
  readonly #deps: TurnHistoryDeps
  readonly #slots: HistorySlots

  constructor(deps: TurnHistoryDeps) {
    this.#deps = deps
    this.#slots = createHistorySlots(deps.historyCalendar)
  }

  /**
   * Adds all turns that have ended to lists and sums, and deletes what the ledger no longer keeps. Lists begin with a whole day, so that each of
   * their turns is still in the ledger.
   */
  async collect(keepTurnsForDays: number, pacing: Pacing): Promise<void> {
    const { store, clock } = this.#deps
    const keptFrom = this.#slots.toNextDay(clock.now() - keepTurnsForDays * dayMs)
    await this.#repeat(async () => (await this.#collectBatch(keptFrom)).isMore, pacing)
    await this.#repeat(async () => (await store.turnHistory.prune(turnsPerBatch)) > 0, pacing)
  }

  async #repeat(work: () => Promise<boolean>, { clock, signal }: Pacing): Promise<void> {
    while (!signal.aborted) {
      const beganMs = clock.monotonicMs()
      if (!(await work())) return
      await clock.wait((clock.monotonicMs() - beganMs) * restFactor, signal).catch(() => undefined)
    }
  }

  async readProgress(): Promise<HistoryProgress> {
    const { store, clock } = this.#deps
    const { completeAt, isPending } = await store.turnHistory.readProgress()
    return { behindMs: !isPending ? 0 : completeAt === null ? null : Math.max(0, clock.now() - completeAt) }
  }

  async listTurns(filter: TurnFilter, page: { readonly after?: TurnPosition; readonly limit: number }): Promise<TurnPage> {
    const { store } = this.#deps
    const turnsWithNext = await store.turnHistory.listTurns(await this.#withAccount(filter), { ...page, limit: page.limit + 1 })
    const turns = turnsWithNext.slice(0, page.limit)
    const last = turns.at(-1)
    const next = turnsWithNext.length > page.limit && last !== undefined ? { startedAt: last.startedAt, id: last.id } : null
    return { turns, next }
  }

  async findTurn(id: number): Promise<TurnStory | undefined> {
    const { store } = this.#deps
    const story = await store.turnHistory.findTurn(id)
    if (story === undefined) return undefined
    const { turn } = story
    // A client may use an id of a request again, so only those of the account and of its hour belong together.
    const ofRequest = await store.turnHistory.listTurns(
      { requestId: turn.requestId, account: turn.account, from: turn.startedAt - hourMs, to: turn.startedAt + hourMs },
      { limit: maxTurnsOfRequest },
    )
    const ending = turn.code ?? (turn.state === 'settled' ? 'completed' : turn.state)
    return {
      ...story,
      ending,
      isCharged: chargedEndings.includes(ending),
      ofSameRequest: ofRequest.filter((other) => other.id !== id).toReversed(),
    }
  }

  findOldestHold(): Promise<OldestHold | undefined> {
    return this.#deps.store.turnHistory.findOldestHold()
  }

  async listFailures(query: FailureQuery): Promise<readonly FailureGroup[]> {
    assertSpan(query, maxFailureSpanMs)
    return this.#deps.store.turnHistory.listFailures(query, maxFailureGroups)
  }

  hasAccounts(query: AccountCountQuery): Promise<boolean> {
    return this.#deps.store.turnHistory.hasAccounts(query)
  }

  async readUsage(query: UsageQuery): Promise<UsageChart> {
    assertSpan(query, query.step === 'hour' ? maxHourlySpanMs : maxUsageSteps * dayMs)
    const queryWithAccount = await this.#withAccount(query)
    if (query.by === 'credential' && queryWithAccount.account === undefined) throw createMissingAccountError()
    return this.#deps.store.turnHistory.readUsage(queryWithAccount, { bounds: this.#listBounds(query) })
  }

  async readMoney(query: MoneyQuery): Promise<readonly ReportRow[]> {
    const { store, historyCalendar } = this.#deps
    assertSpan(query, maxUsageSteps * dayMs)
    const rows: ReportRow[] = []
    for await (const row of mergeDays(await store.turnHistory.readMoney(query), historyCalendar)) rows.push(row)
    return query.by.includes('day') ? rows : rows.toSorted((one, other) => Number(other.sums.credits - one.sums.credits))
  }

  async readStatement(account: string, page: { readonly before?: number; readonly limit: number }): Promise<StatementPage> {
    const statement = await this.#deps.store.turnHistory.readStatement(account, page)
    if (statement === null) throw new GatewayError('temporarily_unavailable')
    return statement
  }

  #collectBatch(keptFrom: number) {
    const { store, clock } = this.#deps
    return store.turnHistory.collect({ at: clock.now(), keptFrom, slots: this.#slots, limit: turnsPerBatch })
  }

  /** Where hours or days begin, from the one that `from` is in to the end of the last one before `to`. */
  #listBounds({ from, to, step }: UsageQuery): readonly number[] {
    const bounds: number[] = []
    let at = step === 'hour' ? this.#slots.toHour(from) : this.#slots.toDay(from)
    while (at < to) {
      bounds.push(at)
      const dayEnd = this.#slots.toNextDay(at)
      at = step === 'hour' ? Math.min(at + hourMs, dayEnd) : dayEnd
    }
    return [...bounds, at]
  }

  /** An API key belongs to one account, by which its turns are found. */
  async #withAccount<Filter extends Pick<TurnFilter, 'account' | 'credential'>>(filter: Filter): Promise<Filter> {
    const { account, credential } = filter
    if (credential === undefined || account !== undefined) return filter
    const key = await this.#deps.store.apiKeys.find(credential)
    if (key === undefined) throw createMissingAccountError()
    return { ...filter, account: key.account }
  }
}

function assertSpan({ from, to }: { readonly from: number; readonly to: number }, maxMs: number): void {
  if (from >= to) throw invalidRequest({ en: "'from' must be before 'to'.", zh: "'from' 必须早于 'to'。" }, 'from')
  if (to - from > maxMs) {
    const days = Math.floor(maxMs / dayMs)
    throw invalidRequest({ en: `the span has at most ${days} days.`, zh: `时间范围最多 ${days} 天。` }, 'to')
  }
}

function createMissingAccountError(): GatewayError {
  return invalidRequest(
    {
      en: "'key' needs 'member', unless it is the id of an API key.",
      zh: "'key' 不是 API 密钥的 id 时，需要同时提供 'member'。",
    },
    'key',
  )
}
