/** Takes targets out of the routing and brings them back, for the operator API and the console alike. */
import type { AuditWriter } from '../../identity/audit.ts'
import { formatInstant } from '../../instant.ts'
import type { Store } from '../../store.ts'
import type { TakenOutTarget } from '../../taken-out-target.ts'
import type { OperatorAuthor } from './operator-author.ts'
import { toAuditAuthor } from './operator-author.ts'

interface TargetRoutingDeps {
  readonly store: Pick<Store, 'takenOutTargets'>
  readonly clock: { now(): number }
  readonly writeAudit: AuditWriter
}

export interface TakeOutOrder {
  /** `upstream/model`. */
  readonly target: string
  readonly minutes: number
  /** Asked within the transaction, with the other targets that are out. */
  readonly mayTakeOut: (takenOut: ReadonlySet<string>) => boolean
}

export class TargetRoutingService {
  readonly #deps: TargetRoutingDeps

  constructor(deps: TargetRoutingDeps) {
    this.#deps = deps
  }

  /** A target that is out already gets the new end. Undefined where `mayTakeOut` refused. */
  async takeOut(
    { target, minutes, mayTakeOut }: TakeOutOrder,
    author: OperatorAuthor & { readonly reason: string },
  ): Promise<TakenOutTarget | undefined> {
    const { store, clock, writeAudit } = this.#deps
    const at = clock.now()
    const takenOut = { target, takenOutAt: at, until: at + minutes * 60_000, reason: author.reason }
    const result = await store.takenOutTargets.takeOut(takenOut, mayTakeOut)
    if (result === undefined) return undefined
    const detail = {
      by: 'operator',
      target,
      minutes,
      until: formatInstant(takenOut.until),
      ...(result.before === null ? null : { before_until: formatInstant(result.before.until) }),
    }
    await writeAudit('target_taken_out', null, author.client, detail, toAuditAuthor(author))
    return takenOut
  }

  /** False where it was not out; nothing is recorded then. */
  async bringBack(target: string, author: OperatorAuthor): Promise<boolean> {
    const { store, clock, writeAudit } = this.#deps
    const before = await store.takenOutTargets.bringBack(target, clock.now())
    if (before === undefined) return false
    const detail = { by: 'operator', target, before_until: formatInstant(before.until) }
    await writeAudit('target_brought_back', null, author.client, detail, toAuditAuthor(author))
    return true
  }
}
