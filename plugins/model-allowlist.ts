/** Product ids only, and only those the plan has. */
import { definePlugin, GatewayError, planHas, questionOf } from '../src/index.ts'
import type { Caller, Services } from '../src/index.ts'

export const modelAllowlist = definePlugin({
  name: 'model-allowlist',
  needs: ['caller'],
  gives: ['chat', 'product'],
  on: 'turn',
  async onRequest(x, services) {
    const chat = await x.inbound.chat()
    const product = services.products.get(chat.model)
    if (product === undefined || !planHas(x.caller.plan, product.id) || services.products.isGone(product, x.startedAt)) {
      throw new GatewayError('official_models_only', { param: 'model', params: { ids: idsFor(x.caller, services) } })
    }
    x.debug.productModel = product.id
    // Of a search only the question counts, for what it does and for what it costs.
    x.chat = product.capabilities.includes('search') ? questionOf(chat, services.config) : chat
    x.product = product
    Object.assign(x.headers, services.products.deprecationHeaders(product))
  },
})

function idsFor({ plan }: Caller, { products, clock }: Services): string {
  return products
    .availableTo(plan, clock.now())
    .map(({ id }) => id)
    .join(', ')
}
