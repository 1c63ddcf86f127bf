/** The form to approve or deny a request: the facts, the two buttons, and the result. */
import type { Child } from '../page.ts'
import { createElement, findElements } from '../page.ts'
import { renderFailureNotice } from './request-state.ts'
import type { Decision } from '../api-types.ts'

export type Fact = readonly [name: string, value: Child]

interface ApprovalTexts {
  readonly approve: string
  readonly deny: string
  readonly approved: string
  readonly denied: string
  readonly approvedTitle: string
  readonly deniedTitle: string
}

/** A fact that is `false` is left out. */
export function renderFactList(facts: readonly Fact[]): Element {
  const shown = facts.filter(([, value]) => value !== false)
  return createElement(
    'dl',
    { class: 'facts' },
    ...shown.flatMap(([name, value]) => [createElement('dt', {}, name), createElement('dd', {}, value)]),
  )
}

/**
 * What a stranger chose, in a frame of its own: a name must not read as a statement of the service. The server has made the texts displayable
 * (`toDisplayName`).
 */
export function renderOwnWords(title: string, words: readonly (readonly [name: string, text: string | null])[]): Element {
  const facts = words.map(([name, text]): Fact => [name, text !== null && createElement('bdi', {}, `“${text}”`)])
  return createElement('div', { class: 'own-words' }, createElement('p', { class: 'sub' }, title), renderFactList(facts))
}

/** Both buttons. They are disabled while `decide` runs; its error is shown, and they are enabled again. */
export function renderApprovalButtons(
  container: HTMLElement,
  texts: ApprovalTexts,
  decide: (decision: Decision) => Promise<void>,
): Element {
  const onclick = async (decision: Decision): Promise<void> => {
    const buttons = findElements('button', HTMLButtonElement, container)
    for (const button of buttons) button.disabled = true
    try {
      await decide(decision)
    } catch (failure) {
      verdict.after(renderFailureNotice(failure))
      for (const button of buttons) button.disabled = false
    }
  }
  const verdict = createElement(
    'div',
    { class: 'verdict' },
    createElement(
      'button',
      { class: 'button large', type: 'button', 'data-approve': '', onclick: () => onclick('approve') },
      texts.approve,
    ),
    createElement(
      'button',
      { class: 'button quiet large', type: 'button', 'data-deny': '', onclick: () => onclick('deny') },
      texts.deny,
    ),
  )
  return verdict
}

export function showDecision(
  container: HTMLElement,
  texts: ApprovalTexts,
  decision: Decision,
  ...more: readonly Element[]
): void {
  const approved = decision === 'approve'
  const title = createElement('h2', { tabindex: '-1' }, approved ? texts.approvedTitle : texts.deniedTitle)
  container.replaceChildren(
    createElement('div', { class: `verdict-mark ${approved ? 'good' : 'bad'}`, 'aria-hidden': 'true' }, approved ? '✓' : '✕'),
    title,
    createElement('p', {}, approved ? texts.approved : texts.denied),
    ...more,
  )
  title.focus()
}
