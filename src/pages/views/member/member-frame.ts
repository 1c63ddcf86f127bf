/** The frame of members' pages: a rail of links beside the content, which on narrow screens is a row above it. */
import { renderIconSymbols } from '../../components/icons.ts'
import { html } from '../../html.ts'
import type { Html } from '../../html.ts'
import type { PageContext, View } from '../../page.ts'

interface MemberPage {
  readonly title: string
  /** The heading, where it is not the title. */
  readonly heading?: string
  /** One sentence below the heading. */
  readonly lead?: Html | string
  /** Beside the heading. */
  readonly end?: Html | false
  readonly content: Html
  readonly script?: View['script']
}

const memberScript = { name: 'member', texts: {}, props: {} } as const

export function createMemberView(context: PageContext, page: MemberPage): View {
  const { title, heading = title, lead, end, content, script = memberScript } = page
  const head = html`<header class="page-head">
    <div>
      <h1>${heading}</h1>
      ${lead !== undefined && html`<p class="sub">${lead}</p>`}
    </div>
    ${end}
  </header>`
  return { title, styles: 'account.css', script, main: renderFrame(context, html`${head} ${content}`) }
}

function renderFrame({ t, path, services }: PageContext, content: Html): Html {
  const { rail } = t.account
  const links = [
    ['/account', rail.usage],
    ['/account/boosts', rail.boosts],
    ...(services.orders === null ? [] : ([['/account/orders', rail.orders]] as const)),
    ['/keys', rail.keys],
    ['/sessions', rail.sessions],
    ['/account/security', rail.security],
    ['/account/profile', rail.profile],
  ] as const
  return html`<div class="shell member">
    <nav class="rail" aria-label="${rail.title}">
      ${links.map(([href, label]) =>
        href === path
          ? html`<a href="${href}" aria-current="page">${label}</a>`
          : // The page of one order belongs to the list.
            html`<a href="${href}" ${path.startsWith(`${href}/`) && href !== '/account' && html`aria-current="true"`}
              >${label}</a
            >`,
      )}
    </nav>
    <div class="dashboard">${content}</div>
    ${renderIconSymbols()}
  </div>`
}
