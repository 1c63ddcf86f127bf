/**
 * Decides which emails may be sent and how often the code in one may be guessed.
 *
 * An email counts until it is used or older than the span of its limit, and its link is valid for exactly as long. A client that uses up all
 * emails of an address has therefore put as many valid links into its owner's mailbox: if no email can be sent, an unused one still works.
 * A client that has used its share for an address leaves the rest to others, and known devices have emails of their own.
 *
 * Sending a code reserves its attempts: the attempts of all live codes and all wrong guesses of the span before are at most `code-tries`
 * together, separately for strangers and for known devices. A sent code keeps its attempts when others request more; if none are left, the
 * email contains only a link.
 */
import type { AttemptLimitTable } from './attempt-limits.ts'
import type { AttemptLimit } from './attempt-limits.ts'
import { codeLifetimeMs, maxCodeAttempts } from '../email/email-otp.ts'
import type { SendVerdict, NewEmailVerification, SentVerificationEmail } from '../email/email-otp.ts'

/** How far back emails count, and hence how long they are kept. */
export function getSendLimitLookbackMs(table: AttemptLimitTable): number {
  const spans = getSendLimits(table).map(({ withinMs }) => withinMs)
  return Math.max(...spans, table['code-tries'].withinMs + codeLifetimeMs)
}

/** Lifetime of a link. */
export function getMagicLinkLifetimeMs(table: AttemptLimitTable): number {
  return table['code-by-address'].withinMs
}

/** `recent` are the emails to the same mailbox or from the same network. */
export function checkSendLimit(
  email: Pick<NewEmailVerification, 'mailbox' | 'network' | 'known' | 'at'>,
  recent: readonly SentVerificationEmail[],
  table: AttemptLimitTable,
): SendVerdict {
  const { network, known, at } = email
  const toMailbox = recent.filter((sent) => sent.mailbox === email.mailbox && sent.known === known)
  const byClient = toMailbox.filter((sent) => known || sent.network === network)
  const filterUnused = (emails: readonly SentVerificationEmail[]) => emails.filter(({ used }) => !used)
  const nextSendTimes = known
    ? [findNextSendAt(byClient, table['code-resend'], at), findNextSendAt(filterUnused(toMailbox), table['code-by-device'], at)]
    : [
        findNextSendAt(byClient, table['code-resend'], at),
        findNextSendAt(filterUnused(byClient), table['code-by-network-and-address'], at),
        findNextSendAt(filterUnused(toMailbox), table['code-by-address'], at),
        findNextSendAt(
          filterUnused(recent.filter((sent) => !sent.known && sent.network === network)),
          table['code-by-network'],
          at,
        ),
      ]
  const until = Math.max(...nextSendTimes)
  return until > at ? { kind: 'wait', until } : { kind: 'send', tries: countCodeAttemptsLeft(toMailbox, table['code-tries'], at) }
}

/** When the next email may be sent; 0 for now. */
function findNextSendAt(emails: readonly SentVerificationEmail[], { times, withinMs }: AttemptLimit, now: number): number {
  const ends = emails
    .map(({ at }) => at + withinMs)
    .filter((end) => end > now)
    .toSorted((a, b) => b - a)
  return ends[times - 1] ?? 0
}

function countCodeAttemptsLeft(emails: readonly SentVerificationEmail[], { times, withinMs }: AttemptLimit, now: number): number {
  const usedAttempts = emails
    // A guess of this code may be as late as the code's end.
    .filter(({ at }) => at + codeLifetimeMs + withinMs > now)
    .reduce((sum, { at, tries, attempts, replaced }) => sum + (replaced || at + codeLifetimeMs <= now ? attempts : tries), 0)
  return Math.max(0, Math.min(maxCodeAttempts, times - usedAttempts))
}

function getSendLimits(table: AttemptLimitTable): AttemptLimit[] {
  const names = ['code-by-network', 'code-by-network-and-address', 'code-by-address', 'code-by-device', 'code-resend'] as const
  return names.map((name) => table[name])
}
