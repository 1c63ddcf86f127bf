/** `svc-gateway boost grant`: credits by the operator's hand. */
import { instant } from '../membership/instant.ts'
import type { Calendar } from '../membership/period.ts'
import { accountOf, CommandError, withInstallation } from './installation.ts'
import { say } from './output.ts'
import type { Output, Said } from './output.ts'

export function grantBoost(options: Output & { account: string; tier: string; credits: string; expires: string }): Promise<Said> {
  return withInstallation(async (installation) => {
    const account = await accountOf(installation, options.account)
    if (account.status === 'deleted') throw new CommandError(`Account ${account.id} is deleted; nobody could use the credits.`)
    const at = installation.clock.now()
    const { tier } = options
    if (tier !== 'fast' && tier !== 'premium') throw new CommandError(`--tier must be fast or premium, not '${tier}'.`)
    const pack = await installation.store.ledger.grant({
      id: installation.ids.next('pack_', at),
      account: account.id,
      kind: 'grant',
      pool: tier,
      credits: wholeNumber('--credits', options.credits),
      at,
      expiresAt: futureInstant('--expires', options.expires, at, installation.calendar),
    })
    return say(
      options,
      {
        id: pack.id,
        account: pack.account,
        kind: pack.kind,
        tier: pack.pool,
        granted: pack.granted,
        remaining: pack.granted,
        expires_at: instant(pack.expiresAt),
      },
      () =>
        `${pack.granted} credits (${pack.pool}) were granted to ${account.email ?? account.id}; they expire ${instant(pack.expiresAt)}.`,
    )
  })
}

export function wholeNumber(option: string, text: string): number {
  const value = Number(text)
  if (!/^\d{1,15}$/.test(text) || value < 1)
    throw new CommandError(`${option} must be a whole number of at least 1, not '${text}'.`)
  return value
}

/** Nothing looser: `Date.parse` alone reads `45` as the year 2045, and finds one in `in 30 days`. */
const dateOrInstant = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)?)?$/i

/** An instant as RFC 3339, the beginning of a day of the service's calendar, or days from now as in `30d`. */
export function futureInstant(option: string, text: string, now: number, calendar: Calendar): number {
  const at = instantOf(option, text, now, calendar)
  if (at <= now) throw new CommandError(`${option} lies in the past: ${text}.`)
  return at
}

export function instantOf(option: string, text: string, now: number, calendar: Calendar): number {
  const span = /^(\d{1,5})([dhm])$/.exec(text)
  if (span !== null) return now + Number(span[1]) * (span[2] === 'd' ? 86_400_000 : span[2] === 'h' ? 3_600_000 : 60_000)
  const [date = ''] = text.split(/t/i)
  const day = dateOrInstant.test(text) ? calendar.startOf(date) : undefined
  // A day begins where members are told that it does.
  const at = text === date ? day : Date.parse(text)
  if (day === undefined || at === undefined || Number.isNaN(at))
    throw new CommandError(`${option} must be a date such as 2027-01-31T00:00:00Z, or a span such as 30d, not '${text}'.`)
  return at
}
