/** `/connect/…`: decide on a program that wants to use the tools. Opening the link approves nothing. */
import { html } from '../html.ts'
import type { PageContext, View } from '../page.ts'

export function connectView({ t, path }: PageContext): View {
  return {
    title: t.connect.title,
    main: html`<section class="shell centre">
      <div class="card pad device">
        <h1>${t.connect.title}</h1>
        <div data-outcome role="status"><p class="sub loading">${t.connect.looking}</p></div>
        <div data-request></div>
      </div>
    </section>`,
    script: { name: 'connect', texts: { connect: t.connect }, told: { uid: path.slice(path.lastIndexOf('/') + 1) } },
  }
}
