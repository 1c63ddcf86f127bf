/** `/operator/routing`: how each product and each of its targets did over a span, and which targets are taken out. */
import type { RoutingReport } from '../../../../services/routing/routing-report.ts'
import { readRouting } from '../../../../services/routing/routing-report.ts'
import { renderRows } from '../../../components/list.ts'
import { renderTime } from '../../../components/time.ts'
import { html } from '../../../html.ts'
import type { Html } from '../../../html.ts'
import { fillText, interpolate, requireOperatorContext } from '../../../page.ts'
import type { OperatorContext, PageContext, View } from '../../../page.ts'
import { createOperatorView } from '../operator-frame.ts'
import { describeProgress } from '../turns/turn-search-form.ts'
import { readSpan, renderSpans, toUpstreamPath } from './route-links.ts'
import { renderOut, renderRouteTables } from './route-table.ts'
import type { RoutingState } from './route-table.ts'
import { renderRoutingChart } from './routing-chart.ts'

export async function createRoutingView(page: PageContext): Promise<View> {
  const context = requireOperatorContext(page)
  const { t } = context
  const { lead, state } = await readState(context)
  return createOperatorView(context, {
    title: t.console.routing.title,
    lead,
    end: renderSpans(context, state.span),
    content: html`${renderTakenOut(context, state)} ${renderRoutingChart(context, state.report)}
    ${renderRouteTables(context, state)}`,
  })
}

/** Everything that the pages of routing show, and since when. */
export async function readState(
  context: OperatorContext,
  only: Parameters<typeof readRouting>[2] = {},
): Promise<{ readonly lead: Html; readonly state: RoutingState }> {
  const { t, services, operations } = context
  const span = readSpan(context)
  // Before the sums, so that nothing is missing that it says is there.
  const progress = await services.membership.turnHistory.readProgress()
  const [report, node, takenOut] = await Promise.all([
    readRouting(span, services, only),
    operations.readFigures(),
    services.store.takenOutTargets.list(services.clock.now()),
  ])
  const { from }: RoutingReport = report
  const since = fillText(t.console.routing.lead, { from: renderTime(context, from) })
  return { lead: html`${since} ${describeProgress(context, progress)}`, state: { span, report, node, takenOut } }
}

function renderTakenOut(context: OperatorContext, { takenOut, span }: RoutingState): Html {
  if (takenOut.length === 0) return html``
  const { routing: texts } = context.t.console
  return html`<section class="card">
    <div class="card-head pad-head"><h2>${texts.takenOutTitle}</h2></div>
    ${renderRows(takenOut, (out) => {
      const upstream = out.target.slice(0, out.target.indexOf('/'))
      return html`<li class="log-row">
        <p class="row-line">
          <a class="breakable" href="${toUpstreamPath(upstream, span)}"><code>${out.target}</code></a> ${renderOut(context, out)}
        </p>
        <p class="sub breakable">${interpolate(texts.because, { reason: out.reason })}</p>
      </li>`
    })}
  </section>`
}
