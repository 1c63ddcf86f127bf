/** How a page shows a request: pending, its result, or its failure with the next step. */
import { renderTimestamp } from '../format.ts'
import { commonTexts, createElement, interpolate, findElement, findElements } from '../page.ts'
import { ApiError } from '../api-client.ts'
import { isField, showFieldError, showInvalidField } from './field-error.ts'

/** Renders a failure: what happened, what to do, and the reference to quote. */
export function renderFailureNotice(failure: unknown): HTMLElement {
  if (!(failure instanceof ApiError)) throw failure
  const { envelope, reference, message } = failure
  const steps = (envelope?.actions ?? []).map((action) => renderNextStep(action, failure)).filter((item) => item !== null)
  if (envelope !== null) steps.push(renderHelpLink(envelope.code))
  return createElement(
    'div',
    { class: 'notice bad', role: 'alert' },
    createElement('p', {}, message),
    steps.length > 0 && createElement('p', { class: 'next-steps' }, ...steps.flatMap((item) => [item, ' '])),
    // For the operator. A mistyped entry needs no operator.
    reference !== null && isServiceFault(failure) && createElement('code', { class: 'reference' }, reference),
  )
}

function isServiceFault({ status, envelope }: ApiError): boolean {
  return status >= 500 || envelope?.actions.includes('contact_operator') === true
}

/** Opens a tab of its own, because the form or the answer in this one is still needed. */
function renderHelpLink(code: string): Node {
  return createElement('a', { href: `/docs/errors#${code}`, target: '_blank', rel: 'noopener' }, commonTexts.aboutError)
}

const nextStepTexts: Readonly<Record<string, string>> = commonTexts.whatNext
const nextStepLinks: Readonly<Record<string, string>> = {
  sign_in: '/sign-in',
  upgrade_plan: '/plans',
  use_boost: '/account/boosts',
}

function renderNextStep(action: string, { retryAfter, resetsAt }: ApiError): Node | null {
  // During sign-in a link to sign-in would lead away from the code that was sent.
  if (action === 'sign_in' && location.pathname === '/sign-in') return null
  const words = nextStepTexts[action]
  if (words === undefined) return null
  if (action === 'retry_later' && resetsAt !== null)
    return createElement(
      'span',
      {},
      ...insertNode(commonTexts.waitUntil, '{when}', renderTimestamp(new Date(resetsAt).toISOString())),
    )
  if (action === 'retry_later' && retryAfter !== null)
    return document.createTextNode(interpolate(commonTexts.waitSeconds, { seconds: retryAfter }))
  const href = nextStepLinks[action]
  if (href === undefined) return document.createTextNode(words)
  const next = action === 'sign_in' ? `?next=${encodeURIComponent(location.pathname + location.search)}` : ''
  return createElement('a', { href: href + next }, words)
}

/** A text with a node in place of its one placeholder. */
export function insertNode(text: string, blank: string, node: Node): (string | Node)[] {
  const [before = '', after = ''] = text.split(blank)
  return [before, node, after]
}

/** The value of the named field; empty where the form has no such field. */
type GetFieldValue = (name: string) => string

/** Failures that one field caused, by their code: the field's name, and what to tell there. */
type FieldFailures = Readonly<Record<string, { readonly field: string; readonly text: string }>>

/**
 * Submits a form with `send(typed, outcome)`. Its button is disabled meanwhile. A failure is shown at the field that caused it, else in the
 * form's own outcome element, else in the one beside it.
 */
export function onSubmit(
  form: HTMLFormElement,
  send: (typed: GetFieldValue, outcome: Element) => Promise<void>,
  fieldFailures: FieldFailures = {},
): void {
  const selector = '[data-outcome]'
  const outcome = form.querySelector(selector) ?? findElement(selector, HTMLElement, form.parentElement ?? document)
  form.addEventListener('submit', async (event) => {
    event.preventDefault()
    if (showInvalidField(form)) return
    const buttons = findElements('button:not([type=button])', HTMLButtonElement, form)
    const data = new FormData(form)
    outcome.replaceChildren()
    for (const button of buttons) button.disabled = true
    form.setAttribute('aria-busy', 'true')
    try {
      await send((name) => String(data.get(name) ?? ''), outcome)
    } catch (failure) {
      if (!showAtField(form, failure, fieldFailures)) outcome.replaceChildren(renderFailureNotice(failure))
    } finally {
      form.removeAttribute('aria-busy')
      for (const button of buttons) button.disabled = false
    }
  })
}

function showAtField(form: HTMLFormElement, failure: unknown, fieldFailures: FieldFailures): boolean {
  if (!(failure instanceof ApiError)) return false
  const known = fieldFailures[failure.code ?? '']
  const name = known?.field ?? failure.envelope?.error.param
  const field = typeof name === 'string' ? form.elements.namedItem(name) : null
  if (!isField(field) || field.closest('[hidden]') !== null) return false
  showFieldError(field, known?.text ?? failure.message)
  return true
}
