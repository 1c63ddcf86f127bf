/** `/operator/routing/upstreams/{id}`: the targets of one upstream, what can be done with each, and its configuration. */
import { listUpstreamValues } from '../../../../config/value-source.ts'
import { GatewayError } from '../../../../errors.ts'
import { listRoutedProducts } from '../../../../services/routing/target-routing.ts'
import type { Trial } from '../../../../services/routing/target-trial.ts'
import { renderRows } from '../../../components/list.ts'
import { html } from '../../../html.ts'
import type { Html } from '../../../html.ts'
import { interpolate, requireOperatorContext } from '../../../page.ts'
import type { OperatorActions, OperatorContext, PageContext, View } from '../../../page.ts'
import { createOperatorView } from '../operator-frame.ts'
import { consoleSections, hasScope } from '../sections.ts'
import { renderConfiguredValues } from './configured-values.ts'
import { decodePart } from './product.ts'
import { renderSpans } from './route-links.ts'
import { renderOut, renderRouteTables, renderState } from './route-table.ts'
import type { RoutingState } from './route-table.ts'
import { createTryAction, renderTargetActions, renderTrial, targetActions } from './routing-actions.ts'
import { readState } from './routing.ts'

export const upstreamPath = `${consoleSections.routing.path}/upstreams/:id`

export const upstreamActions: OperatorActions = {
  ...targetActions,
  try: createTryAction((_, form) => ({ target: form.subject }), drawUpstream),
}

export function createUpstreamView(page: PageContext): Promise<View> {
  return drawUpstream(requireOperatorContext(page))
}

async function drawUpstream(context: OperatorContext, trial?: Trial): Promise<View> {
  const { t, services } = context
  const { routing: texts } = t.console
  const name = findUpstream(context)
  const { lead, state: all } = await readState(context)
  const prefix = `${name}/`
  const products = all.report.products
    .map((product) => ({ ...product, routes: product.routes.filter((route) => route.name?.startsWith(prefix) === true) }))
    .filter(({ routes }) => routes.length > 0)
  const state: RoutingState = { ...all, report: { ...all.report, products } }
  return createOperatorView(context, {
    title: interpolate(texts.upstreamTitle, { id: name }),
    lead,
    end: renderSpans(context, all.span),
    content: html`${trial !== undefined && renderTrial(context, trial)} ${renderTargets(context, state, prefix)}
    ${renderRouteTables(context, state)}
    ${await renderConfiguredValues(context, ['upstreams', name], listUpstreamValues(services.config, name))}`,
  })
}

function renderTargets(context: OperatorContext, state: RoutingState, prefix: string): Html {
  const { t, services } = context
  const { routing: texts } = t.console
  const configuredTargets = listRoutedProducts(services).flatMap(({ targets }) => targets.map(({ name }) => name))
  // One that is taken out and no longer configured can still be brought back.
  const names = new Set(
    [...configuredTargets, ...state.takenOut.map(({ target }) => target)].filter((name) => name.startsWith(prefix)),
  )
  if (names.size === 0) return html``
  return html`<section class="card">
    <div class="card-head pad-head">
      <h2>${texts.targets}</h2>
      ${hasScope(context, 'routing:write') && html`<p>${texts.tryHint}</p>`}
    </div>
    ${renderRows([...names], (name) => {
      const out = state.takenOut.find(({ target }) => target === name)
      return html`<li class="log-row">
        <p class="row-line">
          <code class="breakable">${name}</code> ${renderState(context, state, name)}
          ${out !== undefined && renderOut(context, out)}
        </p>
        ${out !== undefined && html`<p class="sub breakable">${interpolate(texts.because, { reason: out.reason })}</p>`}
        ${renderTargetActions(context, state, name)}
      </li>`
    })}
  </section>`
}

/** The upstream of the page's address. @throws GatewayError `not_found` */
function findUpstream({ path, services }: OperatorContext): string {
  const name = decodePart(/\/upstreams\/([^/]+)$/.exec(path)?.[1] ?? '')
  if (services.upstreams.get(name) === undefined) throw new GatewayError('not_found')
  return name
}
