/** An account's turns as comma-separated values (RFC 4180), for spreadsheets. */
import type { Turn, TurnQuery } from '../../../../domain/billing/ledger.ts'
import { formatInstant } from '../../../../domain/instant.ts'
import type { Services } from '../../../../services/services.ts'
import type { Texts } from '../../../texts/en.ts'
import { nameSource } from './usage-names.ts'

const pageSize = 500
/** The newest turns that a file has. */
const maxExportedTurns = 20_000

const columns = [
  'started_at',
  'ended_at',
  'request_id',
  'model',
  'requested_model',
  'api_format',
  'tier',
  'key',
  'state',
  'code',
  'input_tokens',
  'cached_input_tokens',
  'output_tokens',
  'credits',
] as const

interface Export {
  readonly account: string
  readonly filter: Partial<TurnQuery>
  readonly texts: Texts['account']
}

/** Yields the file in parts, so that it is read as fast as the client receives it. */
export async function* writeTurnsCsv(services: Services, { account, filter, texts }: Export): AsyncGenerator<string> {
  const keys = await services.membership.apiKeys.list(account)
  const names = new Map(keys.map(({ id, name }) => [id, name]))
  // The mark at the beginning makes spreadsheets read UTF-8.
  yield `\uFEFF${toLine(columns)}`
  let before: number | undefined
  for (let count = 0; count < maxExportedTurns; count += pageSize) {
    const turns = await services.ledger.turns({ ...filter, account, limit: pageSize, ...(before !== undefined && { before }) })
    yield turns.map((turn) => toLine(toCells(turn, nameSource(texts, turn.credential, names.get(turn.credential))))).join('')
    before = turns.at(-1)?.id
    if (turns.length < pageSize || before === undefined) return
  }
}

function toCells(turn: Turn, source: string): readonly (string | number)[] {
  return [
    formatInstant(turn.startedAt),
    formatInstant(turn.endedAt) ?? '',
    turn.requestId,
    turn.model,
    turn.requestedModel ?? '',
    turn.apiFormat,
    turn.pool,
    source,
    turn.state,
    turn.code ?? '',
    turn.inputTokens,
    turn.cachedInputTokens,
    turn.outputTokens,
    turn.credits,
  ]
}

function toLine(cells: readonly (string | number)[]): string {
  return `${cells.map(toCell).join(',')}\r\n`
}

/** A text that a spreadsheet would read as a formula is marked as text, because members choose the names of keys and models. */
function toCell(value: string | number): string {
  const text = typeof value === 'string' && /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value)
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
