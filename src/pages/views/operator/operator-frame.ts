/** The frame of the console's pages: the sections that the operator's role allows, beside the content. */
import { renderIconSymbols } from '../../components/icons.ts'
import { html } from '../../html.ts'
import type { Html } from '../../html.ts'
import type { OperatorContext, View } from '../../page.ts'
import { consolePath, consoleSectionNames, consoleSections, hasScope } from './sections.ts'

interface OperatorPage {
  readonly title: string
  /** One sentence below the heading. */
  readonly lead?: Html | string
  /** Beside the heading. */
  readonly end?: Html | false
  readonly content: Html
  readonly script?: View['script']
}

const memberScript = { name: 'member', texts: {}, props: {} } as const

export function createOperatorView(context: OperatorContext, page: OperatorPage): View {
  const { title, lead, end, content, script = memberScript } = page
  return {
    title,
    styles: 'console.css',
    layout: 'console',
    script,
    main: html`<div class="shell member console">
      ${renderNavigation(context)}
      <div class="dashboard">
        <header class="page-head">
          <div>
            <h1>${title}</h1>
            ${lead !== undefined && html`<p class="sub">${lead}</p>`}
          </div>
          ${end}
        </header>
        ${content}
      </div>
      ${renderIconSymbols()}
    </div>`,
  }
}

function renderNavigation(context: OperatorContext): Html {
  const { path, t } = context
  const { console: texts } = t
  const links = consoleSectionNames.filter((name) => hasScope(context, consoleSections[name].access.scope))
  return html`<nav class="rail" aria-label="${texts.sectionsTitle}">
    ${links.map((name) => {
      const href: string = consoleSections[name].path
      const current = href === path ? 'page' : href !== consolePath && path.startsWith(`${href}/`) ? 'true' : null
      return html`<a href="${href}" ${current !== null && html`aria-current="${current}"`}>${texts.sections[name]}</a>`
    })}
  </nav>`
}
