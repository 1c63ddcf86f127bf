/** `svc-gateway boost grant`: credits granted by the operator. */
import { formatInstant } from '../../domain/instant.ts'
import type { Calendar } from '../../domain/billing/period.ts'
import { requireAccount, CommandError, withInstallation } from '../installation.ts'
import { formatMoment, renderResult } from '../output.ts'
import type { OutputOptions, CommandResult } from '../output.ts'

export function grantBoost(
  options: OutputOptions & { account: string; pool: string; credits: string; expires: string },
): Promise<CommandResult> {
  return withInstallation(async (installation) => {
    const account = await requireAccount(installation, options.account)
    if (account.status === 'deleted') throw new CommandError(`Account ${account.id} is deleted and cannot use credits.`)
    const at = installation.clock.now()
    const { pool } = options
    if (pool !== 'fast' && pool !== 'premium') throw new CommandError(`--pool must be fast or premium, not '${pool}'.`)
    const pack = await installation.store.ledger.grant({
      id: installation.ids.next('pack_', at),
      account: account.id,
      kind: 'grant',
      pool,
      credits: parseWholeNumber('--credits', options.credits),
      at,
      expiresAt: parseFutureInstant('--expires', options.expires, at, installation.calendar),
    })
    return renderResult(
      options,
      {
        id: pack.id,
        account: pack.account,
        kind: pack.kind,
        pool: pack.pool,
        granted: pack.granted,
        remaining: pack.granted,
        expires_at: formatInstant(pack.expiresAt),
      },
      () =>
        `${pack.granted} credits (${pack.pool}) were granted to ${account.email ?? account.id}; they expire ${formatMoment(pack.expiresAt, at)}.`,
    )
  })
}

export function parseWholeNumber(option: string, text: string): number {
  const value = Number(text)
  if (!/^\d{1,15}$/.test(text) || value < 1)
    throw new CommandError(`${option} must be a whole number of at least 1, not '${text}'.`)
  return value
}

/** Strict, because `Date.parse` reads `45` as the year 2045 and finds a date in `in 30 days`. */
const dateOrInstant = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)?)?$/i

/** An RFC 3339 instant, the beginning of a day of the service's calendar, or days from now as in `30d`. */
export function parseFutureInstant(option: string, text: string, now: number, calendar: Calendar): number {
  const at = parseInstant(option, text, now, calendar)
  if (at <= now) throw new CommandError(`${option} lies in the past: ${text}.`)
  return at
}

export function parseInstant(option: string, text: string, now: number, calendar: Calendar): number {
  const span = /^(\d{1,5})([dhm])$/.exec(text)
  if (span !== null) return now + Number(span[1]) * (span[2] === 'd' ? 86_400_000 : span[2] === 'h' ? 3_600_000 : 60_000)
  const [date = ''] = text.split(/t/i)
  const day = dateOrInstant.test(text) ? calendar.getDayStart(date) : undefined
  // A day begins in the time zone of the service's calendar.
  const at = text === date ? day : Date.parse(text)
  if (day === undefined || at === undefined || Number.isNaN(at))
    throw new CommandError(`${option} must be a date such as 2027-01-31T00:00:00Z, or a span such as 30d, not '${text}'.`)
  return at
}
