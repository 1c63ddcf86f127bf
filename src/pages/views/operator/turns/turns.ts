/** `/operator/turns`: ended turns of all members, newest first, with filters that stand in the address. */
import { decideAccess } from '../../../../domain/identity/operators/operator-actor.ts'
import { formatInstant } from '../../../../domain/instant.ts'
import type { TurnFilter, TurnPage, TurnPosition } from '../../../../domain/turn-history/turn-history.ts'
import { renderEmptyState } from '../../../components/list.ts'
import { html } from '../../../html.ts'
import type { Html } from '../../../html.ts'
import { requireOperatorContext } from '../../../page.ts'
import type { OperatorContext, PageContext, View } from '../../../page.ts'
import { renderCursorPager } from '../cursor-pager.ts'
import { createOperatorView } from '../operator-frame.ts'
import { consoleSections } from '../sections.ts'
import { renderProgress, renderTurnSearch } from './turn-search-form.ts'
import { readTurnSearch, searchFields, toSearchQuery } from './turn-search.ts'
import { renderTurnTable } from './turn-table.ts'

const { path, access } = consoleSections.turns
const pageSize = 50

export async function createTurnsView(page: PageContext): Promise<View> {
  const context = requireOperatorContext(page)
  const { t, query, services } = context
  const { turnHistory } = services.membership
  const search = await readTurnSearch(context)
  const cursor = query.get('cursor') ?? ''
  const after = parseCursor(cursor)
  const isBad = Object.keys(search.faults).length > 0 || (cursor !== '' && after === null)
  // Before the list, so that nothing is missing that it says is there.
  const progress = await turnHistory.readProgress()
  const found: TurnPage = isBad
    ? { turns: [], next: null }
    : await turnHistory.listTurns(search.filter, { limit: pageSize, ...(after === null ? {} : { after }) })
  const view = createOperatorView(context, {
    title: t.console.sections.turns,
    lead: renderProgress(context, progress),
    end: !isBad && renderExport(context, search.filter),
    content: html`${renderTurnSearch(context, { path, fields: searchFields, search })}
      <section class="card">
        ${found.turns.length === 0 ? renderNone(context, { isBad, isCursor: cursor !== '' }) : renderTurnTable(context, t.console.sections.turns, found.turns)}
        ${renderCursorPager(context, {
          label: t.console.sections.turns,
          first: `${path}${toSearchQuery(search.typed)}`,
          isFirst: cursor === '',
          next: found.next === null ? null : `${path}${toSearchQuery(search.typed, `${found.next.startedAt}.${found.next.id}`)}`,
        })}
      </section>`,
  })
  return isBad ? { ...view, status: 400 } : view
}

function renderNone({ t }: OperatorContext, { isBad, isCursor }: { readonly isBad: boolean; readonly isCursor: boolean }): Html {
  const { turns: texts } = t.console
  return renderEmptyState('list', isBad ? texts.notSearched : isCursor ? texts.noMore : texts.none)
}

/** Null if it is none. One of yesterday is as good as one of today: it is a place in time. */
function parseCursor(cursor: string): TurnPosition | null {
  const [, startedAt, id] = /^(\d{1,15})\.(\d{1,15})$/.exec(cursor) ?? []
  return startedAt === undefined || id === undefined ? null : { startedAt: Number(startedAt), id: Number(id) }
}

/** The operator API writes the file; exports need a fresh proof. */
function renderExport(context: OperatorContext, filter: TurnFilter): Html {
  const { t, operator, services } = context
  const { turns: texts } = t.console
  if (decideAccess(operator.actor, { ...access, needsStepUp: true }, services.clock.now()) !== 'allowed')
    return html`<a class="button quiet small" href="${consoleSections.session.path}">${texts.exportProof}</a>`
  const { account, credential, product, target, ending, failedOnly, success, requestId, from, to } = filter
  const values = {
    member: account,
    key: credential,
    product,
    target,
    ending,
    failed: failedOnly === true ? 'true' : undefined,
    success,
    request: requestId,
    from: from === undefined ? undefined : formatInstant(from),
    to: to === undefined ? undefined : formatInstant(to),
  }
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(values)) if (value !== undefined) query.set(name, value)
  const address = `/api/operator/v1/turns.csv${query.size === 0 ? '' : `?${query}`}`
  return html`<a class="button quiet small" href="${address}" download>${texts.exportCsv}</a>`
}
