/** The second factor in a form: the field for a code, and where there are passkeys the button for one, which needs a script. */
import type { PasskeyPurpose } from '../../../domain/identity/operators/passkeys.ts'
import type { SecondFactorProof, SecondFactorRefusal } from '../../../domain/services/operators/second-factor-service.ts'
import type { GatewayError } from '../../../errors.ts'
import { html } from '../../html.ts'
import type { Html } from '../../html.ts'
import type { PageContext, SubmittedForm } from '../../page.ts'
import { createErrorInWords, createFieldError, readText } from './fields.ts'
import type { PageForm } from './form.ts'

const maxCodeChars = 32
const maxAnswerChars = 16_384

export function renderConsoleCode({ t }: PageContext, form: PageForm, hint: string = t.operator.codeHint): Html {
  const attributes = html`autocomplete="one-time-code" autocapitalize="none" spellcheck="false" maxlength="${maxCodeChars}"
  required`
  return form.renderField({ name: 'code', label: t.operator.code, hint, attributes })
}

/** `purpose` null: the operator has no passkey, or browsers allow none here. */
export function renderConsoleProof(
  context: PageContext,
  form: PageForm,
  { purpose, hint }: { readonly purpose: PasskeyPurpose | null; readonly hint?: string },
): Html {
  const button = context.t.operator.usePasskey
  return html`${renderConsoleCode(context, form, hint)} ${purpose !== null && renderPasskeyButton(context, purpose, button)}`
}

/** Hidden until `browser/lazy/passkeys.ts` has found that the browser can do it. It sends its form with the authenticator's answer. */
export function renderPasskeyButton({ t: { operator } }: PageContext, purpose: PasskeyPurpose, label: string): Html {
  return html`<div
    class="field"
    data-passkey="${purpose}"
    data-cancelled="${operator.passkeyCancelled}"
    data-known="${operator.passkeyRefusals.known}"
    data-failed="${operator.passkeyFailed}"
    hidden
  >
    <input type="hidden" name="passkey" value="" />
    <button type="button" class="button quiet block">${label}</button>
    <p class="field-error" role="alert" hidden></p>
  </div>`
}

/** Null if nothing was given. @throws GatewayError at the field */
export function readConsoleProof(form: SubmittedForm): SecondFactorProof | null {
  const answer = readPasskeyAnswer(form)
  if (answer !== null) return { kind: 'passkey', answer }
  const code = readConsoleCode(form)
  return code === null ? null : { kind: 'code', code }
}

/** @throws GatewayError at the field, also if nothing was given */
export function requireConsoleProof(form: SubmittedForm): SecondFactorProof {
  const proof = readConsoleProof(form)
  if (proof === null) throw createFieldError('code', 'missing')
  return proof
}

/** Without the blanks in it; null if nothing was typed. @throws GatewayError at the field */
export function readConsoleCode(form: SubmittedForm): string | null {
  if ((form.fields.get('code') ?? '').trim() === '') return null
  return readText(form, 'code', maxCodeChars).replaceAll(/\s/g, '')
}

/** The authenticator's answer as JSON; null without one. */
export function readPasskeyAnswer({ fields }: SubmittedForm): string | null {
  const answer = fields.get('passkey') ?? ''
  return answer === '' ? null : answer.slice(0, maxAnswerChars)
}

export function createProofError(refusal: SecondFactorRefusal): GatewayError {
  return createErrorInWords('invalid_credentials', 'code', ({ operator }) =>
    refusal === 'code' ? operator.wrongCode : operator.passkeyRefusals[refusal],
  )
}
