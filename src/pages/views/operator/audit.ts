/** `/operator/audit`: the audit log, with filters that stand in the address. */
import { auditEvents } from '../../../domain/identity/audit.ts'
import type { AuditQuery } from '../../../domain/identity/audit.ts'
import { renderEmptyState, renderRows } from '../../components/list.ts'
import { html } from '../../html.ts'
import type { Html } from '../../html.ts'
import { requireOperatorContext } from '../../page.ts'
import type { OperatorContext, PageContext, View } from '../../page.ts'
import { renderAuditRecord } from './audit-record.ts'
import { renderCursorPager } from './cursor-pager.ts'
import { createOperatorView } from './operator-frame.ts'
import { consoleSections } from './sections.ts'

const { path } = consoleSections.audit
const pageSize = 50

interface AuditFilter {
  /** As it was typed. */
  readonly account: string
  readonly event: AuditQuery['event']
  /** A day, as in `2026-11-29`. */
  readonly since: string
}

export async function createAuditView(page: PageContext): Promise<View> {
  const context = requireOperatorContext(page)
  const { t, query, services } = context
  const filter = readFilter(query)
  const cursor = query.get('before') ?? ''
  const isFirst = !/^aud_\w{1,40}$/.test(cursor)
  const since = filter.since === '' ? undefined : services.calendar.getDayStart(filter.since)
  // An account that is gone is found by its id.
  const account = filter.account === '' ? undefined : ((await services.store.accounts.find(filter.account))?.id ?? filter.account)
  const records = await services.store.audit.list({
    limit: pageSize + 1,
    ...(account === undefined ? {} : { account }),
    ...(filter.event === undefined ? {} : { event: filter.event }),
    ...(since === undefined ? {} : { since }),
    ...(isFirst ? {} : { before: cursor }),
  })
  const shownRecords = records.slice(0, pageSize)
  const next = records.length > pageSize ? shownRecords.at(-1)?.id : undefined
  return createOperatorView(context, {
    title: t.console.sections.audit,
    lead: t.console.audit.lead,
    content: html`${renderFilter(context, filter)}
      <section class="card" aria-label="${t.console.sections.audit}">
        ${
          shownRecords.length === 0
            ? renderEmptyState('list', t.console.audit.none)
            : renderRows(shownRecords, (record) => renderAuditRecord(context, record, { showsAccount: true }))
        }
        ${renderCursorPager(context, {
          label: t.console.sections.audit,
          first: toAddress(filter),
          isFirst,
          next: next === undefined ? null : toAddress(filter, next),
        })}
      </section>`,
  })
}

function readFilter(query: URLSearchParams): AuditFilter {
  const since = query.get('since') ?? ''
  return {
    account: (query.get('account') ?? '').trim().slice(0, 320),
    event: auditEvents.find((event) => event === query.get('event')),
    since: /^\d{4}-\d\d-\d\d$/.test(since) ? since : '',
  }
}

function toAddress({ account, event, since }: AuditFilter, before?: string): string {
  const values = { account, event: event ?? '', since, before: before ?? '' }
  const query = new URLSearchParams(Object.entries(values).filter(([, value]) => value !== ''))
  return query.size === 0 ? path : `${path}?${query}`
}

function renderFilter({ t }: OperatorContext, { account, event, since }: AuditFilter): Html {
  const { audit: texts } = t.console
  const names = auditEvents
    .map((name) => [name, t.sessions.events[name] ?? name] as const)
    .toSorted(([, one], [, other]) => one.localeCompare(other))
  return html`<form class="card pad filter-row" method="get" action="${path}">
    <div class="field">
      <label for="account">${texts.account}</label>
      <input
        id="account"
        name="account"
        type="text"
        value="${account}"
        maxlength="320"
        autocapitalize="none"
        autocomplete="off"
        spellcheck="false"
        aria-describedby="account-hint"
      />
      <p class="hint" id="account-hint">${texts.accountHint}</p>
    </div>
    <div class="field">
      <label for="event">${texts.event}</label>
      <select id="event" name="event">
        <option value="">${texts.anyEvent}</option>
        ${names.map(([value, text]) => html`<option value="${value}" ${value === event && html`selected`}>${text}</option>`)}
      </select>
    </div>
    <div class="field">
      <label for="since">${texts.since}</label>
      <input id="since" name="since" type="date" value="${since}" />
    </div>
    <button class="button">${texts.show}</button>
  </form>`
}
