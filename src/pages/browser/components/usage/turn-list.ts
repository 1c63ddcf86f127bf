/** The turns, ten a page, with filters that stand in the address, and all of them as CSV. */
import { callApi } from '../../api-client.ts'
import type { Key, Turn, TurnFilter } from '../../api-types.ts'
import { formatCount, formatNumber, renderTimestamp } from '../../format.ts'
import { createElement, findElement, getTexts, interpolate } from '../../page.ts'
import { createEmptyState } from '../empty-state.ts'
import { createPager } from '../pager.ts'
import { loadCard, renderFailureNotice } from '../request-state.ts'
import { toCsv } from './csv.ts'
import { nameFormat, nameSource } from './usage-names.ts'

const pageSize = 10
/** Requests of an export get this many turns each, and an export has at most so many. */
const exportPageSize = 500
const maxExported = 20_000
const texts = getTexts('account')
const filterNames = ['model', 'credential', 'api_format', 'state'] as const
const codes: Readonly<Record<string, string>> = texts.codes

interface TurnList {
  readonly refresh: () => Promise<void>
}

export function setUpTurnList(keys: Promise<readonly Key[]>): TurnList {
  const form = findElement('[data-filter]', HTMLFormElement)
  const fold = findElement('.turn-filter', HTMLDetailsElement)
  const exportButton = findElement('[data-export]', HTMLButtonElement)
  const exportStatus = findElement('[data-export-status]', HTMLElement)
  let offset = 0
  const keyNames = keys.then(
    (list) => new Map(list.map(({ id, name }) => [id, name])),
    () => new Map<string, string>(),
  )

  const refresh = async (): Promise<void> => {
    await loadCard('turns', async () => {
      const query = { ...readFilter(form), limit: pageSize, offset }
      const [{ data, has_more: hasMore }, names] = await Promise.all([
        callApi('get', '/api/membership/turns', { query }),
        keyNames,
      ])
      return renderPage(data, hasMore, names)
    })
  }

  const turnTo = async (next: number): Promise<void> => {
    offset = next
    await refresh()
    const title = findElement('#title-turns', HTMLElement)
    title.tabIndex = -1
    title.focus()
  }

  const renderPage = (list: readonly Turn[], hasMore: boolean, names: ReadonlyMap<string, string>): HTMLElement[] => {
    if (list.length === 0) {
      const isFiltered = Object.keys(readFilter(form)).length > 0
      if (!isFiltered) return [createEmptyState('inbox', texts.turnsEmpty)]
      const clear = createElement('button', { class: 'button quiet small', type: 'button', onclick: showAll }, texts.clearFilter)
      return [createEmptyState('search', texts.noneMatch, clear)]
    }
    const rows = createElement('ol', { class: 'rows', role: 'list' }, ...list.map((turn) => renderTurn(turn, names)))
    const pager = createPager({
      label: texts.turnsTitle,
      page: offset / pageSize + 1,
      hasOlder: hasMore,
      texts,
      turnTo: (page) => void turnTo((page - 1) * pageSize),
    })
    return pager === null ? [rows] : [rows, pager]
  }

  const applyFilter = (): void => {
    offset = 0
    writeAddress(readFilter(form))
    void refresh()
  }

  /** The button that was pressed is gone with its notice, so the focus goes to the filter. */
  const showAll = (): void => {
    for (const name of filterNames) findElement(`[name=${name}]`, HTMLSelectElement, form).value = ''
    applyFilter()
    findElement('summary', HTMLElement, fold).focus()
  }

  form.addEventListener('change', applyFilter)
  form.addEventListener('submit', (event) => event.preventDefault())
  exportButton.addEventListener('click', async () => {
    exportButton.disabled = true
    exportStatus.textContent = texts.exporting
    try {
      const { csv, count, isComplete } = await exportTurns(readFilter(form), await keyNames)
      download(csv)
      const summary = interpolate(texts.exported, { turns: formatCount('turns', count) })
      exportStatus.textContent = isComplete ? summary : `${summary} ${texts.exportLimit}`
    } catch (failure) {
      exportStatus.replaceChildren(renderFailureNotice(failure))
    } finally {
      exportButton.disabled = false
    }
  })

  void keys
    .then((list) => {
      const select = findElement('[name=credential]', HTMLSelectElement, form)
      for (const [id, name] of Object.entries(texts.sources)) select.append(createElement('option', { value: id }, name))
      for (const { id, name } of list) select.append(createElement('option', { value: id }, name))
    })
    .catch(() => undefined)
    .then(() => {
      // The filter of the address is complete once the keys are in the list.
      const wanted = new URLSearchParams(location.search)
      for (const name of filterNames) findElement(`[name=${name}]`, HTMLSelectElement, form).value = wanted.get(name) ?? ''
      if (Object.keys(readFilter(form)).length > 0) fold.open = true
      return refresh()
    })
  return { refresh }
}

/** The options of the lists are what the API accepts. */
function readFilter(form: HTMLFormElement): TurnFilter {
  const data = new FormData(form)
  const chosen = filterNames.map((name) => [name, String(data.get(name) ?? '')] as const).filter(([, value]) => value !== '')
  return Object.fromEntries(chosen) as TurnFilter
}

function writeAddress(filter: TurnFilter): void {
  const address = new URL(location.href)
  for (const name of filterNames) {
    const value = filter[name]
    if (value === undefined) address.searchParams.delete(name)
    else address.searchParams.set(name, value)
  }
  history.replaceState(null, '', address)
}

const badgeClasses = { settled: 'badge', held: 'badge warn', refunded: 'badge good', expired: 'badge good' } as const

/** Two lines; the rest is behind them. */
function renderTurn(turn: Turn, keyNames: ReadonlyMap<string, string>): HTMLElement {
  const isStopped = turn.code === 'aborted'
  const tokens = interpolate(texts.turnTokens, {
    input: formatNumber(turn.input_tokens),
    output: formatNumber(turn.output_tokens),
  })
  const facts: readonly (readonly [string, string | null])[] = [
    [texts.request, turn.request_id],
    [texts.dimensions.apiFormat, nameFormat(turn.api_format)],
    [texts.requestedAs, turn.requested_model],
    [texts.reason, turn.code === null ? null : (codes[turn.code] ?? turn.code)],
    [texts.tokens, turn.estimated ? `${tokens} (${texts.estimated})` : tokens],
    [texts.cachedTokens, turn.cached_input_tokens === 0 ? null : formatNumber(turn.cached_input_tokens)],
    [texts.held, turn.state === 'held' ? formatNumber(turn.reserved) : null],
  ]
  return createElement(
    'li',
    {},
    createElement(
      'details',
      { class: 'row' },
      createElement(
        'summary',
        {},
        createElement(
          'span',
          { class: 'row-line' },
          createElement('code', { class: 'row-name' }, turn.model),
          createElement('span', { class: badgeClasses[turn.state] }, isStopped ? texts.stopped : texts.states[turn.state]),
          createElement('strong', { class: 'row-end' }, formatCount('credits', turn.credits)),
        ),
        createElement(
          'span',
          { class: 'row-line sub' },
          renderTimestamp(turn.started_at),
          createElement('span', { class: 'row-cut' }, nameSource(turn.credential, keyNames.get(turn.credential))),
          createElement('span', { class: 'row-end' }, tokens),
        ),
      ),
      createElement(
        'dl',
        { class: 'facts' },
        ...facts.flatMap(([name, value]) =>
          value === null ? [] : [createElement('dt', {}, name), createElement('dd', {}, value)],
        ),
      ),
    ),
  )
}

async function exportTurns(
  filter: TurnFilter,
  keyNames: ReadonlyMap<string, string>,
): Promise<{ readonly csv: string; readonly count: number; readonly isComplete: boolean }> {
  // Turns that begin meanwhile must not move the pages.
  const until = new Date().toISOString()
  const all: Turn[] = []
  for (;;) {
    const query = { ...filter, until, limit: exportPageSize, offset: all.length }
    const { data, has_more: hasMore } = await callApi('get', '/api/membership/turns', { query })
    all.push(...data)
    if (hasMore && all.length < maxExported) continue
    const rows = all.map((turn) => [
      turn.started_at,
      turn.ended_at ?? '',
      turn.request_id,
      turn.model,
      turn.requested_model ?? '',
      turn.api_format,
      turn.tier,
      nameSource(turn.credential, keyNames.get(turn.credential)),
      turn.state,
      turn.code ?? '',
      turn.input_tokens,
      turn.cached_input_tokens,
      turn.output_tokens,
      turn.credits,
    ])
    return { csv: toCsv([csvColumns, ...rows]), count: all.length, isComplete: !hasMore }
  }
}

const csvColumns = [
  'started_at',
  'ended_at',
  'request_id',
  'model',
  'requested_model',
  'api_format',
  'tier',
  'key',
  'state',
  'code',
  'input_tokens',
  'cached_input_tokens',
  'output_tokens',
  'credits',
] as const

function download(csv: string): void {
  // The mark at the beginning makes spreadsheets read UTF-8.
  const url = URL.createObjectURL(new Blob(['\uFEFF', csv], { type: 'text/csv;charset=utf-8' }))
  const link = createElement('a', { href: url, download: `turns-${new Date().toISOString().slice(0, 10)}.csv` })
  document.body.append(link)
  link.click()
  link.remove()
  setTimeout(() => URL.revokeObjectURL(url), 10_000)
}
