/** Signs in by a form, which may be sent twice: the answer to the first press of a double click is lost. */
import type { ClientInfo } from '../domain/identity/client-info.ts'
import type { Session } from '../domain/identity/session.ts'
import type { SignInResult } from '../domain/services/sign-in/sign-in-service.ts'
import { GatewayError } from '../errors.ts'
import { createSignInError } from '../services/membership-errors.ts'
import type { Services } from '../services/services.ts'
import type { PageContext, SubmittedForm } from './page.ts'

interface FormSignIn {
  /** What proves who signs in. With it, and only with it, a repeat of the form opens the same session. */
  readonly evidence: string
  readonly signIn: (client: ClientInfo) => Promise<SignInResult>
  readonly createWrongError: () => GatewayError
  readonly isRepeat: boolean
}

const firstWaitMs = 50
/** The waits double; all together are 13 seconds. */
const maxWaitMs = 6_400

/** @throws GatewayError for a refusal */
export async function openFormSession(
  { services, browser }: PageContext,
  { fields }: SubmittedForm,
  { evidence, signIn, createWrongError, isRepeat }: FormSignIn,
): Promise<void> {
  const token = services.membership.formIds.deriveToken(fields.get('form') ?? '', 'session', browser.token ?? '', evidence)
  let session = isRepeat ? await awaitSession(token, services) : undefined
  if (session === undefined) {
    const result = await signIn({ ...browser.client, sessionToken: token })
    if (result.kind === 'no-sign-up' || result.kind === 'deletion_waiting')
      throw createSignInError(result, services.config.signIn)
    if (result.kind === 'wrong') throw createWrongError()
    session = result.session
  }
  await browser.openSession(session.account, token)
}

/** The session of the form that came first, which may still be running, here or on another node. */
async function awaitSession(
  token: string,
  { membership, clock }: Pick<Services, 'clock' | 'membership'>,
): Promise<Session | undefined> {
  for (let waitMs = firstWaitMs; waitMs <= maxWaitMs; waitMs *= 2) {
    const session = await membership.sessions.findByToken(token)
    if (session !== undefined) return session
    await clock.wait(waitMs)
  }
  return membership.sessions.findByToken(token)
}

/** Where the providers are the only way in, nothing else signs in. @throws GatewayError */
export function requireEmailSignIn({ services }: PageContext): void {
  if (services.config.signIn.providersOnly) throw new GatewayError('sign_in_method_disabled')
}
