/** Signs a browser in, whichever way the member has proven to be one. */
import type { Context } from 'koa'
import type { Services } from '../../services/services.ts'
import { listSessionTokens, readSignInStep, setDeviceCookie, setSessionCookie, setSignInStep } from '../request/member-cookies.ts'

/** Sets the session's cookie, ends the sessions that the browser had before, and forgets where a sign-in stood. */
export async function openSession(ctx: Context, services: Services, account: string, token: string): Promise<void> {
  const earlierTokens = listSessionTokens(ctx, services).slice(0, 4)
  for (const each of earlierTokens) if (each !== token) await services.membership.sessions.endByToken(each)
  setSessionCookie(ctx, services, token)
  setDeviceCookie(ctx, services, account)
  if (readSignInStep(ctx, services) !== null) setSignInStep(ctx, services, null)
}
