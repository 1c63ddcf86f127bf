/** What changed a member's balance, newest first, with the balance after each line and what is behind it. */
import type { Account } from '../../../../domain/identity/account.ts'
import type { StatementLine } from '../../../../domain/turn-history/turn-history.ts'
import { GatewayError } from '../../../../errors.ts'
import { renderDataTable } from '../../../components/data-table.ts'
import { renderTime } from '../../../components/time.ts'
import { formatNumber } from '../../../format.ts'
import { html } from '../../../html.ts'
import type { Html } from '../../../html.ts'
import { interpolate } from '../../../page.ts'
import type { OperatorContext } from '../../../page.ts'
import { renderCursorPager } from '../cursor-pager.ts'
import { renderOrderOfPack } from '../money/order-of-pack.ts'
import { consoleSections, hasScope } from '../sections.ts'
import { nameEnding, renderTurnLink } from '../turns/turn-table.ts'

const shownLines = 20

export async function renderStatement(context: OperatorContext, account: Account): Promise<Html> {
  const { t, query, path } = context
  const { statement: texts } = t.console
  const before = /^\d{1,15}$/.test(query.get('statement') ?? '') ? Number(query.get('statement')) : null
  const page = await readPage(context, account, before)
  if (page?.lines.length === 0 && before === null) return html``
  return html`<section class="card">
    <div class="card-head pad-head"><h2 id="title-statement">${texts.title}</h2></div>
    ${page === null ? html`<p class="sub pad-rest">${texts.beingMade}</p>` : renderLines(context, page.lines)}
    ${renderCursorPager(context, {
      label: texts.title,
      first: `${path}#title-statement`,
      isFirst: before === null,
      next: page === null || page.next === null ? null : `${path}?statement=${page.next}#title-statement`,
    })}
  </section>`
}

/** Null while older turns are still being added to the lists: the rest of the page is shown all the same. */
async function readPage({ services }: OperatorContext, account: Account, before: number | null) {
  const page = { limit: shownLines, ...(before === null ? {} : { before }) }
  try {
    return await services.membership.turnHistory.readStatement(account.id, page)
  } catch (error) {
    if (error instanceof GatewayError && error.code === 'temporarily_unavailable') return null
    throw error
  }
}

function renderLines(context: OperatorContext, lines: readonly StatementLine[]): Html {
  const { t, language } = context
  const { statement: texts } = t.console
  return renderDataTable({
    label: texts.title,
    look: 'turn-table',
    columns: [
      { title: texts.when },
      { title: texts.what },
      { title: texts.change, isNumber: true },
      { title: texts.planLeft, isNumber: true },
      { title: texts.packsLeft, isNumber: true },
    ],
    rows: lines.map((line) => ({
      cells: [
        renderTime(context, line.at),
        renderWhat(context, line),
        html`${formatChange(line.credits, language)} <span class="sub part">${t.account[line.pool]}</span>`,
        html`${formatNumber(line.planLeft, language)}`,
        html`${formatNumber(line.packsLeft, language)}`,
      ],
    })),
  })
}

function renderWhat(context: OperatorContext, line: StatementLine): Html {
  const { statement: texts } = context.t.console
  const { kind, turn, pack, product, ending, reason } = line
  if (turn !== null) {
    const name = html`${interpolate(texts.turn, { product: product ?? '' })}`
    const nameOrLink = hasScope(context, consoleSections.turns.access.scope) ? renderTurnLink(turn, name) : name
    return html`<span class="breakable">${nameOrLink}</span>
      ${ending !== null && ending !== 'completed' && html`<span class="sub breakable">${nameEnding(context, ending)}</span>`}`
  }
  const name = kind === 'adjust' ? (line.credits > 0 ? texts.added : texts.taken) : texts.kinds[kind]
  return html`${name} ${pack !== null && html`${renderOrderOfPack(context, pack)} <code class="sub breakable">${pack}</code>`}
  ${reason !== null && html`<span class="breakable">“${reason}”</span>`}`
}

/** `+5,000`, `−120`, `0`. */
function formatChange(credits: number, language: OperatorContext['language']): string {
  return credits > 0 ? `+${formatNumber(credits, language)}` : formatNumber(credits, language)
}
