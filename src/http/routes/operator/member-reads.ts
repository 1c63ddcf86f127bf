/** Members as operators see them: found, with plan, pools, turns, keys, sessions and log. */
import type { ResponseOf } from '../../../api/endpoint.ts'
import {
  findMembers as findMembersEndpoint,
  listMemberAudit,
  listMemberKeys,
  listMemberSessions,
  listMemberTurns,
  showMember,
} from '../../../api/operator/members.ts'
import { toUsageBoosts, toUsagePools, toUsageTurn } from '../../../domain/billing/usage/usage.ts'
import type { Account } from '../../../domain/identity/account.ts'
import { toKeyFields } from '../../../domain/identity/api-key.ts'
import { formatInstant } from '../../../domain/instant.ts'
import { findMembers } from '../../../services/find-members.ts'
import { requireAccount } from '../../../services/member-administration.ts'
import { getBalance } from '../../../services/member-usage.ts'
import type { Services } from '../../../services/services.ts'
import type { ServeOperatorEndpoint } from '../../operator-endpoint.ts'
import { toSession } from '../membership/sessions.ts'
import { toOperatorAuditRecord } from './records.ts'
import { toPage } from './to-page.ts'

export function mountMemberReads(serve: ServeOperatorEndpoint, services: Services): void {
  const { store, membership } = services

  serve(findMembersEndpoint, async ({ query: { q, cursor, limit } }) => {
    if (q !== undefined) return { object: 'list', data: (await findMembers(q, services)).map(toMember), next_cursor: null }
    const page = { limit: limit + 1, ...(cursor === undefined ? {} : { after: cursor }) }
    return toPage((await store.accounts.list(page)).map(toMember), limit)
  })

  serve(showMember, async ({ params: { id } }) => {
    const account = await requireAccount(id, services)
    const balance = await getBalance(account, services)
    return { member: toMember(account), pools: toUsagePools(balance), boosts: toUsageBoosts(balance) }
  })

  serve(listMemberTurns, async ({ params: { id }, query: { cursor, limit } }) => {
    const { id: account } = await requireAccount(id, services)
    const page = { account, limit: limit + 1, ...(cursor === undefined ? {} : { before: cursor }) }
    const turns = await services.ledger.turns(page)
    const shownTurns = turns.slice(0, limit)
    const next = turns.length > limit ? (shownTurns.at(-1)?.id ?? null) : null
    return { object: 'list', data: shownTurns.map(toUsageTurn), next_cursor: next }
  })

  serve(listMemberKeys, async ({ params: { id } }) => {
    const { id: account } = await requireAccount(id, services)
    const data = (await membership.apiKeys.list(account)).map(toKeyFields)
    return { object: 'list', data }
  })

  serve(listMemberSessions, async ({ params: { id } }) => {
    const { id: account } = await requireAccount(id, services)
    const data = (await membership.sessions.list(account)).map((session) => {
      const { current: _, ...shown } = toSession(session, '')
      return shown
    })
    return { object: 'list', data }
  })

  serve(listMemberAudit, async ({ params: { id }, query: { cursor, limit } }) => {
    const { id: account } = await requireAccount(id, services)
    const page = { account, limit: limit + 1, ...(cursor === undefined ? {} : { before: cursor }) }
    return toPage((await store.audit.list(page)).map(toOperatorAuditRecord), limit)
  })
}

type Member = ResponseOf<typeof findMembersEndpoint>['data'][number]

export function toMember({ id, email, plan, planUntil, terms, status, createdAt }: Account): Member {
  return {
    id,
    email,
    plan,
    plan_until: formatInstant(planUntil),
    terms: terms?.id ?? null,
    status,
    created_at: formatInstant(createdAt),
  }
}
