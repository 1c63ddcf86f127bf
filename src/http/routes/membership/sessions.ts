/** A member's sessions, and what happened to their account. */
import type { AnswerOf } from '../../../api/endpoint.ts'
import { endOtherSessions, endSession, listAudit, listSessions } from '../../../api/membership/sessions.ts'
import { GatewayError } from '../../../errors.ts'
import type { AuditRecord } from '../../../membership/audit.ts'
import { instant } from '../../../membership/instant.ts'
import { endOf } from '../../../membership/session.ts'
import type { Session } from '../../../membership/session.ts'
import type { Services } from '../../../gateway/services.ts'
import type { Serve } from '../../serve.ts'

export function sessionRoutes(serve: Serve, { membership: { sessions: desk } }: Services): void {
  serve(listSessions, async ({ member: { account, credential } }) => ({
    object: 'list',
    data: (await desk.list(account.id)).map((session) => toSession(session, credential.id)),
  }))

  serve(endSession, async ({ member: { account }, params: { id }, visitor }) => {
    if (!(await desk.end(account.id, id, visitor))) throw new GatewayError('not_found')
    return { ok: true, id, ended: true }
  })

  serve(endOtherSessions, async ({ member: { account, credential }, visitor }) => ({
    ok: true,
    ended_sessions: await desk.endOthers(account.id, credential.id, visitor),
  }))

  serve(listAudit, async ({ member: { account }, query }) => {
    const { records, hasMore } = await desk.events(account.id, query)
    return { object: 'list', data: records.map(toAuditRecord), has_more: hasMore }
  })
}

export function toSession(session: Session, current: string): AnswerOf<typeof listSessions>['data'][number] {
  const { id, kind, method, client, address, createdAt, lastUsedAt } = session
  return {
    id,
    kind,
    method,
    client,
    address,
    created_at: instant(createdAt),
    last_used_at: instant(lastUsedAt),
    expires_at: instant(endOf(session)),
    current: id === current,
  }
}

function toAuditRecord(record: AuditRecord): AnswerOf<typeof listAudit>['data'][number] {
  const { id, event, at, address, requestId, detail } = record
  return { id, event, at: instant(at), address, request_id: requestId, detail }
}
