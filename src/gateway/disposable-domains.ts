/**
 * Providers of throw-away addresses: the community's list, which its package follows, and a few that it leaves out because their addresses
 * last. It cannot be complete; an operator adds to it with `signIn.blockedDomains`.
 */
import { disposableEmailBlocklist } from 'disposable-email-domains-js'

const alsoDisposable = [
  '33mail.com',
  'anonaddy.me',
  'burnermail.io',
  'mail-temp.com',
  'mailtemp.net',
  'spamgourmet.com',
  'temp-mail.io',
  'tempmail.dev',
  'tempmail.net',
  'throwaway.email',
]

/** Whether a domain is such a provider's. The list is long, and read when somebody signs up for the first time. */
export function disposableDomains(): (domain: string) => boolean {
  let known: ReadonlySet<string> | undefined
  return (domain) => {
    known ??= new Set([...disposableEmailBlocklist(), ...alsoDisposable])
    return known.has(domain)
  }
}
