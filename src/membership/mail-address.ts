/** Mail addresses: what we take for one, and which of them are one person's. */
import { createHmac } from 'node:crypto'

export interface AddressRules {
  /** `a+b@x` and `a@x`, and at Gmail any dots, are one person. */
  readonly mergeAliases: boolean
  readonly blockedDomains: readonly string[]
  /** Whether a domain is a provider's of throw-away addresses, where those are not wanted. */
  readonly isDisposable: (domain: string) => boolean
}

export type AddressVerdict =
  | { readonly kind: 'good'; readonly address: string }
  | { readonly kind: 'malformed' }
  /** Its domain may not sign up here. */
  | { readonly kind: 'blocked' }

/** Whether a domain of a mail address could be written so, in whatever letters. */
export function isDomain(name: string): boolean {
  return name
    .toLowerCase()
    .split('.')
    .every((part) => label.test(part))
}

/** Of an address that need not be fit to sign up: only whether it is one. */
export const anyDomain = { blockedDomains: [], isDisposable: () => false } as const

const localPart = /^[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*$/
const label = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/

/**
 * Normalised: composed (NFKC), lower case, trimmed. Only plain ASCII addresses are taken: a look-alike letter could make one person's
 * address look like another's.
 */
export function judgeAddress(text: string, rules: AddressRules): AddressVerdict {
  if (text.length > 320) return { kind: 'malformed' }
  // A sign that only becomes an `@` by normalising is somebody trying.
  if (text.split('@').length !== 2) return { kind: 'malformed' }
  const address = text.trim().normalize('NFKC').toLowerCase()
  const [local = '', domain = '', ...more] = address.split('@')
  const labels = domain.split('.')
  const plain =
    more.length === 0 &&
    address.length <= 254 &&
    local.length <= 64 &&
    localPart.test(local) &&
    // The first account of a fresh installation lives at this machine.
    (labels.length >= 2 || domain === 'localhost') &&
    labels.every((part) => label.test(part)) &&
    /[a-z]/.test(labels.at(-1) ?? '')
  if (!plain) return { kind: 'malformed' }
  return isBlocked(domain, rules) ? { kind: 'blocked' } : { kind: 'good', address }
}

function isBlocked(domain: string, { blockedDomains, isDisposable }: AddressRules): boolean {
  const blocked = new Set(blockedDomains.map((name) => name.toLowerCase()))
  const labels = domain.split('.')
  // What is blocked is blocked with all that is below it.
  return labels.some((_, place) => {
    const above = labels.slice(place).join('.')
    return blocked.has(above) || isDisposable(above)
  })
}

/** Whose dots mean nothing. */
const dotless = new Set(['gmail.com', 'googlemail.com'])

/** One person's addresses come out the same. */
export function canonicalAddress(address: string, mergeAliases: boolean): string {
  if (!mergeAliases) return address
  const at = address.lastIndexOf('@')
  const domain = address.slice(at + 1)
  const [base = ''] = address.slice(0, at).split('+')
  if (dotless.has(domain)) return `${base.replaceAll('.', '')}@gmail.com`
  return `${base}@${domain}`
}

/** Mail services that document that what follows a plus sign is the member's own choice, and give nobody such a name. */
const plusIsTag = new Set([
  ...dotless,
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
 * One for all addresses that surely are the same mailbox: whoever reads one reads the others. Elsewhere `a+b@x` may be somebody else's than
 * `a@x`, so there it is a mailbox of its own.
 */
export function mailboxOf(address: string, mergeAliases: boolean): string {
  const domain = address.slice(address.lastIndexOf('@') + 1)
  return plusIsTag.has(domain) ? canonicalAddress(address, mergeAliases) : address
}

/** A keyed hash that stands for a person wherever boosts are counted; it tells nothing without the installation's secret. */
export function personOf(secret: Uint8Array, address: string, mergeAliases: boolean): Buffer {
  return createHmac('sha256', secret)
    .update(`person\0${canonicalAddress(address, mergeAliases)}`)
    .digest()
}
