/** Recovery codes, which are shown once. */
import { createCardView } from '../../../components/card-page.ts'
import { html } from '../../../html.ts'
import type { PageContext, View } from '../../../page.ts'

export function drawRecoveryCodes({ t: { operator } }: PageContext, codes: readonly string[], next: string): View {
  return createCardView({
    title: operator.recoveryTitle,
    look: 'device',
    content: html`<p class="sub">${operator.recoveryLead}</p>
      <pre tabindex="0" aria-label="${operator.recoveryTitle}"><code>${codes.join('\n')}</code></pre>
      <p><a class="button block" href="${next}">${operator.recoverySaved}</a></p>`,
  })
}
