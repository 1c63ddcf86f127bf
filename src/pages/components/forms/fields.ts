/** Reads what was typed into a form; a fault is told at its field, in words. */
import { GatewayError } from '../../../errors.ts'
import type { ErrorCode } from '../../../errors.ts'
import { createInvalidAddressError } from '../../../services/membership-errors.ts'
import { parseEmailCode } from '../../pasted-code.ts'
import { texts } from '../../texts/texts.ts'
import type { Texts } from '../../texts/en.ts'
import { interpolate } from '../../page.ts'
import type { SubmittedForm } from '../../page.ts'

export const maxEmailChars = 254
export const maxCodeChars = 64

// eslint-disable-next-line no-control-regex
const controlCharacters = /[\u0000-\u001f\u007f]/

/** The text of a field, without the blanks around it. @throws GatewayError at the field */
export function readText({ fields }: SubmittedForm, name: string, maxChars: number): string {
  const text = (fields.get(name) ?? '').trim()
  if (text === '') throw createFieldError(name, 'missing')
  if (text.length > maxChars) throw createFieldError(name, 'tooLong', { max: maxChars })
  if (controlCharacters.test(text)) throw createFieldError(name, 'unusable')
  return text
}

/** As it was typed, blanks included; null if empty. */
export function readPassword({ fields }: SubmittedForm, name: string): string | null {
  const typedPassword = fields.get(name) ?? ''
  if (typedPassword.length > 1024) throw createFieldError(name, 'tooLong', { max: 1024 })
  return typedPassword === '' ? null : typedPassword
}

/** Empty becomes null. */
export function readOptional(form: SubmittedForm, name: string, maxChars: number): string | null {
  return (form.fields.get(name) ?? '').trim() === '' ? null : readText(form, name, maxChars)
}

/** @throws GatewayError at the field */
export function readNewPassword(form: SubmittedForm, name: string): string {
  const password = readPassword(form, name)
  if (password === null) throw createFieldError(name, 'missing')
  return password
}

/** The six digits of an email. Anything else cannot be right, and would count as a guess. @throws GatewayError at the field */
export function readEmailCode(form: SubmittedForm, name: string): string {
  const code = parseEmailCode(readText(form, name, maxCodeChars))
  if (!/^\d{6}$/.test(code)) throw createFieldError(name, 'codeDigits')
  return code
}

export function createAddressError(why: 'malformed' | 'blocked'): GatewayError {
  return why === 'malformed' ? createFieldError('email', 'email') : createInvalidAddressError(why)
}

export function createFieldError(
  param: string,
  fault: keyof Texts['common']['fieldErrors'],
  values: Readonly<Record<string, number>> = {},
): GatewayError {
  return createErrorInWords('invalid_request', param, (t) => interpolate(t.common.fieldErrors[fault], values))
}

/** An error at a field, in words of the site. */
export function createErrorInWords(code: ErrorCode, param: string, toWords: (t: Texts) => string): GatewayError {
  return new GatewayError(code, { param, message: { en: toWords(texts.en), zh: toWords(texts.zh) } })
}
