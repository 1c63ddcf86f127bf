/** `/connect/…`: decide on a program that wants to use the tools. Opening the link approves nothing. */
import { html } from '../html.ts'
import type { PageContext, View } from '../page.ts'

export function createConsentView({ t, path }: PageContext): View {
  return {
    title: t.consent.title,
    styles: 'sign-in.css',
    main: html`<section class="shell centre">
      <div class="card pad device">
        <h1>${t.consent.title}</h1>
        <div data-outcome role="status"><p class="sub loading">${t.consent.looking}</p></div>
        <div data-request></div>
      </div>
    </section>`,
    script: { name: 'consent', texts: { consent: t.consent }, props: { uid: path.slice(path.lastIndexOf('/') + 1) } },
  }
}
