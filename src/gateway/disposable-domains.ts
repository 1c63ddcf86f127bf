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

export function disposableDomains(): ReadonlySet<string> {
  return new Set([...disposableEmailBlocklist(), ...alsoDisposable])
}
