/** `/operator/money/packs`: packs of all members, the newest ones or those about to end, with what was spent of each. */
import { isPurchasedPack } from '../../../../domain/billing/orders/order.ts'
import type { ListedPack } from '../../../../domain/billing/sale-lists.ts'
import { renderDataTable } from '../../../components/data-table.ts'
import { renderEmptyState } from '../../../components/list.ts'
import { renderTime } from '../../../components/time.ts'
import { formatNumber } from '../../../format.ts'
import { html } from '../../../html.ts'
import type { Html } from '../../../html.ts'
import { interpolate, requireOperatorContext } from '../../../page.ts'
import type { OperatorContext, PageContext, View } from '../../../page.ts'
import { renderCursorPager } from '../cursor-pager.ts'
import { createOperatorView } from '../operator-frame.ts'
import { renderMember } from '../turns/turn-table.ts'
import { renderOrderOfPack } from './order-of-pack.ts'
import { moneyPages, renderMoneyTabs } from './money-tabs.ts'

const { path } = moneyPages.packs
const pageSize = 50
const endingDays = 14
const dayMs = 86_400_000

export async function createPacksView(page: PageContext): Promise<View> {
  const context = requireOperatorContext(page)
  const { t, query, services } = context
  const { packs: texts } = t.console
  const isEnding = query.get('show') === 'ending'
  const cursor = query.get('before') ?? ''
  const isFirst = !/^[a-z]{3,4}_\w{1,60}$/.test(cursor)
  const pageOf = { limit: pageSize + 1, ...(isFirst ? {} : { before: cursor }) }
  const now = services.clock.now()
  const packs = await (isEnding
    ? services.store.saleLists.listEndingPacks({ ...pageOf, from: now, to: now + endingDays * dayMs })
    : services.store.saleLists.listPacks(pageOf))
  const shownPacks = packs.slice(0, pageSize)
  const next = packs.length > pageSize ? shownPacks.at(-1)?.id : undefined
  const ending = interpolate(texts.ending, { days: endingDays })
  return createOperatorView(context, {
    title: texts.title,
    lead: texts.lead,
    content: html`${renderMoneyTabs(context, 'packs')}
      <nav class="tabs money-tabs" aria-label="${texts.which}">
        <a href="${path}" ${!isEnding && html`aria-current="true"`}>${texts.newest}</a>
        <a href="${path}?show=ending" ${isEnding && html`aria-current="true"`}>${ending}</a>
      </nav>
      <section class="card">
        ${shownPacks.length === 0 ? renderEmptyState('list', isEnding ? texts.noneEnds : texts.none) : renderTable(context, shownPacks)}
        ${renderCursorPager(context, {
          label: texts.title,
          first: toAddress(isEnding),
          isFirst,
          next: next === undefined ? null : toAddress(isEnding, next),
        })}
      </section>`,
  })
}

function toAddress(isEnding: boolean, before?: string): string {
  const query = new URLSearchParams({ ...(isEnding ? { show: 'ending' } : {}), ...(before === undefined ? {} : { before }) })
  return query.size === 0 ? path : `${path}?${query}`
}

function renderTable(context: OperatorContext, packs: readonly ListedPack[]): Html {
  const { t, language } = context
  const { packs: texts } = t.console
  return renderDataTable({
    label: texts.title,
    columns: [
      { title: t.console.members.member },
      { title: texts.from },
      { title: texts.given, isNumber: true },
      { title: texts.left, isNumber: true },
      { title: texts.endsAt },
    ],
    rows: packs.map((pack) => ({
      cells: [
        renderMember(context, pack.account),
        html`${isPurchasedPack(pack) ? renderOrderOfPack(context, pack.id) : (texts.kinds[pack.kind] ?? pack.kind)}
          <code class="sub breakable">${pack.id}</code>`,
        html`${formatNumber(pack.granted, language)} <span class="sub part">${t.account[pack.pool]}</span>`,
        html`${formatNumber(pack.granted - pack.settled, language)}
          <span class="sub part">${texts.spent} ${formatNumber(pack.settled, language)}</span>`,
        html`${renderTime(context, pack.expiresAt, 'date')}
          <span class="sub part">${texts.madeAt} ${renderTime(context, pack.createdAt, 'date')}</span>`,
      ],
    })),
  })
}
