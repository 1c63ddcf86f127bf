/** Gives and takes the roles of operators. */
import type { AuditWriter } from '../../identity/audit.ts'
import type { GroupRole, OperatorRole } from '../../identity/operators/operator-role.ts'
import type { ClientInfo } from '../../identity/client-info.ts'
import type { Store } from '../../store.ts'
import type { OperatorAuthor } from './operator-author.ts'
import { toAuditAuthor } from './operator-author.ts'

interface OperatorRoleDeps {
  readonly store: Pick<Store, 'operators'>
  readonly clock: { now(): number }
  readonly writeAudit: AuditWriter
  /** By provider, the roles that its groups give, the first first. */
  readonly groupRoles: GroupRoles
}

export type GroupRoles = Readonly<Record<string, readonly (readonly [group: string, role: GroupRole])[]>>

export class OperatorRoleService {
  readonly #deps: OperatorRoleDeps

  constructor(deps: OperatorRoleDeps) {
    this.#deps = deps
  }

  /** Null takes the role, and ends the operator's sessions and keys. False for an account that is not active. @throws LastOwnerError */
  async setRole(account: string, role: OperatorRole | null, author: OperatorAuthor): Promise<boolean> {
    const { store, clock, writeAudit } = this.#deps
    const newRole = role === null ? null : { name: role, provider: null }
    const result = await store.operators.setRole(account, newRole, clock.now())
    if (result === undefined) return false
    const detail = { by: 'operator', before: result.before, after: role }
    await writeAudit('role_changed', account, author.client, detail, toAuditAuthor(author))
    return true
  }

  /** At a sign-in by a provider: the role follows the member's groups of now. */
  async applyGroups(account: string, provider: string, groups: readonly string[], client: ClientInfo): Promise<void> {
    const { store, clock, writeAudit, groupRoles } = this.#deps
    const rules = Object.hasOwn(groupRoles, provider) ? (groupRoles[provider] ?? []) : []
    const role = rules.find(([group]) => groups.includes(group))?.[1] ?? null
    const { before, after } = await store.operators.applyGroupRole(account, provider, role, clock.now())
    if (before !== after) await writeAudit('role_changed', account, client, { by: provider, before, after })
  }

  /** For an operator who has lost the second factor and its recovery codes; the next sign-in sets it up anew. False if there was none. */
  async resetSecondFactor(account: string, author: OperatorAuthor): Promise<boolean> {
    const { store, writeAudit } = this.#deps
    if (!(await store.operators.removeSecondFactor(account))) return false
    await writeAudit('second_factor_removed', account, author.client, { by: 'operator' }, toAuditAuthor(author))
    return true
  }
}
