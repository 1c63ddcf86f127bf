/** `/operator/turns`: ended turns of all members, newest first, with filters that stand in the address. */
import { GatewayError } from '../../../../errors.ts'
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
import { describeProgress, renderTurnSearch } from './turn-search-form.ts'
import { readTurnSearch, searchFields, toSearchQuery } from './turn-search.ts'
import { renderTurnTable } from './turn-table.ts'

const { path, access } = consoleSections.turns
export const liveTurnsPath = '/operator/live/turns'
const pageSize = 50
/** Of a turn that has just ended: it began within this time. */
const liveSpanMs = 3_600_000

/** What a stream sends; the page loads the rows themselves from its own address, because no script may turn text into markup. */
export interface LiveTurns {
  /** Turns of the first page that the poll before did not find, newest first. */
  readonly added: readonly number[]
  /** How far the list is behind the ledger, in words. */
  readonly progress: string
}

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
  const turnPage: TurnPage = isBad
    ? { turns: [], next: null }
    : await turnHistory.listTurns(search.filter, { limit: pageSize, ...(after === null ? {} : { after }) })
  const isLive = !isBad && cursor === ''
  const view = createOperatorView(context, {
    title: t.console.sections.turns,
    lead: html`<span data-live-progress>${describeProgress(context, progress)}</span>`,
    end: !isBad && html`<p class="actions">${isLive && renderPause(context)} ${renderExport(context, search.filter)}</p>`,
    ...(isLive ? { script: { name: 'console-turns', texts: {}, props: {} } } : {}),
    content: html`${renderTurnSearch(context, { path, fields: searchFields, search })}
      <section class="card" ${isLive && html`data-live-turns="${liveTurnsPath}${toSearchQuery(search.typed)}"`}>
        ${turnPage.turns.length === 0 ? renderNone(context, { isBad, isCursor: cursor !== '' }) : renderTurnTable(context, t.console.sections.turns, turnPage.turns)}
        ${renderCursorPager(context, {
          label: t.console.sections.turns,
          first: `${path}${toSearchQuery(search.typed)}`,
          isFirst: cursor === '',
          next:
            turnPage.next === null
              ? null
              : `${path}${toSearchQuery(search.typed, `${turnPage.next.startedAt}.${turnPage.next.id}`)}`,
        })}
      </section>`,
  })
  return isBad ? { ...view, status: 400 } : view
}

/**
 * Returns what reads the next event of a stream. Turns are found by when they began, so that each reading is of the first page: a turn that
 * began before those that are known may have ended since. The first event has the whole page, because turns may end while a browser opens the
 * stream. @throws GatewayError for filters that cannot be used
 */
export async function openLiveTurns(context: OperatorContext): Promise<(context: OperatorContext) => Promise<LiveTurns>> {
  const { filter, faults } = await readTurnSearch(context)
  const [param] = Object.keys(faults)
  if (param !== undefined) throw new GatewayError('invalid_request', { param })
  let knownIds: ReadonlySet<number> = new Set()
  return async ({ services, ...rest }) => {
    const { turnHistory } = services.membership
    const progress = await turnHistory.readProgress()
    const from = Math.max(filter.from ?? 0, services.clock.now() - liveSpanMs)
    const { turns } = await turnHistory.listTurns({ ...filter, from }, { limit: pageSize })
    const addedIds = turns.map(({ id }) => id).filter((id) => !knownIds.has(id))
    knownIds = new Set(turns.map(({ id }) => id))
    return { added: addedIds, progress: describeProgress({ services, ...rest }, progress) }
  }
}

/** Hidden until a script runs. */
function renderPause({ t }: OperatorContext): Html {
  const { turns: texts } = t.console
  return html`<button class="button quiet small" type="button" data-live-pause="${texts.resume}" hidden>${texts.pause}</button>`
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
  const { account, credential, product, target, ending, plan, failedOnly, success, requestId, from, to } = filter
  const values = {
    member: account,
    key: credential,
    product,
    target,
    ending,
    plan,
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
