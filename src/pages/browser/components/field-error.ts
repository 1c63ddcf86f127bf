/** An error at the field that caused it, in the page's language. Browsers' own bubbles are in the browser's, and hide what is below. */
import { commonTexts, createElement, interpolate } from '../page.ts'

type Field = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement

/** Shows the text below the field until its value changes, and puts the cursor there. */
export function showFieldError(field: Field, text: string): void {
  clearFieldError(field)
  const id = `${field.id}-error`
  const described = field.getAttribute('aria-describedby')
  field.setAttribute('aria-invalid', 'true')
  field.setAttribute('aria-describedby', described === null ? id : `${described} ${id}`)
  const error = createElement('p', { class: 'field-error', id, role: 'alert' }, text)
  field.closest('.field')?.append(error)
  field.addEventListener('input', () => clearFieldError(field), { once: true })
  field.focus()
  if (field instanceof HTMLInputElement) field.select()
}

export function clearFieldError(field: Field): void {
  const id = `${field.id}-error`
  document.getElementById(id)?.remove()
  field.removeAttribute('aria-invalid')
  const rest = (field.getAttribute('aria-describedby') ?? '').split(' ').filter((each) => each !== '' && each !== id)
  if (rest.length === 0) field.removeAttribute('aria-describedby')
  else field.setAttribute('aria-describedby', rest.join(' '))
}

/** Shows what is wrong with the first invalid field of the form; false if there is none. */
export function showInvalidField(form: HTMLFormElement): boolean {
  const field = [...form.elements].find((element): element is Field => isField(element) && !element.checkValidity())
  if (field === undefined) return false
  showFieldError(field, describeInvalid(field))
  return true
}

export function isField(element: unknown): element is Field {
  return element instanceof HTMLInputElement || element instanceof HTMLSelectElement || element instanceof HTMLTextAreaElement
}

function describeInvalid(field: Field): string {
  const { fieldErrors: texts } = commonTexts
  const { validity } = field
  if (validity.valueMissing) return texts.missing
  if (validity.patternMismatch && field.inputMode === 'email') return texts.email
  if (validity.tooShort && 'minLength' in field) return interpolate(texts.tooShort, { min: field.minLength })
  return field.validationMessage
}
