/** What operators may do: scopes, and roles as named sets of them. */

export const operatorScopes = [
  'members:read',
  'members:write',
  /** Ends sessions and sends the email of a sign-in again. */
  'sessions:write',
  'money:read',
  'money:write',
  'turns:read',
  'routing:read',
  'routing:write',
  'audit:read',
  /** Announces to all readers. */
  'notices:write',
  /** Makes and revokes operator keys. */
  'keys:write',
  'roles:write',
] as const
export type OperatorScope = (typeof operatorScopes)[number]

const readScopes = ['members:read', 'money:read', 'turns:read', 'routing:read', 'audit:read'] as const

export const operatorRoles = {
  owner: operatorScopes,
  operator: operatorScopes.filter((scope) => scope !== 'money:write' && scope !== 'roles:write'),
  support: ['members:read', 'sessions:write', 'turns:read'],
  finance: ['members:read', 'money:read', 'money:write'],
  reader: readScopes,
} as const satisfies Readonly<Record<string, readonly OperatorScope[]>>

export type OperatorRole = keyof typeof operatorRoles
export const operatorRoleNames = Object.keys(operatorRoles) as readonly OperatorRole[]

/** Scopes that no key has: a leaked key must not make itself permanent. */
const keylessScopes: readonly OperatorScope[] = ['keys:write', 'roles:write']

/** The scopes that a key of an operator with this role may have. */
export function listKeyScopes(role: OperatorRole): readonly OperatorScope[] {
  return operatorRoles[role].filter((scope) => !keylessScopes.includes(scope))
}

export function roleHasScope(role: OperatorRole, scope: OperatorScope): boolean {
  return (operatorRoles[role] as readonly OperatorScope[]).includes(scope)
}

export function isOperatorRole(text: string): text is OperatorRole {
  return Object.hasOwn(operatorRoles, text)
}

/** A role that groups of a provider give; an owner is made by hand. */
export type GroupRole = Exclude<OperatorRole, 'owner'>
export const groupRoles = operatorRoleNames.filter((role): role is GroupRole => role !== 'owner')

/** How long after its member's last sign-in with the provider such a role has effect. */
export const groupRoleMs = 12 * 3_600_000
