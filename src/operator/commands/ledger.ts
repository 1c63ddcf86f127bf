/** `svc-gateway ledger verify` and `svc-gateway turns` */
import type { TurnQuery, TurnState } from '../../domain/billing/ledger.ts'
import { toUsageTurn } from '../../domain/billing/usage/usage.ts'
import { verifyBooks } from '../../domain/services/orders/verify-books.ts'
import { requireAccount, CommandError, withInstallation } from '../installation.ts'
import type { Installation } from '../installation.ts'
import { findEmails } from '../find-emails.ts'
import { parseInstant, parseWholeNumber } from './boost.ts'
import { drawTable, formatCell, pluralize, renderResult, shortenId } from '../output.ts'
import { formatDollars } from '../../domain/billing/report-format.ts'
import { formatTime, formatZone } from '../../system/terminal/format-time.ts'
import type { OutputOptions, CommandResult } from '../output.ts'

/** Rebuilds every balance from the entries; exits with 1 on a mismatch. */
export function verifyLedger(options: OutputOptions): Promise<CommandResult> {
  return withInstallation(async ({ store }) => {
    const { ok, accounts, turns, holdsOpen, mismatches } = await verifyBooks(store)
    const pendingCount = await store.ledger.countPendingSettlements()
    const renderText = () =>
      [
        ok ? 'The ledger adds up.' : 'The ledger does NOT add up:',
        ...mismatches.map(({ rule, account, detail }) => `  ${account}: ${rule}: ${detail}`),
        `${pluralize(accounts, 'account')}, ${pluralize(turns, 'turn')}, ${pluralize(holdsOpen, 'hold')} open.`,
        ...(pendingCount === 0 ? [] : [describePendingSettlements(pendingCount)]),
      ].join('\n')
    return renderResult(
      options,
      { ok, accounts, turns, holds_open: holdsOpen, pending_settlements: pendingCount, mismatches },
      renderText,
      ok,
    )
  })
}

/** The note about a settlement journal that is not empty. */
export function describePendingSettlements(count: number): string {
  return `${pluralize(count, 'settlement is', 'settlements are')} pending in the journal beside the ledger: a running server writes them when it can, else the next start does.`
}

const states: readonly string[] = ['held', 'settled', 'refunded', 'expired'] satisfies readonly TurnState[]

export function listTurns(
  options: OutputOptions & { account?: string; state?: string; model?: string; since?: string; limit: string },
): Promise<CommandResult> {
  return withInstallation(async (installation) => {
    const { state } = options
    if (state !== undefined && !states.includes(state))
      throw new CommandError(`--state must be one of ${states.join(', ')}, not '${state}'.`)
    const query: TurnQuery = {
      limit: parseWholeNumber('--limit', options.limit),
      ...(options.account === undefined ? {} : { account: (await requireAccount(installation, options.account)).id }),
      ...(state === undefined ? {} : { state: state as TurnState }),
      ...(options.model === undefined ? {} : { model: options.model }),
      ...(options.since === undefined ? {} : { since: parsePastInstant('--since', options.since, installation) }),
    }
    const turns = (await installation.store.ledger.turns(query)).map((turn) => ({
      ...toUsageTurn(turn),
      account: turn.account,
      plan: turn.plan,
      target: turn.target,
      upstream_model: turn.upstreamModel,
      upstream_response_id: turn.upstreamResponseId,
      upstream_cost_usd: turn.upstreamCostNanodollars === null ? null : formatDollars(BigInt(turn.upstreamCostNanodollars)),
    }))
    // The log also has products that were sold earlier.
    if (turns.length === 0 && options.model !== undefined) requireProduct(installation, options.model)
    const emails = await findEmails(
      installation,
      turns.map(({ account }) => account),
    )
    const now = installation.clock.now()
    const data = turns.map((turn) => ({ ...turn, email: emails.get(turn.account) ?? null }))
    return renderResult(options, { object: 'list', data }, () =>
      drawTable(data, [
        { heading: `started (${formatZone(now)})`, cell: (turn) => formatTime(turn.started_at, 'en', now) },
        { heading: 'request id', cell: (turn) => turn.request_id, short: (turn) => shortenId(turn.request_id) },
        // Members are shown by email address; a deleted account has none.
        { heading: 'account', cell: (turn) => turn.email ?? turn.account },
        { heading: 'model', cell: (turn) => turn.model, drop: 2 },
        { heading: 'state', cell: (turn) => turn.state },
        { heading: 'credits', cell: (turn) => String(turn.credits), align: 'right' },
        { heading: 'held', cell: (turn) => String(turn.reserved), align: 'right', drop: 5 },
        { heading: 'in/out', cell: (turn) => `${turn.input_tokens}/${turn.output_tokens}`, align: 'right', drop: 3 },
        {
          heading: 'cached',
          cell: ({ cached_input_tokens: cached }) => (cached === 0 ? '' : `${cached}`),
          align: 'right',
          drop: 6,
        },
        { heading: 'code', cell: (turn) => formatCell(turn.code) },
        { heading: 'up', cell: (turn) => formatCell(turn.upstream_status), align: 'right', drop: 4 },
      ]),
    )
  })
}

/** @throws CommandError that names the configured products */
function requireProduct({ config: { products } }: Installation, id: string): void {
  if (Object.hasOwn(products, id)) return
  throw new CommandError(`There is no product '${id}'. Products: ${Object.keys(products).join(', ')}.`)
}

/** A duration counts backwards here: `1h` is the last hour. */
export function parsePastInstant(
  option: string,
  text: string,
  { clock, calendar }: Pick<Installation, 'clock' | 'calendar'>,
): number {
  const now = clock.now()
  const at = parseInstant(option, text, now, calendar)
  return /^\d+[dhm]$/.test(text) ? 2 * now - at : at
}
