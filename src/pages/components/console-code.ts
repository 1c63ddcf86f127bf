/** The field for a code of the second factor, which forms of the console have where a fresh proof is missing. */
import { html } from '../html.ts'
import type { Html } from '../html.ts'
import type { PageContext, SubmittedForm } from '../page.ts'
import { readText } from './fields.ts'
import type { PageForm } from './form.ts'

const maxTypedChars = 32

export function renderConsoleCode({ t }: PageContext, form: PageForm, hint: string = t.operator.codeHint): Html {
  const attributes = html`autocomplete="one-time-code" autocapitalize="none" spellcheck="false" maxlength="${maxTypedChars}"
  required`
  return form.renderField({ name: 'code', label: t.operator.code, hint, attributes })
}

/** Without the blanks in it; null if nothing was typed. @throws GatewayError at the field */
export function readConsoleCode(form: SubmittedForm): string | null {
  if ((form.fields.get('code') ?? '').trim() === '') return null
  return readText(form, 'code', maxTypedChars).replaceAll(/\s/g, '')
}
