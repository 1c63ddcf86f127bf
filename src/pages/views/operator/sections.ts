/** The sections of the console, and the scope that each needs: for its page, and for the links of the navigation. */
import type { OperatorAccess } from '../../../domain/identity/operators/operator-actor.ts'
import { listScopes } from '../../../domain/identity/operators/operator-actor.ts'
import type { OperatorScope } from '../../../domain/identity/operators/operator-role.ts'
import type { OperatorContext } from '../../page.ts'

export const consolePath = '/operator'

/** In the order of the navigation. */
export const consoleSections = {
  now: { path: consolePath, access: { scope: null } },
  members: { path: `${consolePath}/members`, access: { scope: 'members:read' } },
  turns: { path: `${consolePath}/turns`, access: { scope: 'turns:read' } },
  failures: { path: `${consolePath}/failures`, access: { scope: 'turns:read' } },
  routing: { path: `${consolePath}/routing`, access: { scope: 'routing:read' } },
  money: { path: `${consolePath}/money`, access: { scope: 'money:read' } },
  orders: { path: `${consolePath}/orders`, access: { scope: 'money:read' } },
  notices: { path: `${consolePath}/notices`, access: { scope: null } },
  audit: { path: `${consolePath}/audit`, access: { scope: 'audit:read' } },
  system: { path: `${consolePath}/system`, access: { scope: 'audit:read' } },
  session: { path: `${consolePath}/session`, access: { scope: null } },
} as const satisfies Readonly<Record<string, { readonly path: string; readonly access: OperatorAccess }>>

export type ConsoleSection = keyof typeof consoleSections

export const consoleSectionNames = Object.keys(consoleSections) as readonly ConsoleSection[]

/** Whether the operator's role has the scope; a fresh proof is another matter. */
export function hasScope({ operator }: OperatorContext, scope: OperatorScope | null): boolean {
  return scope === null || listScopes(operator.actor).includes(scope)
}
