/** Turns as a table whose rows lead to their stories. */
import type { TurnState } from '../../../../domain/billing/ledger.ts'
import type { TurnSummary } from '../../../../domain/turn-history/turn-history.ts'
import { renderDataTable } from '../../../components/data-table.ts'
import { renderTime } from '../../../components/time.ts'
import { formatNumber } from '../../../format.ts'
import { html, renderErrorCode } from '../../../html.ts'
import type { Html } from '../../../html.ts'
import type { OperatorContext } from '../../../page.ts'
import { consoleSections, hasScope } from '../sections.ts'

export function renderTurnTable(context: OperatorContext, label: string, turns: readonly TurnSummary[]): Html {
  const { t, language } = context
  const { member, turns: texts } = t.console
  return renderDataTable({
    label,
    look: 'turn-table',
    columns: [
      { title: member.turn },
      { title: texts.fields.member },
      { title: member.product },
      { title: member.ending },
      { title: texts.took, isNumber: true },
      { title: member.charged, isNumber: true },
    ],
    rows: turns.map((turn) => ({
      cells: [
        html`${renderTurnLink(turn.id, renderTime(context, turn.startedAt))} <code class="sub">${turn.requestId}</code>`,
        renderMember(context, turn.account),
        html`<span class="breakable">${turn.product}</span>
          ${turn.target !== null && html`<code class="sub">${turn.target}</code>`}`,
        renderTurnEnding(context, turn),
        html`${formatMs(context, turn.endedAt - turn.startedAt)}`,
        html`${formatNumber(turn.credits, language)}`,
      ],
    })),
  })
}

export function renderTurnLink(id: number, content: Html): Html {
  return html`<a href="${consoleSections.turns.path}/${id}">${content}</a>`
}

export function renderMember(context: OperatorContext, account: string): Html {
  return hasScope(context, consoleSections.members.access.scope)
    ? html`<a class="breakable" href="${consoleSections.members.path}/${account}">${account}</a>`
    : html`<span class="breakable">${account}</span>`
}

/** In words, or the code of the failure. */
export function nameEnding({ t }: OperatorContext, ending: string): string {
  const { endings } = t.console.now
  return Object.hasOwn(endings, ending) ? (endings[ending] ?? ending) : ending
}

export function renderTurnEnding(
  context: OperatorContext,
  { state, ending }: { readonly state: TurnState; readonly ending: string },
): Html {
  const { member, now, turns: texts } = context.t.console
  if (state === 'held') return html`<span class="badge warn">${member.turnStates.held}</span>`
  const look = ending === 'completed' ? 'good' : state === 'settled' ? 'warn' : 'bad'
  return Object.hasOwn(now.endings, ending)
    ? html`<span class="badge ${look}">${nameEnding(context, ending)}</span>`
    : html`<span class="badge ${look}">${texts.failed}</span> ${renderErrorCode(ending)}`
}

/** `120 ms`, `1.3 s`. */
export function formatMs({ language }: OperatorContext, ms: number): string {
  return ms < 1000 ? `${formatNumber(Math.round(ms), language)} ms` : `${formatNumber(Math.round(ms / 100) / 10, language)} s`
}
