/** Product ids only, and only those the plan has; and nothing else in the body that chooses a model or buys an extra. */
import { definePlugin, faultIn, GatewayError, hasImages, planHas, questionOf } from '../src/index.ts'
import type { Caller, Product, PluginServices } from '../src/index.ts'

export const modelAllowlist = definePlugin({
  name: 'model-allowlist',
  needs: ['caller'],
  gives: ['chat', 'product'],
  on: 'turn',
  async onRequest(x, services) {
    const chat = await x.inbound.chat(x.caller.account.id)
    const product = services.products.get(chat.model)
    if (product === undefined || !planHas(x.caller.plan, product.id) || services.products.isGone(product, x.startedAt)) {
      throw new GatewayError('official_models_only', { param: 'model', params: { ids: idsFor(x.caller, services) } })
    }
    x.debug.productModel = product.id
    if (isBlind(product) && hasImages(chat)) throw cannotSee(product, x.caller, services)
    const fault = faultIn(chat, () => allowedFor(product, services))
    if (fault !== null) throw fault
    if (chat.choices > 1 && product.capabilities.includes('image') && services.config.images.style === 'chat') throw oneAtATime()
    // Of a search only the question counts, for what it does and for what it costs.
    x.chat = product.capabilities.includes('search') ? questionOf(chat, services.config) : chat
    x.product = product
    Object.assign(x.headers, services.products.deprecationHeaders(product))
  },
})

/** As its door for pictures says: an upstream that paints in a chat is told of no number. */
function oneAtATime(): GatewayError {
  return new GatewayError('invalid_request', {
    param: 'n',
    params: {
      detail: { en: "'n' must be 1: this model paints one picture at a time.", zh: "'n' 必须为 1:该模型每次只生成一张图片。" },
    },
  })
}

/** A chat that lists no vision; the products that search or paint read pictures in ways of their own. */
function isBlind({ capabilities }: Product): boolean {
  return capabilities.includes('chat') && !capabilities.includes('vision')
}

function cannotSee({ id }: Product, { plan }: Caller, { products, clock }: PluginServices): GatewayError {
  const seeing = products
    .availableTo(plan, clock.now())
    .flatMap((product) => (product.capabilities.includes('vision') ? [`'${product.id}'`] : []))
    .join(', ')
  return new GatewayError('invalid_request', {
    param: 'messages',
    actions: ['switch_model'],
    message: {
      en: `The model '${id}' takes no images.${seeing === '' ? '' : ` These do: ${seeing}.`}`,
      zh: `模型 '${id}' 不支持图片输入。${seeing === '' ? '' : `支持图片的模型:${seeing}。`}`,
    },
  })
}

/** What the operator lets through to every upstream that may serve this product. */
function allowedFor({ targets, rules, capabilities }: Product, { config, products }: PluginServices): ReadonlySet<string> {
  const all = [...targets, ...rules.flatMap(({ use }) => products.get(use)?.targets ?? [])]
  const [first = [], ...others] = all.map(({ upstream }) => config.upstreams[upstream]?.passFields ?? [])
  const allowed = first.filter((field) => others.every((fields) => fields.includes(field)))
  // A painter answers in pictures without being asked to; to ask for them is no extra there.
  if (capabilities.includes('image')) allowed.push('modalities')
  return new Set(allowed)
}

function idsFor({ plan }: Caller, { products, clock }: PluginServices): string {
  return products
    .availableTo(plan, clock.now())
    .map(({ id }) => id)
    .join(', ')
}
