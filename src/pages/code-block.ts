/** A block of code with a button that copies it. */
import { html } from './html.ts'
import type { Html } from './html.ts'
import { fill } from './page.ts'
import type { PageContext } from './page.ts'

export function codeBlock({ t }: PageContext, name: string, code: string): Html {
  return html`<div class="code-block">
    <div class="code-head">
      <span>${name}</span>
      <button type="button" data-copy aria-label="${fill(t.common.copyLabel, { what: ` ${name}` })}">${t.common.copy}</button>
    </div>
    <pre tabindex="0" role="region" aria-label="${name}"><code>${code}</code></pre>
  </div>`
}
