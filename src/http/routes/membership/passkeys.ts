/** What a page shows the browser's authenticator to prove an operator, or to add a passkey: options with a challenge of their own. */
import type { Context } from 'koa'
import { createPasskeyOptions } from '../../../api/membership/sign-in.ts'
import { decideAccess } from '../../../domain/identity/operators/operator-actor.ts'
import { GatewayError } from '../../../errors.ts'
import type { Services } from '../../../services/services.ts'
import type { ServeEndpoint } from '../../endpoint-handler.ts'
import { readOperatorCookie } from '../../request/operator-cookie.ts'
import type { Member } from '../../auth/session-auth.ts'

export function mountPasskeyRoutes(serve: ServeEndpoint, services: Services): void {
  const { passkeys } = services.membership

  serve(createPasskeyOptions, async ({ ctx, member, body: { purpose } }) => {
    if (!passkeys.isAvailable()) throw new GatewayError('not_found')
    const { account, session } =
      purpose === 'sign_in' ? await findMember(member, services) : await findOperator(ctx, purpose, services)
    const { email } = (await services.store.accounts.find(account)) ?? {}
    return { ok: true, options: await passkeys.begin({ id: account, label: email ?? account }, { session, purpose }) }
  })
}

interface ChallengedSession {
  readonly account: string
  readonly session: string
}

/** For members without a role there is nothing here. */
async function findMember({ account, credential }: Member, { store, clock }: Services): Promise<ChallengedSession> {
  if ((await store.operators.find(account.id, clock.now())) === undefined) throw new GatewayError('not_found')
  return { account: account.id, session: credential.id }
}

/** The console's session; a new passkey needs a fresh proof. */
async function findOperator(ctx: Context, purpose: 'step_up' | 'register', services: Services): Promise<ChallengedSession> {
  const token = readOperatorCookie(ctx, services)
  const actor = token === null ? undefined : await services.membership.consoleSessions.resolve(token)
  if (actor?.kind !== 'session') throw new GatewayError('sign_in_required')
  const access = purpose === 'register' ? ({ scope: null, needsStepUp: true } as const) : { scope: null }
  const decision = decideAccess(actor, access, services.clock.now())
  if (decision !== 'allowed') throw new GatewayError(decision === 'forbidden' ? 'permission_denied' : decision)
  return { account: actor.account, session: actor.session }
}
