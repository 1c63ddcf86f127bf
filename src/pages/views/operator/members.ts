/** `/operator/members`: the list of members, and the search that a ticket needs. */
import type { Account } from '../../../domain/identity/account.ts'
import { findMembers } from '../../../services/find-members.ts'
import { renderDataTable } from '../../components/data-table.ts'
import { renderEmptyState } from '../../components/list.ts'
import { renderTime } from '../../components/time.ts'
import { html } from '../../html.ts'
import type { Html } from '../../html.ts'
import { requireOperatorContext } from '../../page.ts'
import type { OperatorContext, PageContext, View } from '../../page.ts'
import { renderCursorPager } from './cursor-pager.ts'
import { createOperatorView } from './operator-frame.ts'
import { consoleSections } from './sections.ts'

const { path } = consoleSections.members
const pageSize = 50
const maxQueryChars = 320

export async function createMembersView(page: PageContext): Promise<View> {
  const context = requireOperatorContext(page)
  const { t, query, services } = context
  const searchText = (query.get('q') ?? '').trim().slice(0, maxQueryChars)
  const after = query.get('after') ?? ''
  const accounts =
    searchText === ''
      ? await services.store.accounts.list({ limit: pageSize + 1, ...(/^acc_\w{1,40}$/.test(after) ? { after } : {}) })
      : await findMembers(searchText, services)
  const shownAccounts = accounts.slice(0, pageSize)
  const next = accounts.length > pageSize ? shownAccounts.at(-1)?.id : undefined
  return createOperatorView(context, {
    title: t.console.sections.members,
    content: html`${renderSearch(context, searchText)}
    ${
      shownAccounts.length === 0
        ? html`<section class="card">
            ${renderEmptyState('search', searchText === '' ? t.console.members.none : t.console.members.notFound)}
          </section>`
        : renderTable(context, shownAccounts)
    }
    ${renderCursorPager(context, { label: t.console.sections.members, first: path, isFirst: after === '', next: next === undefined ? null : `${path}?after=${next}` })}`,
  })
}

function renderSearch({ t }: OperatorContext, typed: string): Html {
  const { members: texts } = t.console
  return html`<form class="card pad search-row" method="get" action="${path}" role="search">
    <div class="field">
      <label for="q">${texts.search}</label>
      <input
        id="q"
        name="q"
        type="search"
        value="${typed}"
        maxlength="${maxQueryChars}"
        autocapitalize="none"
        spellcheck="false"
        aria-describedby="q-hint"
      />
      <p class="hint" id="q-hint">${texts.searchHint}</p>
    </div>
    <button class="button">${texts.find}</button>
  </form>`
}

function renderTable(context: OperatorContext, accounts: readonly Account[]): Html {
  const { members: texts, statuses } = context.t.console
  return renderDataTable({
    label: context.t.console.sections.members,
    look: 'card',
    columns: [
      { title: texts.member },
      { title: texts.plan },
      { title: texts.until },
      { title: texts.status },
      { title: texts.since },
    ],
    rows: accounts.map((account) => ({
      cells: [
        html`<a class="breakable" href="${path}/${account.id}">${account.email ?? account.id}</a>`,
        html`<span class="breakable">${account.plan}</span>`,
        account.planUntil === null ? html`` : renderTime(context, account.planUntil, 'date'),
        renderStatus(statuses, account),
        renderTime(context, account.createdAt, 'date'),
      ],
    })),
  })
}

export function renderStatus(statuses: Readonly<Record<Account['status'], string>>, { status }: Account): Html {
  const look = { active: 'good', disabled: 'bad', deleted: '' }[status]
  return html`<span class="badge ${look}">${statuses[status]}</span>`
}
