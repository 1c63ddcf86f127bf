/** The audit log. */
import type { Audit, AuditRecord } from '../../../domain/identity/audit.ts'
import type { Database } from '../../database.ts'
import { ownJsonBounds, parseJson } from '../../../system/parse-json.ts'

export function createAuditRepository({ read, write }: Database): Audit {
  return {
    async record({ requestId, detail, actor, ...record }) {
      await write
        .insertInto('audit')
        .values({ ...record, request_id: requestId, detail: toJson(detail), actor: toJson(actor) })
        .execute()
    },

    async list({ account, event, before, since, limit }) {
      let page = read.selectFrom('audit').selectAll().orderBy('id', 'desc').limit(limit)
      if (account !== undefined) page = page.where('account', '=', account)
      if (event !== undefined) page = page.where('event', '=', event)
      if (before !== undefined) page = page.where('id', '<', before)
      // Ids begin with the time, so nothing older is read, where fewer records match than are wanted.
      if (since !== undefined)
        page = page.where('id', '>=', (select) =>
          select.selectFrom('audit').select('id').where('at', '>=', since).orderBy('at').orderBy('id').limit(1),
        )
      return (await page.execute()).map(({ request_id: requestId, detail, actor, ...record }) => ({
        ...record,
        requestId,
        detail: detail === null ? null : (parseJson(detail, ownJsonBounds) as AuditRecord['detail']),
        actor: actor === null ? null : (parseJson(actor, ownJsonBounds) as AuditRecord['actor']),
      }))
    },

    async sweep(at, limit) {
      const [result] = await write
        .deleteFrom('audit')
        .where('id', 'in', (old) => old.selectFrom('audit').select('id').where('at', '<', at).orderBy('at').limit(limit))
        .execute()
      return Number(result?.numDeletedRows ?? 0n)
    },
  }
}

function toJson(value: object | null): string | null {
  return value === null ? null : JSON.stringify(value)
}
