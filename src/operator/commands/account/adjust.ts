/** `svc-gateway account adjust`: a correction of credits, as a link of the account's chain. */
import { formatInstant } from '../../../domain/instant.ts'
import type { CreditCorrection } from '../../../domain/services/operators/member-admin-service.ts'
import { maxReasonChars } from '../../../domain/services/operators/operator-author.ts'
import { requireAccount, CommandError, withInstallation } from '../../installation.ts'
import { formatMoment, renderResult } from '../../output.ts'
import type { CommandResult, OutputOptions } from '../../output.ts'
import { parseFutureInstant } from '../boost.ts'

export function adjustCredits(
  idOrEmail: string,
  options: OutputOptions & { credits: string; pool: string; reason: string; expires: string },
): Promise<CommandResult> {
  return withInstallation(async (installation) => {
    const { calendar, clock, ids, memberAdmin, createAuthor } = installation
    const account = await requireAccount(installation, idOrEmail)
    if (account.status === 'deleted') throw new CommandError(`Account ${account.id} is deleted and cannot use credits.`)
    const at = clock.now()
    const { pool } = options
    if (pool !== 'fast' && pool !== 'premium') throw new CommandError(`--pool must be fast or premium, not '${pool}'.`)
    const reason = options.reason.trim()
    if (reason === '' || reason.length > maxReasonChars)
      throw new CommandError(`--reason must name why, in at most ${maxReasonChars} characters; the member sees it.`)
    const credits = parseSignedNumber('--credits', options.credits)
    const expiresAt = parseFutureInstant('--expires', options.expires, at, calendar)
    const correction: CreditCorrection = { id: ids.next('adj_', at), pool, credits, reason, expiresAt }
    // Only keys have a daily limit.
    await memberAdmin.adjustCredits(account, correction, createAuthor())
    const who = account.email ?? account.id
    const record = {
      id: correction.id,
      account: account.id,
      pool,
      credits,
      reason,
      expires_at: credits > 0 ? formatInstant(expiresAt) : null,
    }
    return renderResult(options, record, () =>
      credits > 0
        ? `${credits} credits (${pool}) were added to ${who}; they expire ${formatMoment(expiresAt, at)}.`
        : `${-credits} credits (${pool}) were taken from ${who}: from the plan as far as it had room, then from packs, and the rest as debt of the running periods.`,
    )
  })
}

function parseSignedNumber(option: string, text: string): number {
  const value = Number(text)
  if (!/^[+-]?\d{1,15}$/.test(text) || value === 0)
    throw new CommandError(`${option} must be a whole number such as 20000 or -20000, not '${text}'.`)
  return value
}
