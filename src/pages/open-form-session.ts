/** Signs in by a form, which may be sent twice: the answer to the first press of a double click is lost. */
import type { ClientInfo } from '../domain/identity/client-info.ts'
import type { SignInResult } from '../domain/services/sign-in-service.ts'
import { GatewayError } from '../errors.ts'
import { createSignInError } from '../services/membership-errors.ts'
import type { PageContext, SubmittedForm } from './page.ts'

interface FormSignIn {
  /** What proves who signs in. With it, and only with it, a repeat of the form opens the same session. */
  readonly evidence: string
  readonly signIn: (client: ClientInfo) => Promise<SignInResult>
  readonly createWrongError: () => GatewayError
}

/** @throws GatewayError for a refusal */
export async function openFormSession(
  { services, browser }: PageContext,
  { fields }: SubmittedForm,
  { evidence, signIn, createWrongError }: FormSignIn,
): Promise<void> {
  const { formIds, sessions } = services.membership
  const token = formIds.deriveToken(fields.get('form') ?? '', 'session', browser.token ?? '', evidence)
  let session = await sessions.findByToken(token)
  if (session === undefined) {
    const result = await signIn({ ...browser.client, sessionToken: token })
    // A concurrent repeat may have been first.
    session = result.kind === 'signed-in' ? result.session : await sessions.findByToken(token)
    if (session === undefined)
      throw result.kind === 'no-sign-up' ? createSignInError(result, services.config.signIn) : createWrongError()
  }
  await browser.openSession(session.account, token)
}

/** Where the providers are the only way in, nothing else signs in. @throws GatewayError */
export function requireEmailSignIn({ services }: PageContext): void {
  if (services.config.signIn.providersOnly) throw new GatewayError('sign_in_method_disabled')
}
