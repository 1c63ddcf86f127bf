/** Who may make an account by themselves. Accounts that the operator makes, and everybody who has one, are no matter of these rules. */

export const signUpModes = ['open', 'invited', 'closed'] as const
export type SignUpMode = (typeof signUpModes)[number]

export interface SignUpRules {
  /** `invited`: with a member's invitation code. */
  readonly signUp: SignUpMode
  /** Only addresses of these domains and what is below them; empty for any. */
  readonly allowedDomains: readonly string[]
}

/** Why not. */
export type NoSignUp = 'closed' | 'uninvited' | 'domain'

/** Null where it may be. `isInvited` is asked only where it matters. */
export async function whyNoSignUp(
  address: string,
  { signUp, allowedDomains }: SignUpRules,
  isInvited: () => Promise<boolean>,
): Promise<NoSignUp | null> {
  if (signUp === 'closed') return 'closed'
  if (!isAllowed(address, allowedDomains)) return 'domain'
  return signUp === 'invited' && !(await isInvited()) ? 'uninvited' : null
}

function isAllowed(address: string, domains: readonly string[]): boolean {
  const domain = address.slice(address.lastIndexOf('@') + 1)
  const names = domains.map((name) => name.toLowerCase())
  return names.length === 0 || names.some((name) => domain === name || domain.endsWith(`.${name}`))
}
