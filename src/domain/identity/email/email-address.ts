/** Email addresses: which ones are accepted, and which belong to the same person. */
import { createHmac } from 'node:crypto'
import { domainToASCII } from 'node:url'

export interface EmailRules {
  readonly blockedDomains: readonly string[]
  /** Whether a domain belongs to a provider of disposable addresses, if those are refused. */
  readonly isDisposable: (domain: string) => boolean
}

type EmailVerdict =
  | { readonly kind: 'good'; readonly email: string }
  | { readonly kind: 'malformed' }
  /** The domain may not sign up here. */
  | { readonly kind: 'blocked' }

/** Whether the name could be the domain of an email address, in any script. */
export function isEmailDomain(name: string): boolean {
  return toAsciiDomain(name)
    .split('.')
    .every((part) => label.test(part))
}

/** The domain as mail servers know it: `Bücher.example` is `xn--bcher-kva.example`. Empty if there is no such domain. */
export function toAsciiDomain(name: string): string {
  const domain = name.normalize('NFKC').toLowerCase()
  if (/^\p{ASCII}*$/u.test(domain)) return domain
  // The conversion also decodes `%61` and ends a name at `/`, as in addresses of pages.
  return /^(?:[a-z0-9.-]|\P{ASCII})+$/u.test(domain) ? domainToASCII(domain) : ''
}

/** Rules that accept any valid address, whether or not it may sign up. */
export const anyEmailDomain = { blockedDomains: [], isDisposable: () => false } as const

const localPart = /^[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*$/
const label = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/

/**
 * Normalises an address: composed (NFKC), lower case, trimmed, its domain in ASCII. Other letters before the `@` are refused: a look-alike
 * could make one person's address look like another's, and few mail servers accept them.
 */
export function parseEmail(text: string, rules: EmailRules): EmailVerdict {
  if (text.length > 320) return { kind: 'malformed' }
  // A character that becomes an `@` only by normalising is an attack.
  if (text.split('@').length !== 2) return { kind: 'malformed' }
  const [local = '', name = '', ...more] = text.trim().normalize('NFKC').toLowerCase().split('@')
  const domain = toAsciiDomain(name)
  const email = `${local}@${domain}`
  const labels = domain.split('.')
  const isWellFormed =
    more.length === 0 &&
    email.length <= 254 &&
    local.length <= 64 &&
    localPart.test(local) &&
    // The first account of a new installation has an address at this machine.
    (labels.length >= 2 || domain === 'localhost') &&
    labels.every((part) => label.test(part)) &&
    /[a-z]/.test(labels.at(-1) ?? '')
  if (!isWellFormed) return { kind: 'malformed' }
  return isBlocked(domain, rules) ? { kind: 'blocked' } : { kind: 'good', email }
}

function isBlocked(domain: string, { blockedDomains, isDisposable }: EmailRules): boolean {
  const blockedAsciiDomains = new Set(blockedDomains.map(toAsciiDomain))
  const labels = domain.split('.')
  // A blocked domain blocks its subdomains.
  return labels.some((_, index) => {
    const parentDomain = labels.slice(index).join('.')
    return blockedAsciiDomains.has(parentDomain) || isDisposable(parentDomain)
  })
}

/** Providers that ignore dots in the local part. */
const dotInsensitiveDomains = new Set(['gmail.com', 'googlemail.com'])

/** Maps all addresses of one person to the same text. */
export function canonicalizeEmail(email: string, mergeAliases: boolean): string {
  if (!mergeAliases) return email
  const at = email.lastIndexOf('@')
  const domain = email.slice(at + 1)
  const [base = ''] = email.slice(0, at).split('+')
  if (dotInsensitiveDomains.has(domain)) return `${base.replaceAll('.', '')}@gmail.com`
  return `${base}@${domain}`
}

/** Mail services that document that members choose the part after a plus sign, and that never assign such names. */
const plusTagDomains = new Set([
  ...dotInsensitiveDomains,
  'outlook.com',
  'hotmail.com',
  'live.com',
  'icloud.com',
  'me.com',
  'mac.com',
  'proton.me',
  'protonmail.com',
  'pm.me',
  'fastmail.com',
])

/**
 * Maps addresses that certainly share a mailbox to the same text: a reader of one reads the others. At other providers `a+b@x` may belong
 * to another person than `a@x`, so it counts as a mailbox of its own.
 */
export function toMailbox(email: string, mergeAliases: boolean): string {
  const domain = email.slice(email.lastIndexOf('@') + 1)
  return plusTagDomains.has(domain) ? canonicalizeEmail(email, mergeAliases) : email
}

/** Whether two addresses certainly share a mailbox. */
export function isSameMailbox(one: string, other: string): boolean {
  return toMailbox(one, true) === toMailbox(other, true)
}

/** A keyed hash that identifies a person where boosts are counted; meaningless without the installation's secret. */
export function hashPerson(secret: Uint8Array, email: string, mergeAliases: boolean): Buffer {
  return createHmac('sha256', secret)
    .update(`person\0${canonicalizeEmail(email, mergeAliases)}`)
    .digest()
}
