/** `/operator/routing/products/{id}`: one product with its targets over a span, a try as the router would, and its configuration. */
import { listProductValues } from '../../../../config/value-source.ts'
import { GatewayError } from '../../../../errors.ts'
import type { Trial } from '../../../../services/routing/target-trial.ts'
import { html } from '../../../html.ts'
import { interpolate, requireOperatorContext } from '../../../page.ts'
import type { OperatorActions, OperatorContext, PageContext, View } from '../../../page.ts'
import { createOperatorView } from '../operator-frame.ts'
import { consoleSections, hasScope } from '../sections.ts'
import { renderConfiguredValues } from './configured-values.ts'
import { renderSpans } from './route-links.ts'
import { renderRouteTables } from './route-table.ts'
import { createTryAction, renderTrial, renderTry } from './routing-actions.ts'
import { renderRoutingChart } from './routing-chart.ts'
import { readState } from './routing.ts'

export const productPath = `${consoleSections.routing.path}/products/:id`

export const productActions: OperatorActions = {
  try: createTryAction((context) => ({ product: findProduct(context) }), drawProduct),
}

export function createProductView(page: PageContext): Promise<View> {
  return drawProduct(requireOperatorContext(page))
}

async function drawProduct(context: OperatorContext, trial?: Trial): Promise<View> {
  const { t, services } = context
  const { routing: texts } = t.console
  const id = findProduct(context)
  const { lead, state } = await readState(context, { product: id })
  return createOperatorView(context, {
    title: interpolate(texts.productTitle, { id }),
    lead,
    end: renderSpans(context, state.span),
    content: html`${trial !== undefined && renderTrial(context, trial)}
    ${
      hasScope(context, 'routing:write') &&
      html`<section class="card pad doctor">
        ${renderTry(context, id)}
        <p class="sub">${texts.tryHint}</p>
      </section>`
    }
    ${renderRoutingChart(context, state.report, { product: id })} ${renderRouteTables(context, state)}
    ${await renderConfiguredValues(context, ['products', id], listProductValues(services.config, id))}`,
  })
}

/** The product of the page's address. @throws GatewayError `not_found` */
function findProduct({ path, services }: OperatorContext): string {
  const [, encodedId = ''] = /\/products\/([^/]+)$/.exec(path) ?? []
  const id = decodePart(encodedId)
  if (services.products.get(id) === undefined) throw new GatewayError('not_found')
  return id
}

/** Empty for what is not encoded. */
export function decodePart(encoded: string): string {
  try {
    return decodeURIComponent(encoded)
  } catch {
    return ''
  }
}
