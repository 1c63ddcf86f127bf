/** `/operator/failures`: failed turns by code, product and target, each figure with a link to the turns behind it. */
import { formatInstant } from '../../../../domain/instant.ts'
import { maxFailureSpanMs } from '../../../../domain/turn-history/turn-history.ts'
import type { FailureGroup } from '../../../../domain/turn-history/turn-history.ts'
import { renderDataTable } from '../../../components/data-table.ts'
import { renderEmptyState } from '../../../components/list.ts'
import { renderTime } from '../../../components/time.ts'
import { formatNumber } from '../../../format.ts'
import { html } from '../../../html.ts'
import type { Html } from '../../../html.ts'
import { interpolate, requireOperatorContext } from '../../../page.ts'
import type { OperatorContext, PageContext, View } from '../../../page.ts'
import { createOperatorView } from '../operator-frame.ts'
import { consoleSections } from '../sections.ts'
import { describeProgress, renderTurnSearch } from './turn-search-form.ts'
import { noTarget, readTurnSearch, toSearchQuery } from './turn-search.ts'
import type { SearchField } from './turn-search.ts'
import { nameEnding, renderTurnLink } from './turn-table.ts'

const { path } = consoleSections.failures
const fields: readonly SearchField[] = ['member', 'product', 'target', 'from', 'to']
const dayMs = 86_400_000
/** More would make the page heavy; a filter shows the others. */
const maxShown = 50

export async function createFailuresView(page: PageContext): Promise<View> {
  const context = requireOperatorContext(page)
  const { t, services } = context
  const { turns: texts, failures } = t.console
  const { turnHistory } = services.membership
  const search = await readTurnSearch(context, fields)
  const { account, product, target } = search.filter
  const to = search.filter.to ?? services.clock.now()
  const from = search.filter.from ?? to - dayMs
  const faults = {
    ...search.faults,
    ...(from >= to ? { from: search.faults.to ?? texts.endsBefore } : {}),
    ...(to - from > maxFailureSpanMs
      ? { from: interpolate(failures.tooLong, { days: formatNumber(maxFailureSpanMs / dayMs, context.language) }) }
      : {}),
  }
  const isBad = Object.keys(faults).length > 0
  const progress = await turnHistory.readProgress()
  const groups = isBad
    ? []
    : await turnHistory.listFailures({
        from,
        to,
        ...(account === undefined ? {} : { account }),
        ...(product === undefined ? {} : { product }),
        ...(target === undefined ? {} : { target }),
      })
  const view = createOperatorView(context, {
    title: t.console.sections.failures,
    lead: html`${!isBad && html`${renderTime(context, from)} – ${renderTime(context, to)} ·`}
    ${describeProgress(context, progress)}`,
    content: html`${renderTurnSearch(context, { path, fields, search: { ...search, faults } })}
      <section class="card">
        ${
          groups.length === 0
            ? renderEmptyState('list', isBad ? texts.notSearched : failures.none)
            : renderGroups(context, groups.slice(0, maxShown), { from, to, account })
        }
        ${
          groups.length > maxShown &&
          html`<p class="sub pad-rest">
            ${interpolate(failures.more, { count: formatNumber(groups.length - maxShown, context.language) })}
          </p>`
        }
      </section>`,
  })
  return isBad ? { ...view, status: 400 } : view
}

interface Bounds {
  readonly from: number
  readonly to: number
  readonly account: string | undefined
}

function renderGroups(context: OperatorContext, groups: readonly FailureGroup[], { from, to, account }: Bounds): Html {
  const { t, language } = context
  const { turns: texts, failures, member } = t.console
  const toTurns = ({ ending, product, target }: FailureGroup): string =>
    consoleSections.turns.path +
    toSearchQuery({
      ...(account === undefined ? {} : { member: account }),
      product,
      target: target ?? noTarget,
      ending,
      from: formatInstant(from),
      to: formatInstant(to),
    })
  return renderDataTable({
    label: t.console.sections.failures,
    look: 'turn-table',
    columns: [
      { title: texts.fields.ending },
      { title: member.product },
      { title: failures.turns, isNumber: true },
      { title: failures.members, isNumber: true },
      { title: failures.seen },
      { title: failures.example },
    ],
    rows: groups.map((group) => ({
      cells: [
        html`<a class="breakable" href="/docs/errors#${group.ending}">${nameEnding(context, group.ending)}</a>`,
        html`<span class="breakable">${group.product}</span>
          ${group.target === null ? html`<span class="sub">${texts.noUpstream}</span>` : html`<code class="sub">${group.target}</code>`}`,
        html`<a href="${toTurns(group)}">${formatNumber(group.count, language)}</a>`,
        html`${formatNumber(group.accounts, language)}`,
        html`${renderTime(context, group.firstAt)} ${group.count > 1 && html`– ${renderTime(context, group.lastAt)}`}`,
        renderTurnLink(group.example.id, html`<code>${group.example.requestId}</code>`),
      ],
    })),
  })
}
