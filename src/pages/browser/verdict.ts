/** What a member decides on, approve or deny: the facts, the two buttons, and what is shown once it is decided. */
import type { Child } from './page.ts'
import { element, findAll } from './page.ts'
import { failureNotice } from './show.ts'
import type { Decision } from './wire.ts'

export type Fact = readonly [name: string, value: Child]

interface VerdictWords {
  readonly approve: string
  readonly deny: string
  readonly approved: string
  readonly denied: string
  readonly approvedTitle: string
  readonly deniedTitle: string
}

/** A fact that is `false` is left out. */
export function factList(facts: readonly Fact[]): Element {
  const said = facts.filter(([, value]) => value !== false)
  return element(
    'dl',
    { class: 'facts' },
    ...said.flatMap(([name, value]) => [element('dt', {}, name), element('dd', {}, value)]),
  )
}

/** Both buttons. While `decide` works neither can be pressed; what it throws is shown, and they can be again. */
export function verdictButtons(place: HTMLElement, words: VerdictWords, decide: (decision: Decision) => Promise<void>): Element {
  const onclick = async (decision: Decision): Promise<void> => {
    const buttons = findAll('button', HTMLButtonElement, place)
    for (const button of buttons) button.disabled = true
    try {
      await decide(decision)
    } catch (failure) {
      verdict.after(failureNotice(failure))
      for (const button of buttons) button.disabled = false
    }
  }
  const verdict = element(
    'div',
    { class: 'verdict' },
    element(
      'button',
      { class: 'button large', type: 'button', 'data-approve': '', onclick: () => onclick('approve') },
      words.approve,
    ),
    element(
      'button',
      { class: 'button danger large', type: 'button', 'data-deny': '', onclick: () => onclick('deny') },
      words.deny,
    ),
  )
  return verdict
}

export function showVerdict(place: HTMLElement, words: VerdictWords, decision: Decision, ...more: readonly Element[]): void {
  const approved = decision === 'approve'
  const title = element('h2', { tabindex: '-1' }, approved ? words.approvedTitle : words.deniedTitle)
  place.replaceChildren(
    element('div', { class: `verdict-mark ${approved ? 'good' : 'bad'}`, 'aria-hidden': 'true' }, approved ? '✓' : '✕'),
    title,
    element('p', {}, approved ? words.approved : words.denied),
    ...more,
  )
  title.focus()
}
