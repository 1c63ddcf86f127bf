/** Turns as operators see them: lists, one turn's story, failures, sums and statements. */
import { Readable } from 'node:stream'
import type { ResponseOf } from '../../../api/endpoint.ts'
import {
  explainTurn,
  exportTurnSearch,
  listFailures,
  searchTurns,
  showMemberStatement,
  showTurnSums,
} from '../../../api/operator/turns.ts'
import { formatCsvLine } from '../../../domain/billing/report-format.ts'
import { listScopes } from '../../../domain/identity/operators/operator-actor.ts'
import { formatInstant } from '../../../domain/instant.ts'
import type { TurnFilter, TurnPosition, TurnSummary, UsageTotals } from '../../../domain/turn-history/turn-history.ts'
import { GatewayError } from '../../../errors.ts'
import type { Services } from '../../../services/services.ts'
import type { ServeOperatorEndpoint } from '../../operator-endpoint.ts'
import { requireAccount } from '../../../services/member-administration.ts'

const dayMs = 86_400_000
const maxExportedTurns = 100_000
const turnsPerExportPage = 500

export function mountTurnHistory(serve: ServeOperatorEndpoint, services: Services): void {
  const { membership, clock } = services
  const { turnHistory } = membership
  const readBehindMs = async (): Promise<number | null> => (await turnHistory.readProgress()).behindMs
  const toSpan = ({ from, to }: Pick<Filters, 'from' | 'to'>) => {
    const end = to === undefined ? clock.now() : Date.parse(to)
    return { from: from === undefined ? end - dayMs : Date.parse(from), to: end }
  }

  serve(searchTurns, async ({ query }) => {
    const after = query.cursor === undefined ? {} : { after: parseCursor(query.cursor) }
    const page = { limit: query.limit, ...after }
    const [behindMs, { turns, next }] = [await readBehindMs(), await turnHistory.listTurns(await toFilter(query, services), page)]
    return {
      object: 'list',
      data: turns.map(toTurn),
      next_cursor: next === null ? null : `${next.startedAt}.${next.id}`,
      behind_ms: behindMs,
    }
  })

  serve(exportTurnSearch, async ({ ctx, query }) => {
    const parts = writeCsv(await toFilter(query, services), services)
    // Before the answer begins, so that it says what is wrong with the filter.
    const first = await parts.next()
    ctx.type = 'text/csv; charset=utf-8'
    ctx.set('content-disposition', 'attachment; filename="turns.csv"')
    ctx.body = Readable.from(continueParts(first, parts))
  })

  serve(explainTurn, async ({ params: { id } }) => {
    const story = /^\d{1,15}$/.test(id) ? await turnHistory.findTurn(Number(id)) : undefined
    if (story === undefined) throw new GatewayError('not_found')
    const { turn, ending, isCharged, held, settled, ofSameRequest } = story
    return {
      ...toTurn({ ...turn, product: turn.model, ending }),
      tier: turn.pool,
      api_format: turn.apiFormat,
      requested_model: turn.requestedModel,
      plan: turn.plan,
      upstream_model: turn.upstreamModel,
      upstream_response_id: turn.upstreamResponseId,
      estimated: turn.estimated,
      is_charged: isCharged,
      reserved: turn.reserved,
      held: [...held],
      settled: [...settled],
      attempts:
        turn.attempts?.map(({ target, startedMs, endedMs, status, failure }) => ({
          target,
          started_ms: startedMs,
          ended_ms: endedMs,
          status,
          failure,
        })) ?? null,
      of_same_request: ofSameRequest.map(toTurn),
    }
  })

  serve(listFailures, async ({ query }) => {
    const { account, product, target } = await toFilter(query, services)
    const groups = await turnHistory.listFailures({
      ...toSpan(query),
      ...(account === undefined ? {} : { account }),
      ...(product === undefined ? {} : { product }),
      ...(target === undefined ? {} : { target }),
    })
    const data = groups.map(({ ending, product: failed, target: called, count, accounts, firstAt, lastAt, example }) => ({
      ending,
      product: failed,
      target: called,
      turns: count,
      members: accounts,
      first_at: formatInstant(firstAt),
      last_at: formatInstant(lastAt),
      example: { id: example.id, request_id: example.requestId },
    }))
    return { object: 'list', data, behind_ms: await readBehindMs() }
  })

  serve(showTurnSums, async ({ actor, query }) => {
    const { step, by } = query
    const { requestId: _, failedOnly: _all, ...filter } = await toFilter(query, services)
    const chart = await turnHistory.readUsage({
      ...filter,
      ...toSpan(query),
      step,
      ...(by === undefined ? {} : { by: by === 'key' ? ('credential' as const) : by }),
    })
    const showsMoney = listScopes(actor).includes('money:read')
    const show = (totals: UsageTotals) => toTotals(totals, showsMoney)
    return {
      bounds: chart.bounds.map((at) => formatInstant(at)),
      total: show(chart.total),
      series: chart.series.map(({ key, total, points }) => ({ key, total: show(total), points: points.map(show) })),
      behind_ms: await readBehindMs(),
    }
  })

  serve(showMemberStatement, async ({ params: { id }, query: { cursor, limit } }) => {
    const { id: account } = await requireAccount(id, services)
    const page = { limit, ...(cursor === undefined ? {} : { before: cursor }) }
    const { lines, next } = await turnHistory.readStatement(account, page)
    const data = lines.map(({ seq, at, kind, pool, credits, turn, pack, reason, product, ending, planLeft, packsLeft }) => ({
      seq,
      at: formatInstant(at),
      kind,
      tier: pool,
      credits,
      turn,
      pack,
      reason,
      product,
      ending,
      plan_left: planLeft,
      packs_left: packsLeft,
    }))
    return { object: 'list', data, next_cursor: next }
  })
}

type Filters = Partial<
  Record<'member' | 'key' | 'product' | 'target' | 'ending' | 'plan' | 'request' | 'from' | 'to', string | undefined>
> & { readonly failed?: boolean | undefined; readonly success?: TurnFilter['success'] | undefined }

async function toFilter(query: Filters, services: Services): Promise<TurnFilter> {
  const { member, key, product, target, ending, plan, failed, success, request, from, to } = query
  return {
    // What is no account has no turns.
    ...(member === undefined ? {} : { account: (await services.store.accounts.find(member))?.id ?? member }),
    ...(key === undefined ? {} : { credential: key }),
    ...(product === undefined ? {} : { product }),
    ...(target === undefined ? {} : { target }),
    ...(ending === undefined ? {} : { ending }),
    ...(plan === undefined ? {} : { plan }),
    ...(failed === true ? { failedOnly: true } : {}),
    ...(success === undefined ? {} : { success }),
    ...(request === undefined ? {} : { requestId: request }),
    ...(from === undefined ? {} : { from: Date.parse(from) }),
    ...(to === undefined ? {} : { to: Date.parse(to) }),
  }
}

function parseCursor(cursor: string): TurnPosition {
  const [startedAt = 0, id = 0] = cursor.split('.').map(Number)
  return { startedAt, id }
}

type ShownTurn = ResponseOf<typeof searchTurns>['data'][number]

function toTurn(turn: Omit<TurnSummary, 'endedAt'> & { readonly endedAt: number | null }): ShownTurn {
  return {
    id: turn.id,
    request_id: turn.requestId,
    member: turn.account,
    key: turn.credential,
    product: turn.product,
    target: turn.target,
    state: turn.state,
    ending: turn.ending,
    credits: turn.credits,
    input_tokens: turn.inputTokens,
    cached_input_tokens: turn.cachedInputTokens,
    output_tokens: turn.outputTokens,
    started_at: formatInstant(turn.startedAt),
    ended_at: formatInstant(turn.endedAt),
    first_token_ms: turn.firstTokenMs,
    upstream_status: turn.upstreamStatus,
  }
}

export function toTotals(totals: UsageTotals, showsMoney: boolean): ResponseOf<typeof showTurnSums>['total'] {
  return {
    turns: totals.turns,
    charged: totals.charged,
    failed: totals.failed,
    credits: totals.credits,
    input_tokens: totals.inputTokens,
    cached_input_tokens: totals.cachedInputTokens,
    output_tokens: totals.outputTokens,
    cost_nanodollars: showsMoney ? totals.costNanodollars : null,
    endings: totals.endings,
    duration: totals.duration,
    first_token: totals.firstToken,
  }
}

const csvColumns = [
  'id',
  'request_id',
  'member',
  'key',
  'product',
  'target',
  'state',
  'ending',
  'credits',
  'input_tokens',
  'cached_input_tokens',
  'output_tokens',
  'started_at',
  'ended_at',
  'first_token_ms',
  'upstream_status',
] as const satisfies readonly (keyof ShownTurn)[]

type CsvParts = AsyncGenerator<string, void, undefined>

async function* continueParts(first: Awaited<ReturnType<CsvParts['next']>>, parts: CsvParts): CsvParts {
  if (first.done !== true) yield first.value
  yield* parts
}

async function* writeCsv(filter: TurnFilter, { membership }: Services): CsvParts {
  let head = formatCsvLine(csvColumns)
  let position: TurnPosition | null | undefined
  for (let remainingTurns = maxExportedTurns; remainingTurns > 0 && position !== null;) {
    const page = { limit: Math.min(remainingTurns, turnsPerExportPage), ...(position === undefined ? {} : { after: position }) }
    const { turns, next } = await membership.turnHistory.listTurns(filter, page)
    remainingTurns -= turns.length
    position = next
    const lines = turns.map((turn) => {
      const turnRecord = toTurn(turn)
      return formatCsvLine(csvColumns.map((name) => turnRecord[name]))
    })
    yield head + lines.join('')
    head = ''
  }
}
