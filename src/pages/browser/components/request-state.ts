/** How a page shows the failure of a request, with the next step. */
import { renderTimestamp } from '../format.ts'
import { commonTexts, createElement, interpolate } from '../page.ts'
import { ApiError } from '../api-client.ts'

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
