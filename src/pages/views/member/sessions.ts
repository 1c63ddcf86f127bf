/** `/sessions`: where the account is signed in, and its security log. */
import { renderSkeleton } from '../../components/skeleton.ts'
import { html } from '../../html.ts'
import type { PageContext, View } from '../../page.ts'
import { renderMemberPage } from './member-frame.ts'

export function createSessionsView(context: PageContext): View {
  const { t } = context
  return {
    title: t.sessions.title,
    styles: 'account.css',
    main: renderMemberPage(
      context,
      html`<header class="page-head">
          <div>
            <h1>${t.sessions.title}</h1>
            <p class="sub">${t.sessions.lead}</p>
          </div>
          <button class="button danger-quiet small" type="button" data-end-others disabled>${t.sessions.endOthers}</button>
        </header>
        <p class="status-line" role="status" data-status></p>
        <section class="card" data-live="sessions" aria-busy="true">
          <div data-content>${renderSkeleton(t, 'rows')}</div>
        </section>
        <section class="card" aria-labelledby="title-audit" data-live="audit" aria-busy="true">
          <div class="card-head pad-head">
            <h2 id="title-audit">${t.sessions.auditTitle}</h2>
            <p>${t.sessions.auditLead}</p>
          </div>
          <div data-content>${renderSkeleton(t, 'rows')}</div>
        </section> `,
    ),
    script: { name: 'sessions', texts: { sessions: t.sessions }, props: {} },
  }
}
