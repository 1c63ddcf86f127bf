/** Who makes a change as an operator, from where and why; every change of an operator writes it to the audit log. */
import type { AuditAuthor } from '../../identity/audit.ts'
import type { ClientInfo } from '../../identity/client-info.ts'
import type { CommandActor, OperatorActor } from '../../identity/operators/operator-actor.ts'
import { toAuditActor } from '../../identity/operators/operator-actor.ts'

export interface OperatorAuthor {
  readonly actor: OperatorActor | CommandActor
  /** Null for a command. */
  readonly client: ClientInfo | null
  readonly reason: string | null
}

export const maxReasonChars = 500

export function toAuditAuthor({ actor, reason }: Pick<OperatorAuthor, 'actor' | 'reason'>): AuditAuthor {
  return { actor: toAuditActor(actor), reason }
}
