/** A block of code with a button that copies it. */
import { html } from '../html.ts'
import type { Html } from '../html.ts'
import { interpolate } from '../page.ts'
import type { PageContext } from '../page.ts'

/** `label` names the region where several blocks of a page have the same name. */
export function renderCodeBlock({ t }: Pick<PageContext, 't'>, name: string, code: string | Html, label = name): Html {
  return html`<div class="code-block">
    <div class="code-head">
      <span>${name}</span>
      <button type="button" data-copy aria-label="${interpolate(t.common.copyLabel, { what: ` ${name}` })}">
        ${t.common.copy}
      </button>
    </div>
    <pre tabindex="0" role="region" aria-label="${label}"><code>${code}</code></pre>
  </div>`
}

/** One value that can be copied, such as a link. */
export function renderCopyField({ t }: PageContext, name: string, value: string): Html {
  const label = interpolate(t.common.copyLabel, { what: ` ${name}` })
  return html`<div class="copy-field" role="group" aria-label="${name}">
    <code>${value}</code>
    <button class="button quiet small" type="button" data-copy aria-label="${label}">${t.common.copy}</button>
  </div>`
}
