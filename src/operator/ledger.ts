/** `svc-gateway ledger verify` and `svc-gateway turns` */
import type { TurnQuery, TurnState } from '../membership/ledger.ts'
import { toUsageTurn } from '../membership/usage.ts'
import { accountOf, CommandError, withInstallation } from './installation.ts'
import type { Installation } from './installation.ts'
import { instantOf, wholeNumber } from './boost.ts'
import { counted, say, table } from './output.ts'
import type { Output, Said } from './output.ts'

/** Rebuilds every balance from the entries; exits with 1 where anything does not add up. */
export function verifyLedger(options: Output): Promise<Said> {
  return withInstallation(async ({ store }) => {
    const { ok, accounts, turns, holdsOpen, mismatches } = await store.ledger.verify()
    const owed = await store.ledger.owed()
    const told = () =>
      [
        ok ? 'The ledger adds up.' : 'The ledger does NOT add up:',
        ...mismatches.map(({ rule, account, detail }) => `  ${account}: ${rule}: ${detail}`),
        `${counted(accounts, 'account')}, ${counted(turns, 'turn')}, ${counted(holdsOpen, 'hold')} open.`,
        ...(owed === 0 ? [] : [owedSentence(owed)]),
      ].join('\n')
    return say(options, { ok, accounts, turns, holds_open: holdsOpen, owed, mismatches }, told, ok)
  })
}

/** What an operator should know of a journal that is not empty. */
export function owedSentence(owed: number): string {
  return `${counted(owed, 'settlement is', 'settlements are')} owed to the ledger and kept in a journal beside it: a running server writes them when it can, else its next start does.`
}

const states: readonly string[] = ['held', 'settled', 'refunded', 'expired'] satisfies readonly TurnState[]

export function listTurns(
  options: Output & { account?: string; state?: string; model?: string; since?: string; limit: string },
): Promise<Said> {
  return withInstallation(async (installation) => {
    const { state } = options
    if (state !== undefined && !states.includes(state))
      throw new CommandError(`--state must be one of ${states.join(', ')}, not '${state}'.`)
    const query: TurnQuery = {
      limit: wholeNumber('--limit', options.limit),
      ...(options.account === undefined ? {} : { account: (await accountOf(installation, options.account)).id }),
      ...(state === undefined ? {} : { state: state as TurnState }),
      ...(options.model === undefined ? {} : { model: options.model }),
      ...(options.since === undefined ? {} : { since: sinceOf(options.since, installation) }),
    }
    const turns = (await installation.store.ledger.turns(query)).map((turn) => ({ ...toUsageTurn(turn), account: turn.account }))
    const emails = await emailsOf(
      installation,
      turns.map(({ account }) => account),
    )
    const data = turns.map((turn) => ({ ...turn, email: emails.get(turn.account) ?? null }))
    return say(options, { object: 'list', data }, () =>
      table(
        ['started', 'request id', 'account', 'model', 'state', 'credits', 'held', 'in', 'out', 'code', 'up'],
        data.map((turn) => [
          turn.started_at,
          turn.request_id,
          // People are known by their address; one who was deleted has none any more.
          turn.email ?? turn.account,
          turn.model,
          turn.state,
          turn.credits,
          turn.reserved,
          turn.input_tokens,
          turn.output_tokens,
          turn.code,
          turn.upstream_status,
        ]),
      ),
    )
  })
}

async function emailsOf({ store }: Installation, ids: readonly string[]): Promise<ReadonlyMap<string, string | null>> {
  const found = await Promise.all(
    [...new Set(ids)].map(async (id) => [id, (await store.accounts.find(id))?.email ?? null] as const),
  )
  return new Map(found)
}

/** A span counts backwards here: `1h` is the last hour. */
export function sinceOf(text: string, { clock, calendar }: Pick<Installation, 'clock' | 'calendar'>): number {
  const now = clock.now()
  const at = instantOf('--since', text, now, calendar)
  return /^\d+[dhm]$/.test(text) ? 2 * now - at : at
}
