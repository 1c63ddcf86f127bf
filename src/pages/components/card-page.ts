/** A page of one card, as for signing in or approving. */
import { html } from '../html.ts'
import type { Html } from '../html.ts'
import type { PageModule } from '../page-data.ts'
import type { View } from '../page.ts'

interface CardPage {
  readonly title: string
  readonly content: Html
  /** `device` is wider, and has room between its parts. */
  readonly look?: 'sign-in' | 'device'
  /** `member` by default: what the forms of pages have. */
  readonly script?: PageModule
}

export function createCardView({
  title,
  content,
  look = 'sign-in',
  script = { name: 'member', texts: {}, props: {} },
}: CardPage): View {
  return {
    title,
    styles: 'sign-in.css',
    main: html`<section class="shell centre">
      <div class="card pad ${look}">
        <h1>${title}</h1>
        ${content}
      </div>
    </section>`,
    script,
  }
}
