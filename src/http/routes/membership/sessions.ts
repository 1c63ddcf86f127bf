/** A member's sessions, and what happened to their account. */
import type { Router } from '@koa/router'
import { GatewayError, invalidRequest } from '../../../errors.ts'
import type { AuditRecord } from '../../../membership/audit.ts'
import { endOf } from '../../../membership/session.ts'
import type { Session } from '../../../membership/session.ts'
import type { House } from '../../house.ts'
import { idOf, mount } from './mount.ts'
import { requireCookie, visitorOf } from './visitor.ts'

const auditPage = { usual: 50, most: 200 } as const

export function sessionRoutes(router: Router, { services }: House): void {
  const { membership, store, credentials, clock } = services

  mount(router, 'get', '/auth/sessions', async (ctx) => {
    const { account, credential } = await requireCookie(ctx, services)
    const now = clock.now()
    const sessions = (await store.sessions.list(account.id)).filter((session) => endOf(session) > now)
    return { object: 'list', data: sessions.map((session) => toSessionRecord(session, credential.id)) }
  })

  mount(router, 'delete', '/auth/sessions/:id', async (ctx) => {
    const { account } = await requireCookie(ctx, services)
    const id = idOf(ctx)
    if (!(await store.sessions.end(account.id, id))) throw new GatewayError('not_found')
    credentials.forgetAccount(account.id)
    await membership.note('session_ended', account.id, visitorOf(ctx, services), { session: id })
    return { ok: true, id, ended: true }
  })

  mount(router, 'post', '/auth/sessions/end-others', async (ctx) => {
    const { account, credential } = await requireCookie(ctx, services)
    const ended = await store.sessions.endOthers(account.id, credential.id)
    credentials.forgetAccount(account.id)
    await membership.note('session_ended', account.id, visitorOf(ctx, services), { ended_sessions: ended })
    return { ok: true, ended_sessions: ended }
  })

  mount(router, 'get', '/audit', async (ctx) => {
    const { account } = await requireCookie(ctx, services)
    const limit = pageSize(ctx.query['limit'])
    const before = ctx.query['before']
    const records = await store.audit.list({
      account: account.id,
      limit: limit + 1,
      ...(typeof before === 'string' && before !== '' ? { before } : {}),
    })
    return { object: 'list', data: records.slice(0, limit).map(toAuditRecord), has_more: records.length > limit }
  })
}

function pageSize(asked: string | string[] | undefined): number {
  if (asked === undefined || asked === '') return auditPage.usual
  const size = typeof asked === 'string' && /^\d{1,4}$/.test(asked) ? Number(asked) : 0
  if (size < 1 || size > auditPage.most)
    throw invalidRequest(
      { en: `'limit' must be from 1 to ${auditPage.most}.`, zh: `'limit' 必须在 1 到 ${auditPage.most} 之间。` },
      'limit',
    )
  return size
}

export function toSessionRecord(session: Session, current: string): Record<string, unknown> {
  const { id, kind, method, client, address, createdAt, lastUsedAt } = session
  return {
    id,
    kind,
    method,
    client,
    address,
    created_at: new Date(createdAt).toISOString(),
    last_used_at: new Date(lastUsedAt).toISOString(),
    expires_at: new Date(endOf(session)).toISOString(),
    current: id === current,
  }
}

function toAuditRecord({ id, event, at, address, requestId, detail }: AuditRecord): Record<string, unknown> {
  return { id, event, at: new Date(at).toISOString(), address, request_id: requestId, detail }
}
