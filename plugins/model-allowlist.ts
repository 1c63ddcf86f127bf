/**
 * Accepts product ids that the plan includes, and rejects fields that choose another model or buy an extra, and addresses that an upstream
 * must not fetch.
 */
import {
  definePlugin,
  findForbiddenField,
  findMediaAddresses,
  GatewayError,
  hasImages,
  planIncludes,
  toSearchRequest,
} from '../src/index.ts'
import type { Caller, Exchange, Product, PluginServices } from '../src/index.ts'

export const modelAllowlist = definePlugin({
  name: 'model-allowlist',
  needs: ['caller'],
  gives: ['chat', 'product'],
  on: 'turn',
  async onRequest(x, services) {
    const chat = await x.inbound.chat(x.caller.account.id, { hostsSearch: hostsSearch(x, services) })
    const product = services.products.get(chat.model)
    if (product === undefined || !planIncludes(x.caller.plan, product.id) || services.products.isRetired(product, x.startedAt)) {
      throw new GatewayError('official_models_only', { param: 'model', params: { ids: listProductIds(x.caller, services) } })
    }
    x.debug.productModel = product.id
    if (product.capabilities.includes('embedding') && x.inbound.path !== '/v1/embeddings') throw embeddingsOnlyError(product)
    if (lacksVision(product) && hasImages(chat)) throw imagesNotSupportedError(product, x.caller, services)
    const fault = findForbiddenField(chat, () => getAllowedFields(product, services))
    if (fault !== null) throw fault
    if (chat.choices > 1 && product.capabilities.includes('image') && services.config.images.style === 'chat')
      throw singleImageError()
    // A search uses the question only, for the search and for its price.
    const isSearch = product.capabilities.includes('search')
    const addresses = isSearch ? [] : findMediaAddresses(chat)
    if (addresses.length > 0) await checkMediaAddresses(addresses, product, x.caller, services)
    x.chat = isSearch ? toSearchRequest(chat, services.config) : chat
    x.product = product
    Object.assign(x.headers, services.products.deprecationHeaders(product))
  },
})

/** Chat completions have no hosted search. In other API formats it is charged as the search product is. */
function hostsSearch(
  { translation, caller, startedAt }: Exchange & { readonly caller: Caller },
  { products }: PluginServices,
): boolean {
  if (translation === undefined) return false
  return products.availableTo(caller.plan, startedAt).some(({ capabilities }) => capabilities.includes('search'))
}

function embeddingsOnlyError({ id }: Product): GatewayError {
  return new GatewayError('invalid_request', {
    param: 'model',
    actions: ['switch_model'],
    params: {
      detail: {
        en: `'${id}' makes embeddings and does not chat. Use POST /v1/embeddings.`,
        zh: `'${id}' 只用于生成向量嵌入，不能对话。请使用 POST /v1/embeddings。`,
      },
    },
  })
}

/** The same rule as the image endpoint: an upstream that generates images in a chat cannot be given a number. */
function singleImageError(): GatewayError {
  return new GatewayError('invalid_request', {
    param: 'n',
    params: {
      detail: { en: "'n' must be 1: this model generates one image at a time.", zh: "'n' 必须为 1：该模型每次只生成一张图片。" },
    },
  })
}

/** A chat product without vision. Search and image products read images in their own ways. */
function lacksVision({ capabilities }: Product): boolean {
  return capabilities.includes('chat') && !capabilities.includes('vision')
}

function imagesNotSupportedError({ id }: Product, { plan }: Caller, { products, clock }: PluginServices): GatewayError {
  const visionProducts = products
    .availableTo(plan, clock.now())
    .flatMap((product) => (product.capabilities.includes('vision') ? [`'${product.id}'`] : []))
    .join(', ')
  return new GatewayError('invalid_request', {
    param: 'messages',
    actions: ['switch_model'],
    message: {
      en: `The model '${id}' does not accept images.${visionProducts === '' ? '' : ` These do: ${visionProducts}.`}`,
      zh: `模型 '${id}' 不支持图片输入。${visionProducts === '' ? '' : `支持图片的模型：${visionProducts}。`}`,
    },
  })
}

/** Whatever is named by an address needs `vision`, and is sent only if every upstream that may serve the product may fetch it. */
async function checkMediaAddresses(
  addresses: readonly string[],
  product: Product,
  caller: Caller,
  services: PluginServices,
): Promise<void> {
  if (lacksVision(product)) throw imagesNotSupportedError(product, caller, services)
  const upstreams = listServingTargets(product, services).map(({ upstream }) => upstream)
  const fault = await services.mediaAddresses.findFault(addresses, upstreams)
  if (fault !== null) throw new GatewayError('invalid_request', { param: 'messages', params: { detail: addressFaults[fault] } })
}

const addressFaults = {
  refused: {
    en: 'pictures, video, sound and files cannot be sent as addresses to this model. Send their contents as a data: URL in Base64.',
    zh: '该模型不接受以地址发送的图片、视频、音频或文件，请以 Base64 编码的 data: URL 发送内容。',
  },
  not_public: {
    en: 'an address in a message is not an https address of a public host. Use such an address, or send the contents as a data: URL in Base64.',
    zh: '消息中有地址不是公网主机的 https 地址。请改用此类地址，或以 Base64 编码的 data: URL 发送内容。',
  },
  too_many: {
    en: 'the messages name too many addresses or hosts. Send the contents as data: URLs in Base64.',
    zh: '消息中的地址或主机过多，请以 Base64 编码的 data: URL 发送内容。',
  },
} as const

/** All targets that may serve a turn of the product. */
function listServingTargets({ targets, rules }: Product, { products }: PluginServices): Product['targets'] {
  return [...targets, ...rules.flatMap(({ use }) => products.get(use)?.targets ?? [])]
}

/** Fields that the operator allows for every upstream that may serve this product. */
function getAllowedFields(product: Product, services: PluginServices): ReadonlySet<string> {
  const { config } = services
  const [first = [], ...others] = listServingTargets(product, services).map(
    ({ upstream }) => config.upstreams[upstream]?.passRequestFields ?? [],
  )
  const allowedFields = first.filter((field) => others.every((fields) => fields.includes(field)))
  // An image product responds with images anyway, so requesting them is no extra.
  if (product.capabilities.includes('image')) allowedFields.push('modalities')
  return new Set(allowedFields)
}

function listProductIds({ plan }: Caller, { products, clock }: PluginServices): string {
  return products
    .availableTo(plan, clock.now())
    .map(({ id }) => id)
    .join(', ')
}
