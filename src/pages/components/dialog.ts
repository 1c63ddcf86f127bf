/** A question behind a button. Without a script it opens below the button; `browser/components/dialogs.ts` makes it a modal dialog. */
import { html } from '../html.ts'
import type { Html } from '../html.ts'
import type { PageContext } from '../page.ts'

interface Dialog {
  /** Unique on the page. */
  readonly id: string
  readonly opener: string
  /** The opener's name for screen readers, where its text stands on several buttons. */
  readonly openerLabel?: string
  /** The opener's look, as in `danger-quiet small`. */
  readonly look: string
  readonly title: string
  /** Mostly a form, whose last row is `renderDialogEnd`. */
  readonly content: Html
  /** Open when the page is: its form was refused. */
  readonly isOpen?: boolean
}

export function renderDialog({ id, opener, openerLabel = opener, look, title, content, isOpen = false }: Dialog): Html {
  return html`<details class="ask" data-dialog ${isOpen && html`open`}>
    <summary class="button ${look}" aria-label="${openerLabel}">${opener}</summary>
    <dialog class="dialog" aria-labelledby="${id}">
      <h2 id="${id}">${title}</h2>
      ${content}
    </dialog>
  </details>`
}

/** The way out, which has the focus, and the button that does it. */
export function renderDialogEnd(
  { t, path }: Pick<PageContext, 't' | 'path'>,
  label: string,
  look: 'danger' | '' = 'danger',
): Html {
  return html`<div class="form-end">
    <a class="button quiet" href="${path}" data-close autofocus>${t.common.cancel}</a>
    <button class="button ${look}">${label}</button>
  </div>`
}
