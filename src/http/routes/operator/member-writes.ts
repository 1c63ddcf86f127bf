/** What operators change about members: each with a reason, and through the services that the commands use. */
import {
  adjustMemberCredits,
  changeMemberEmail as changeMemberEmailEndpoint,
  createMember as createMemberEndpoint,
  endMemberSessions,
  resendSignInEmail as resendSignInEmailEndpoint,
  revokeMemberKey as revokeMemberKeyEndpoint,
  setMemberPlan,
  setMemberStatus as setMemberStatusEndpoint,
  unlinkMemberProvider as unlinkMemberProviderEndpoint,
} from '../../../api/operator/members.ts'
import {
  adjustCredits,
  changeMemberEmail,
  createMember,
  givePlan,
  requireAccount,
  resendSignInEmail,
  revokeMemberKey,
  setMemberStatus,
  unlinkMemberProvider,
} from '../../../services/member-administration.ts'
import type { Services } from '../../../services/services.ts'
import type { ServeOperatorEndpoint } from '../../operator-endpoint.ts'
import { toMember } from './member-reads.ts'

export function mountMemberWrites(serve: ServeOperatorEndpoint, services: Services): void {
  const { membership, config } = services

  serve(createMemberEndpoint, async ({ body: { email, plan = config.defaultPlan, until }, author }) =>
    toMember(await createMember({ email, plan, until: toInstant(until) }, author, services)),
  )

  serve(setMemberPlan, async ({ params: { id }, body: { plan, until }, author }) => {
    const account = await requireAccount(id, services)
    const entitlementChange = await givePlan(account, { plan, until: toInstant(until) }, author, services)
    return { member: toMember(await requireAccount(account.id, services)), given_plan: entitlementChange.plan }
  })

  serve(adjustMemberCredits, async ({ params: { id }, body: { pool, credits, expires_at: expires, reason }, author }) => {
    const account = await requireAccount(id, services)
    const correction = { pool, credits, expiresAt: toInstant(expires), reason }
    return { ok: true, id: await adjustCredits(account, correction, author, services) }
  })

  serve(setMemberStatusEndpoint, async ({ params: { id }, body: { status }, author }) => {
    const account = await requireAccount(id, services)
    await setMemberStatus(account, status, author, services)
    return toMember(await requireAccount(account.id, services))
  })

  serve(endMemberSessions, async ({ params: { id }, author }) => {
    const { id: account } = await requireAccount(id, services)
    return { ok: true, ended_sessions: await membership.memberAdmin.endSessions(account, author) }
  })

  serve(resendSignInEmailEndpoint, async ({ params: { id }, author }) => {
    const { isDelayed } = await resendSignInEmail(await requireAccount(id, services), author, services)
    return { ok: true, is_delayed: isDelayed }
  })

  serve(revokeMemberKeyEndpoint, async ({ params: { id, key }, author }) => {
    await revokeMemberKey(await requireAccount(id, services), key, author, services)
    return { ok: true, id: key }
  })

  serve(changeMemberEmailEndpoint, async ({ params: { id }, body: { email }, author }) => {
    const account = await requireAccount(id, services)
    await changeMemberEmail(account, email, author, services)
    return toMember(await requireAccount(account.id, services))
  })

  serve(unlinkMemberProviderEndpoint, async ({ params: { id, provider }, author }) => {
    await unlinkMemberProvider(await requireAccount(id, services), provider, author, services)
    return { ok: true }
  })
}

function toInstant(text: string | undefined): number | null {
  return text === undefined ? null : Date.parse(text)
}
