/**
 * Pages of the console: who sees them, and who sends their forms. The only way to either, as `operator-auth.ts` is to the operator API; both
 * ask `decideAccess`.
 */
import type { Context } from 'koa'
import { decideAccess, isStepUpFresh } from '../domain/identity/operators/operator-actor.ts'
import type { OperatorAccess } from '../domain/identity/operators/operator-actor.ts'
import { GatewayError } from '../errors.ts'
import { createProofError, readConsoleProof } from '../pages/components/forms/console-proof.ts'
import { requireOperatorContext } from '../pages/page.ts'
import type {
  OperatorAction,
  OperatorActions,
  OperatorContext,
  PageActions,
  PageContext,
  PageOperator,
  SubmittedForm,
} from '../pages/page.ts'
import type { Services } from '../services/services.ts'
import { readOperatorCookie } from './request/operator-cookie.ts'
import { getClientInfo } from './auth/session-auth.ts'

/** The operator of the console's cookie. */
export async function findPageOperator(ctx: Context, services: Services): Promise<PageOperator | undefined> {
  const { consoleSessions, passkeys, secondFactors } = services.membership
  const token = readOperatorCookie(ctx, services)
  let actor = token === null ? undefined : await consoleSessions.resolve(token)
  if (actor === undefined) return undefined
  const consoleActor = actor
  const account = consoleActor.kind === 'session' ? await services.store.accounts.find(consoleActor.account) : undefined
  const needsProof = consoleActor.kind === 'session' && !isStepUpFresh(consoleActor, services.clock.now())
  return {
    account: account ?? null,
    offersPasskey: needsProof && (await passkeys.isOffered(consoleActor.account)),
    get actor() {
      return actor ?? consoleActor
    },
    async stepUp(proof) {
      if (consoleActor.kind !== 'session') return 'code'
      const place = { session: consoleActor.session, purpose: 'step_up' } as const
      const result = await secondFactors.verify(consoleActor.account, proof, place, getClientInfo(ctx, services))
      if (result.kind === 'refused') return result.why
      await consoleSessions.stepUp(consoleActor.session)
      actor = { ...consoleActor, verifiedAt: services.clock.now() }
      return null
    },
  }
}

/** Null without a session of the console. @throws GatewayError for an operator who may not see the page */
export async function admitOperator({ services, browser }: PageContext, access: OperatorAccess): Promise<PageOperator | null> {
  const { membership, clock } = services
  // Before a role exists there is nothing here, for anyone.
  if (!(await membership.consoleSessions.isOpen())) throw new GatewayError('not_found')
  const operator = await browser.findOperator()
  if (operator === undefined) return null
  const decision = decideAccess(operator.actor, access, clock.now())
  if (decision !== 'allowed') throw new GatewayError(decision === 'forbidden' ? 'permission_denied' : decision)
  return operator
}

/** The same actions behind what they ask of the operator. */
export function guardActions(actions: OperatorActions): PageActions<PageContext> {
  const guard =
    ({ access, run }: OperatorAction): PageActions<PageContext>[string] =>
    async (context, form) => {
      const operatorContext = requireOperatorContext(context)
      await authorize(operatorContext, access, form)
      return run(operatorContext, form)
    }
  return Object.fromEntries(Object.entries(actions).map(([name, action]) => [name, guard(action)]))
}

/** Where a fresh proof is missing, the form's own code gives it. @throws GatewayError */
async function authorize({ operator, services }: OperatorContext, access: OperatorAccess, form: SubmittedForm): Promise<void> {
  const decide = () => decideAccess(operator.actor, access, services.clock.now())
  if (decide() === 'step_up_required') {
    const proof = readConsoleProof(form)
    const refusal = proof === null ? null : await operator.stepUp(proof)
    if (refusal !== null) throw createProofError(refusal)
  }
  const decision = decide()
  if (decision === 'allowed') return
  if (decision === 'forbidden') throw new GatewayError('permission_denied')
  throw new GatewayError(decision, { param: 'code' })
}
