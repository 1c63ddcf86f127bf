/** Reads what was typed into a form; a fault is told at its field, in words. */
import { GatewayError } from '../../errors.ts'
import { texts } from '../texts/texts.ts'
import type { Texts } from '../texts/en.ts'
import { interpolate } from '../page.ts'
import type { SubmittedForm } from '../page.ts'

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
  const typed = fields.get(name) ?? ''
  if (typed.length > 1024) throw createFieldError(name, 'tooLong', { max: 1024 })
  return typed === '' ? null : typed
}

export function createFieldError(
  param: string,
  fault: keyof Texts['common']['fieldErrors'],
  values: Readonly<Record<string, number>> = {},
): GatewayError {
  const [en, zh] = [texts.en, texts.zh].map((t) => interpolate(t.common.fieldErrors[fault], values))
  return new GatewayError('invalid_request', { param, message: { en: en ?? '', zh: zh ?? '' } })
}
