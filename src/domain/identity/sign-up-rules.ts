/** Rules for people who create an account themselves. They do not apply to accounts that the operator creates, or to existing accounts. */
import { toAsciiDomain } from './email/email-address.ts'

export const signUpModes = ['open', 'invited', 'closed'] as const
type SignUpMode = (typeof signUpModes)[number]

export interface SignUpRules {
  /** `invited`: with a member's invitation code. */
  readonly signUp: SignUpMode
  /** Only addresses of these domains and their subdomains; empty for any. */
  readonly allowedDomains: readonly string[]
}

/** The reason of a refusal. */
export type SignUpRefusal = 'closed' | 'uninvited' | 'domain'

/** Null if the address may sign up. `isInvited` is called only if it matters. */
export async function checkSignUp(
  email: string,
  { signUp, allowedDomains }: SignUpRules,
  isInvited: () => Promise<boolean>,
): Promise<SignUpRefusal | null> {
  if (signUp === 'closed') return 'closed'
  if (!isDomainAllowed(email, allowedDomains)) return 'domain'
  return signUp === 'invited' && !(await isInvited()) ? 'uninvited' : null
}

function isDomainAllowed(address: string, domains: readonly string[]): boolean {
  const domain = address.slice(address.lastIndexOf('@') + 1)
  const names = domains.map(toAsciiDomain)
  return names.length === 0 || names.some((name) => domain === name || domain.endsWith(`.${name}`))
}
