/** Who acts as an operator, and whether that suffices for an action. The only place that decides about it. */
import type { OperatorRole, OperatorScope } from './operator-role.ts'
import { operatorScopes, roleHasScope } from './operator-role.ts'

/** How long after a second factor, or the use of a shell link, actions that need a fresh proof are possible. */
export const stepUpMs = 10 * 60_000

/** A request with a credential of an operator. */
export type OperatorActor =
  | {
      readonly kind: 'session'
      readonly account: string
      readonly role: OperatorRole
      readonly session: string
      /** When the second factor was last proven. */
      readonly verifiedAt: number
    }
  /** A member with a role who has proven no second factor in this browser. */
  | { readonly kind: 'unverified'; readonly account: string; readonly role: OperatorRole }
  | { readonly kind: 'shell'; readonly systemUser: string; readonly session: string; readonly verifiedAt: number }
  | {
      readonly kind: 'key'
      readonly account: string
      /** The role that the key's maker has now. */
      readonly role: OperatorRole
      readonly key: string
      readonly scopes: readonly OperatorScope[]
      /** Credits that the key may move each day; null where it has no `money:write`. */
      readonly dailyCredits: number | null
    }

/** An operator command; its user owns the data, so nothing else is asked. */
export interface CommandActor {
  readonly kind: 'command'
  readonly systemUser: string
}

/** What an endpoint asks of an operator. */
export interface OperatorAccess {
  /** Null: any operator. */
  readonly scope: OperatorScope | null
  /** Money, exports, roles and keys: the second factor, or the shell link, must be at most `stepUpMs` old. */
  readonly needsStepUp?: true
  /** Never by a key: roles and keys. */
  readonly refusesKeys?: true
  /** Never by a shell link, which has no person behind it: making keys. */
  readonly refusesShell?: true
}

export type AccessDecision = 'allowed' | 'second_factor_required' | 'step_up_required' | 'forbidden'

export function decideAccess(actor: OperatorActor, access: OperatorAccess, now: number): AccessDecision {
  const { scope, needsStepUp = false, refusesKeys = false, refusesShell = false } = access
  if (actor.kind === 'key') {
    const hasScope = scope === null || (actor.scopes.includes(scope) && roleHasScope(actor.role, scope))
    return hasScope && !refusesKeys ? 'allowed' : 'forbidden'
  }
  if (actor.kind === 'shell') {
    if (refusesShell) return 'forbidden'
  } else if (scope !== null && !roleHasScope(actor.role, scope)) return 'forbidden'
  if (actor.kind === 'unverified') return 'second_factor_required'
  return needsStepUp && !isStepUpFresh(actor, now) ? 'step_up_required' : 'allowed'
}

/** A time in the future is no proof: the clock was set back. */
export function isStepUpFresh({ verifiedAt }: { readonly verifiedAt: number }, now: number): boolean {
  return verifiedAt <= now && now - verifiedAt < stepUpMs
}

export function listScopes(actor: OperatorActor): readonly OperatorScope[] {
  return operatorScopes.filter((scope) =>
    actor.kind === 'shell' ? true : roleHasScope(actor.role, scope) && (actor.kind !== 'key' || actor.scopes.includes(scope)),
  )
}

/** Who caused an audit record, as it is stored. */
export interface AuditActor {
  readonly kind: OperatorActor['kind'] | CommandActor['kind']
  readonly account?: string
  readonly key?: string
  readonly session?: string
  readonly system_user?: string
}

export function toAuditActor(actor: OperatorActor | CommandActor): AuditActor {
  const { kind } = actor
  if (kind === 'command') return { kind, system_user: actor.systemUser }
  if (kind === 'shell') return { kind, system_user: actor.systemUser, session: actor.session }
  if (kind === 'key') return { kind, account: actor.account, key: actor.key }
  return kind === 'session' ? { kind, account: actor.account, session: actor.session } : { kind, account: actor.account }
}
