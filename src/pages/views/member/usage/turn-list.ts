/** The turns, ten a page, with filters that stand in the address, and all of them as CSV. */
import type { Turn, TurnQuery } from '../../../../domain/billing/ledger.ts'
import type { Services } from '../../../../services/services.ts'
import { renderEmptyState, renderFacts, renderRows } from '../../../components/list.ts'
import { renderPager } from '../../../components/pager.ts'
import { renderTime } from '../../../components/time.ts'
import { formatCount, formatNumber } from '../../../format.ts'
import { html } from '../../../html.ts'
import type { Html } from '../../../html.ts'
import { interpolate } from '../../../page.ts'
import type { MemberContext, PageContext } from '../../../page.ts'
import { nameFormat, nameSource } from './usage-names.ts'

const pageSize = 10
const maxPage = 10_000
const filterNames = ['model', 'credential', 'api_format', 'state'] as const
const shownStates = ['settled', 'refunded', 'held'] as const
const badgeLooks = { settled: 'badge', held: 'badge warn', refunded: 'badge good', expired: 'badge good' } as const
const anchor = '#title-turns'

/** By id. */
export type KeyNames = ReadonlyMap<string, string>

/** The filter of an address; what no turn can have is left out. */
export function readTurnFilter(query: URLSearchParams): Partial<TurnQuery> {
  const readField = (name: string): string | undefined => {
    const value = query.get(name) ?? ''
    return value === '' || value.length > 128 ? undefined : value
  }
  const [model, credential, apiFormat] = [readField('model'), readField('credential'), readField('api_format')]
  const state = shownStates.find((each) => each === readField('state'))
  return {
    ...(model === undefined ? {} : { model }),
    ...(credential === undefined ? {} : { credential }),
    ...(apiFormat === undefined ? {} : { apiFormat }),
    ...(state === undefined ? {} : { state }),
  }
}

/** Whether the account has any turn, for the first steps; reads at most one. */
export async function hasTurns({ ledger }: Services, account: string): Promise<boolean> {
  return (await ledger.turns({ account, limit: 1 })).length > 0
}

export async function renderTurns(context: MemberContext, keyNames: KeyNames): Promise<Html> {
  const { t, query, services, viewer } = context
  const { account: texts } = t
  const filter = readTurnFilter(query)
  const isFiltered = Object.keys(filter).length > 0
  const page = Math.min(maxPage, Math.max(1, Math.trunc(Number(query.get('page'))) || 1))
  const offset = (page - 1) * pageSize
  const turns = await services.ledger.turns({ ...filter, account: viewer.id, limit: pageSize + 1, ...(offset > 0 && { offset }) })
  // A new account has nothing to filter or to export.
  const hasAny = turns.length > 0 || isFiltered || page > 1
  const address = new URLSearchParams([...query].filter(([name]) => isFilterName(name)))
  const csv = `/account/turns.csv${address.toString() === '' ? '' : `?${address}`}`
  return html`<section class="card" aria-labelledby="title-turns">
    <div class="card-head pad-head">
      <h2 id="title-turns" tabindex="-1">${texts.turnsTitle}</h2>
      ${hasAny && html`<a class="button quiet small" href="${csv}" download data-tip="${texts.exportLimit}">${texts.exportCsv}</a>`}
    </div>
    ${
      hasAny &&
      html`<details class="fold turn-filter" ${isFiltered && html`open`}>
        <summary>${texts.filter}</summary>
        ${renderFilter(context, keyNames)}
      </details>`
    }
    ${
      turns.length === 0
        ? renderNone(context, isFiltered)
        : renderRows(turns.slice(0, pageSize), (turn) => renderTurn(context, turn, keyNames))
    }
    ${renderPager({
      label: texts.turnsTitle,
      page,
      hasOlder: turns.length > pageSize,
      texts,
      toHref: (next) => `?${withPage(address, next)}${anchor}`,
    })}
  </section>`
}

function isFilterName(name: string): boolean {
  return filterNames.some((each) => each === name)
}

function withPage(address: URLSearchParams, page: number): string {
  const query = new URLSearchParams(address)
  query.set('page', String(page))
  return query.toString()
}

function renderNone({ t }: PageContext, isFiltered: boolean): Html {
  if (!isFiltered) return renderEmptyState('inbox', t.account.turnsEmpty)
  const clear = html`<a class="button quiet small" href="/account${anchor}">${t.account.clearFilter}</a>`
  return renderEmptyState('search', t.account.noneMatch, clear)
}

function renderFilter({ t, query, services }: PageContext, keyNames: KeyNames): Html {
  const { account: texts } = t
  const choices = {
    model: [texts.model, services.products.all.map(({ id }) => [id, id])],
    credential: [texts.dimensions.key, [...Object.entries(texts.sources), ...keyNames]],
    api_format: [texts.dimensions.apiFormat, Object.entries(texts.formats)],
    state: [texts.state, shownStates.map((state) => [state, texts.states[state]])],
  } as const
  return html`<form class="filter-row" action="/account${anchor}" data-auto-submit>
    ${filterNames.map((name) => {
      const [label, options] = choices[name]
      return html`<div class="field">
        <label for="filter-${name}">${label}</label>
        <select id="filter-${name}" name="${name}">
          <option value="">${texts.all}</option>
          ${options.map(
            ([value, text]) => html`<option value="${value}" ${value === query.get(name) && html`selected`}>${text}</option>`,
          )}
        </select>
      </div>`
    })}
    <button class="button quiet small">${texts.show}</button>
  </form>`
}

/** Two lines; the rest is behind them. */
function renderTurn(context: PageContext, turn: Turn, keyNames: KeyNames): Html {
  const { t, language } = context
  const { account: texts } = t
  const tokens = interpolate(texts.turnTokens, {
    input: formatNumber(turn.inputTokens, language),
    output: formatNumber(turn.outputTokens, language),
  })
  return html`<li>
    <details class="row">
      <summary>
        <span class="row-line">
          <code class="row-name">${turn.model}</code>
          <span class="${badgeLooks[turn.state]}">${turn.code === 'aborted' ? texts.stopped : texts.states[turn.state]}</span>
          <strong class="row-end">${formatCount(context, 'credits', turn.credits)}</strong>
        </span>
        <span class="row-line sub">
          ${renderTime(context, turn.startedAt)}
          <span class="row-cut">${nameSource(texts, turn.credential, keyNames.get(turn.credential))}</span>
          <span class="row-end">${tokens}</span>
        </span>
      </summary>
      ${renderFacts([
        [texts.request, turn.requestId],
        [texts.dimensions.apiFormat, nameFormat(texts, turn.apiFormat)],
        [texts.requestedAs, turn.requestedModel],
        [texts.reason, turn.code === null ? null : (texts.codes[turn.code] ?? turn.code)],
        [texts.tokens, turn.estimated ? `${tokens} (${texts.estimated})` : tokens],
        [texts.cachedTokens, turn.cachedInputTokens === 0 ? null : formatNumber(turn.cachedInputTokens, language)],
        [texts.held, turn.state === 'held' ? formatNumber(turn.reserved, language) : null],
      ])}
    </details>
  </li>`
}
