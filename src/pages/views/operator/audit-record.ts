/** A record of the audit log: what, who, what was before and after, and why. */
import type { AuditRecord } from '../../../domain/identity/audit.ts'
import type { AuditActor } from '../../../domain/identity/operators/operator-actor.ts'
import { renderTime } from '../../components/time.ts'
import { html, renderAddress } from '../../html.ts'
import type { Html } from '../../html.ts'
import { interpolate } from '../../page.ts'
import type { OperatorContext } from '../../page.ts'
import { consoleSections, hasScope } from './sections.ts'

/** `showsAccount`: with a link to the member, where the list has several. */
export function renderAuditRecord(context: OperatorContext, record: AuditRecord, { showsAccount = false } = {}): Html {
  const { t } = context
  const { [record.event]: event = record.event } = t.sessions.events
  const detail = Object.entries(record.detail ?? {}).filter(([name]) => name !== 'by' && name !== 'reason')
  const reason = record.reason ?? record.detail?.['reason']
  return html`<li class="log-row audit-row">
    <p class="row-line">
      <strong>${event}</strong> ${showsAccount && record.account !== null && renderAccount(context, record.account)}
      <span class="sub">${record.actor === null ? html`` : describeActor(context, record.actor)}</span>
    </p>
    ${typeof reason === 'string' && html`<p class="breakable">“${reason}”</p>`}
    ${
      detail.length > 0 &&
      html`<p class="sub breakable">${detail.map(([name, value]) => html`<span>${name}: ${String(value ?? '–')}</span> `)}</p>`
    }
    <p class="row-line sub">
      ${renderTime(context, record.at)} ${record.address !== null && renderAddress(record.address)}
      ${record.requestId !== null && html`<code class="breakable">${record.requestId}</code>`}
    </p>
  </li>`
}

function renderAccount(context: OperatorContext, account: string): Html {
  if (!hasScope(context, consoleSections.members.access.scope)) return html`<code class="breakable">${account}</code>`
  return html`<a class="breakable" href="${consoleSections.members.path}/${account}"><code>${account}</code></a>`
}

function describeActor({ t }: OperatorContext, { kind, account, key, system_user: user }: AuditActor): Html {
  const { actors } = t.console
  const id = key ?? account
  return html`${interpolate(actors[kind], { user: user ?? '' })} ${id !== undefined && html`<code class="breakable">${id}</code>`}`
}
