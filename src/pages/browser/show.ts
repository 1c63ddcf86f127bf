/** What a page shows of a call: that it runs, what came of it, what went wrong and what to do. */
import { moment } from './figures.ts'
import { common, element, fill, find, findAll } from './page.ts'
import { CallFailure } from './service.ts'

/** A failure, shown: what happened, what to do, and the reference to quote. */
export function failureNotice(failure: unknown): HTMLElement {
  if (!(failure instanceof CallFailure)) throw failure
  const { envelope, reference, message } = failure
  const steps = (envelope?.actions ?? []).map((action) => step(action, failure)).filter((item) => item !== null)
  return element(
    'div',
    { class: 'notice bad', role: 'alert' },
    element('p', {}, message),
    steps.length > 0 && element('p', { class: 'next-steps' }, ...steps.flatMap((item) => [item, ' '])),
    reference !== null && element('code', { class: 'reference' }, reference),
  )
}

const whatNext: Readonly<Record<string, string>> = common.whatNext
const wayOut: Readonly<Record<string, string>> = {
  sign_in: '/sign-in',
  upgrade_plan: '/#plans',
  use_boost: '/account#title-boosts',
}

function step(action: string, { retryAfter, resetsAt }: CallFailure): Node | null {
  // Who is signing in is at the right step already: a link would lead away from the code that was sent.
  if (action === 'sign_in' && location.pathname === '/sign-in') return null
  const words = whatNext[action]
  if (words === undefined) return null
  if (action === 'retry_later' && resetsAt !== null)
    return element('span', {}, ...around(common.waitUntil, '{when}', moment(new Date(resetsAt).toISOString())))
  if (action === 'retry_later' && retryAfter !== null)
    return document.createTextNode(fill(common.waitSeconds, { seconds: retryAfter }))
  const href = wayOut[action]
  if (href === undefined) return document.createTextNode(words)
  const next = action === 'sign_in' ? `?next=${encodeURIComponent(location.pathname + location.search)}` : ''
  return element('a', { href: href + next }, words)
}

/** A text with a node in place of its one blank. */
export function around(text: string, blank: string, node: Node): (string | Node)[] {
  const [before = '', after = ''] = text.split(blank)
  return [before, node, after]
}

export function goodNotice(text: string): HTMLElement {
  return element('p', { class: 'notice', role: 'status' }, text)
}

/** What was typed into the field of this name; a field that is not there was left empty. */
export type Typed = (name: string) => string

/**
 * Sends a form by `send(typed, outcome)`. While it runs its button rests; a failure is shown in the form's own place for outcomes, else
 * in the one beside it.
 */
export function onSubmit(form: HTMLFormElement, send: (typed: Typed, outcome: Element) => Promise<void>): void {
  const selector = '[data-outcome]'
  const outcome = form.querySelector(selector) ?? find(selector, HTMLElement, form.parentElement ?? document)
  form.addEventListener('submit', async (event) => {
    event.preventDefault()
    if (!form.reportValidity()) return
    const buttons = findAll('button:not([type=button])', HTMLButtonElement, form)
    const data = new FormData(form)
    outcome.replaceChildren()
    for (const button of buttons) button.disabled = true
    form.setAttribute('aria-busy', 'true')
    try {
      await send((name) => String(data.get(name) ?? ''), outcome)
    } catch (failure) {
      outcome.replaceChildren(failureNotice(failure))
    } finally {
      form.removeAttribute('aria-busy')
      for (const button of buttons) button.disabled = false
    }
  })
}

/** Fills a card that shows something alive. */
export async function show(name: string, load: () => Promise<Node | readonly Node[]>): Promise<void> {
  const card = find(`[data-live="${name}"]`, HTMLElement)
  const content = find('[data-content]', HTMLElement, card)
  try {
    content.replaceChildren(...[await load()].flat())
  } catch (failure) {
    content.replaceChildren(failureNotice(failure))
  } finally {
    card.removeAttribute('aria-busy')
  }
}
