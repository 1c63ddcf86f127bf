/**
 * Domains of disposable email addresses: the list of `disposable-email-domains-js`, and a few that it omits because their addresses
 * are long-lived. The list cannot be complete; operators extend it with `signIn.blockedDomains`.
 */
import { disposableEmailBlocklist } from 'disposable-email-domains-js'

const extraDomains = [
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

/** Creates the check whether a domain is disposable. The list is long and is read at the first sign-up. */
export function createDisposableDomainCheck(): (domain: string) => boolean {
  let domains: ReadonlySet<string> | undefined
  return (domain) => {
    domains ??= new Set([...disposableEmailBlocklist(), ...extraDomains])
    return domains.has(domain)
  }
}
