/**
 * `/sign-in/link#…`: where the link of a letter leads. Opening it signs nobody in, because programs that look through mail open links too;
 * and the page says whose account it is, because anybody can send anybody a link of their own.
 */
import { html } from '../html.ts'
import type { PageContext, View } from '../page.ts'

export function signInLinkView({ t }: PageContext): View {
  return {
    title: t.signInLink.title,
    main: html`<section class="shell centre">
      <div class="card pad sign-in">
        <h1>${t.signInLink.title}</h1>
        <p class="sub" data-whose></p>
        <form method="post" data-form="link" novalidate hidden>
          <div class="form-end"><button class="button block">${t.signInLink.signIn}</button></div>
        </form>
        <div data-outcome role="status"></div>
        <p class="form-links" data-anew hidden><a href="/sign-in">${t.signInLink.anew}</a></p>
      </div>
    </section>`,
    script: { name: 'sign-in-link', texts: { signInLink: t.signInLink }, told: {} },
  }
}
