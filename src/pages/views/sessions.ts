/** `/sessions`: where the account is signed in, and what happened to it. */
import { html } from '../html.ts'
import type { PageContext, View } from '../page.ts'

export function sessionsView({ t }: PageContext): View {
  return {
    title: t.sessions.title,
    main: html`<div class="shell dashboard">
      <header class="page-head">
        <div>
          <h1>${t.sessions.title}</h1>
          <p class="sub">${t.sessions.lead}</p>
        </div>
      </header>
      <p class="status-line" role="status" data-status></p>
      <section class="card" aria-label="${t.sessions.title}" data-live="sessions" aria-busy="true">
        <div data-content><p class="sub loading pad-rest">${t.account.loading}</p></div>
      </section>
      <section class="card" aria-labelledby="title-audit" data-live="audit" aria-busy="true">
        <div class="card-head pad-head">
          <h2 id="title-audit">${t.sessions.auditTitle}</h2>
          <p>${t.sessions.auditLead}</p>
        </div>
        <div data-content><p class="sub loading pad-rest">${t.account.loading}</p></div>
      </section>
    </div>`,
    script: { name: 'sessions', texts: { sessions: t.sessions }, told: {} },
  }
}
