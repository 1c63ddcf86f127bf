/** The question whether to approve a request that was started elsewhere, and its answer. */
import { html } from '../../html.ts'
import type { Html } from '../../html.ts'
import { renderFacts } from '../list.ts'

interface ApprovalTexts {
  readonly approve: string
  readonly deny: string
  readonly approved: string
  readonly denied: string
  readonly approvedTitle: string
  readonly deniedTitle: string
}

export type Decision = 'approved' | 'denied'

/**
 * What a stranger chose, in a frame of its own: a name must not read as a statement of the service. The texts are displayable
 * (`toDisplayName`).
 */
export function renderOwnWords(title: string, words: readonly (readonly [name: string, text: string | null])[]): Html {
  return html`<div class="own-words">
    <p class="sub">${title}</p>
    ${renderFacts(words.map(([name, text]) => [name, text === null ? null : html`<bdi>“${text}”</bdi>`]))}
  </div>`
}

/** Both buttons of a form, as prominent as each other. */
export function renderVerdict(texts: ApprovalTexts): Html {
  return html`<div class="verdict">
    <button class="button large" name="decision" value="approved">${texts.approve}</button>
    <button class="button quiet large" name="decision" value="denied">${texts.deny}</button>
  </div>`
}

/** Null for a form that was sent without either button, as by Enter. */
export function readDecision(fields: URLSearchParams): Decision | null {
  const decision = fields.get('decision')
  return decision === 'approved' || decision === 'denied' ? decision : null
}

export function renderDecision(texts: ApprovalTexts, decision: Decision, more?: Html): Html {
  const isApproved = decision === 'approved'
  return html`<div class="verdict-mark ${isApproved ? 'good' : 'bad'}" aria-hidden="true">${isApproved ? '✓' : '✕'}</div>
    <h2 tabindex="-1" autofocus>${isApproved ? texts.approvedTitle : texts.deniedTitle}</h2>
    <p>${isApproved ? texts.approved : texts.denied}</p>
    ${more}`
}
