/**
 * `/sign-in/link#…`: the target of a magic link. Opening it does not sign in by itself, because mail scanners open links too; the page
 * names the account, because anyone can send a link of their own account to someone else.
 */
import { html } from '../html.ts'
import type { PageContext, View } from '../page.ts'

export function createSignInLinkView({ t }: PageContext): View {
  return {
    title: t.signInLink.title,
    styles: 'sign-in.css',
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
    script: { name: 'sign-in-link', texts: { signInLink: t.signInLink }, props: {} },
  }
}
