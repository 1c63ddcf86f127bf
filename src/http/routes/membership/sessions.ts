/** A member's sessions and security events. */
import type { ResponseOf } from '../../../api/endpoint.ts'
import { endOtherSessions, endSession, listAudit, listSessions } from '../../../api/membership/sessions.ts'
import { GatewayError } from '../../../errors.ts'
import type { AuditRecord } from '../../../domain/identity/audit.ts'
import { formatInstant } from '../../../domain/instant.ts'
import { getSessionExpiry } from '../../../domain/identity/session.ts'
import type { Session } from '../../../domain/identity/session.ts'
import type { Services } from '../../../services/services.ts'
import type { ServeEndpoint } from '../../endpoint-handler.ts'

export function mountSessionRoutes(
  serve: ServeEndpoint,
  { membership: { sessions: service } }: Pick<Services, 'membership'>,
): void {
  serve(listSessions, async ({ member: { account, credential } }) => ({
    object: 'list',
    data: (await service.list(account.id)).map((session) => toSession(session, credential.id)),
  }))

  serve(endSession, async ({ member: { account }, params: { id }, clientInfo }) => {
    if (!(await service.end(account.id, id, clientInfo))) throw new GatewayError('not_found')
    return { ok: true, id, ended: true }
  })

  serve(endOtherSessions, async ({ member: { account, credential }, clientInfo }) => ({
    ok: true,
    ended_sessions: await service.endOthers(account.id, credential.id, clientInfo),
  }))

  serve(listAudit, async ({ member: { account }, query }) => {
    const { records, hasMore } = await service.listSecurityEvents(account.id, query)
    return { object: 'list', data: records.map(toAuditRecord), has_more: hasMore }
  })
}

export function toSession(session: Session, current: string): ResponseOf<typeof listSessions>['data'][number] {
  const { id, kind, method, client, address, createdAt, lastUsedAt } = session
  return {
    id,
    kind,
    method,
    client,
    address,
    created_at: formatInstant(createdAt),
    last_used_at: formatInstant(lastUsedAt),
    expires_at: formatInstant(getSessionExpiry(session)),
    current: id === current,
  }
}

function toAuditRecord(record: AuditRecord): ResponseOf<typeof listAudit>['data'][number] {
  const { id, event, at, address, requestId, detail } = record
  return { id, event, at: formatInstant(at), address, request_id: requestId, detail }
}
