/** `/sessions`: where the account is signed in, and its security log. */
import type { AuditRecord } from '../../../domain/identity/audit.ts'
import type { Session } from '../../../domain/identity/session.ts'
import { GatewayError } from '../../../errors.ts'
import { renderDataTable } from '../../components/data-table.ts'
import { PageForm } from '../../components/forms/form.ts'
import { renderRows } from '../../components/list.ts'
import { renderPastTime, renderTime } from '../../components/time.ts'
import { formatCount } from '../../format.ts'
import { html, renderAddress } from '../../html.ts'
import type { Html } from '../../html.ts'
import { interpolate, requireMember } from '../../page.ts'
import type { PageAction, PageContext, View } from '../../page.ts'
import { createMemberView } from './member-frame.ts'

const path = '/sessions'
const shownEvents = 50

export const sessionActions: Readonly<Record<string, PageAction>> = {
  async end({ services, viewer, member }, { subject }) {
    if (!(await services.membership.sessions.end(viewer.id, subject, member.client))) throw new GatewayError('not_found')
    return { path, done: 'ended' }
  },

  async end_others({ services, viewer, member }) {
    await services.membership.sessions.endOthers(viewer.id, member.id, member.client)
    return { path, done: 'others_ended' }
  },
}

export async function createSessionsView(context: PageContext): Promise<View> {
  const { t, services, viewer, member } = requireMember(context)
  const { sessions: service, apiKeys } = services.membership
  const sessions = await service.list(viewer.id)
  const { records } = await service.listSecurityEvents(viewer.id, { limit: shownEvents })
  // The log keeps no names: an entry is named after what still exists.
  const names = new Map<string, string>()
  for (const { id, client, kind } of sessions) names.set(id, client ?? t.sessions[kind])
  for (const { id, name, prefix } of await apiKeys.list(viewer.id)) names.set(id, `${name} (${prefix}…)`)
  const others = new PageForm(context, 'end_others')
  return createMemberView(context, {
    title: t.sessions.title,
    lead: t.sessions.lead,
    end:
      sessions.some(({ id }) => id !== member.id) &&
      others.render({ content: html`<button class="button danger-quiet small">${t.sessions.endOthers}</button>` }),
    content: html`<section class="card">${renderSessions(context, sessions, member.id)}</section>
      <section class="card" aria-labelledby="title-audit">
        <div class="card-head pad-head">
          <h2 id="title-audit">${t.sessions.auditTitle}</h2>
          <p>${t.sessions.auditLead}</p>
        </div>
        ${
          records.length === 0
            ? html`<p class="sub pad-rest">${t.sessions.auditEmpty}</p>`
            : renderRows(records, (record) => renderEvent(context, record, names))
        }
      </section>`,
  })
}

function renderSessions(context: PageContext, sessions: readonly Session[], current: string): Html {
  const { sessions: texts } = context.t
  return renderDataTable({
    label: texts.title,
    columns: [
      { title: texts.device },
      { title: texts.address },
      { title: texts.started },
      { title: texts.lastSeen },
      { title: texts.end, isHidden: true },
    ],
    rows: sessions.map(({ id, kind, client, address, createdAt, lastUsedAt }) => ({
      cells: [
        html`<span class="session-name">
          <span class="badge ${kind === 'cli' ? 'flagship' : 'light'}">${texts[kind]}</span>
          <span>${client}</span>
          ${id === current && html`<span class="badge good">${texts.current}</span>`}
        </span>`,
        renderAddress(address),
        renderTime(context, createdAt),
        renderPastTime(context, lastUsedAt),
        // This one is ended by signing out, at the top of the page.
        id === current ? html`` : renderEnd(context, id, client ?? texts[kind]),
      ],
    })),
  })
}

function renderEnd(context: PageContext, id: string, name: string): Html {
  const { sessions: texts } = context.t
  const label = interpolate(texts.endName, { name })
  return new PageForm(context, 'end', id).render({
    content: html`<button class="button danger-quiet small" aria-label="${label}">${texts.end}</button>`,
  })
}

/** Two lines: what happened to what, then when and from where. */
function renderEvent(context: PageContext, record: AuditRecord, names: ReadonlyMap<string, string>): Html {
  const { [record.event]: event = record.event } = context.t.sessions.events
  const subject = describeSubject(context, record, names)
  return html`<li class="log-row">
    <p class="row-line"><span>${event}</span> ${subject !== null && html`<strong class="row-cut">${subject}</strong>`}</p>
    <p class="row-line sub">
      ${renderTime(context, record.at)} ${record.address !== null && renderAddress(record.address)}
      ${record.requestId !== null && html`<code class="row-cut row-end">${record.requestId}</code>`}
    </p>
  </li>`
}

/** Which key, device, plan or credits the entry is about, with the operator's reason; null if it is about the account. */
function describeSubject(context: PageContext, { detail }: AuditRecord, names: ReadonlyMap<string, string>): string | null {
  if (detail === null) return null
  const { key, prefix, client, session, plan, provider, ended_sessions: endedCount, terms, credits, reason } = detail
  if (typeof key === 'string') return names.get(key) ?? (typeof prefix === 'string' ? `${prefix}…` : null)
  const why = typeof reason === 'string' ? `: ${reason}` : ''
  if (typeof credits === 'number') return `${formatCount(context, 'credits', credits)}${why}`
  if (typeof plan === 'string') return `${plan}${why}`
  if (typeof terms === 'string') return `${terms}${why}`
  if (typeof provider === 'string') return provider
  if (typeof client === 'string') return client
  if (typeof session === 'string' && names.has(session)) return names.get(session) ?? null
  if (typeof endedCount !== 'number') return null
  return interpolate(context.t.sessions.endedCount, { sessions: formatCount(context, 'sessions', endedCount) })
}
