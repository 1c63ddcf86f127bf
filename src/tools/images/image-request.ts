/** Translates a request of OpenAI's images API into a chat with the image product. */
import { invalidRequest } from '../../errors.ts'
import { parseChatRequest } from '../../exchange/request/chat-request.ts'
import type { ChatRequest } from '../../exchange/request/chat-request.ts'
import type { Services } from '../../services/services.ts'

/** @throws GatewayError `invalid_request`, naming the field */
export function parseImageRequest(
  body: Readonly<Record<string, unknown>>,
  services: Pick<Services, 'products' | 'config'>,
): ChatRequest {
  const { prompt, stream, response_format: format, n } = body
  // Clients leave the choice of model to the service by omitting it or by null.
  const model = body['model'] ?? findImageProductId(services)
  if (typeof prompt !== 'string' || prompt.trim() === '')
    throw invalidRequest(
      { en: "'prompt' must say what to paint (a string).", zh: "'prompt' 必须是说明绘制内容的字符串。" },
      'prompt',
    )
  if (stream !== undefined && stream !== null && stream !== false)
    throw invalidRequest(
      { en: "'stream' is not offered for images; leave it out.", zh: "图片接口不支持 'stream'，请去掉该字段。" },
      'stream',
    )
  if (format !== undefined && format !== null && format !== 'url' && format !== 'b64_json')
    throw invalidRequest(
      { en: "'response_format' must be 'url' or 'b64_json'.", zh: "'response_format' 必须是 'url' 或 'b64_json'。" },
      'response_format',
    )
  const product = typeof model === 'string' ? services.products.get(model) : undefined
  // An unknown model is refused by the allowlist with its own message.
  if (product !== undefined && !product.capabilities.includes('image'))
    throw invalidRequest(
      {
        en: `'${product.id}' does not paint; use '${findImageProductId(services)}'.`,
        zh: `'${product.id}' 不能生成图片，请改用 '${findImageProductId(services)}'。`,
      },
      'model',
    )
  if (services.config.images.style === 'chat' && typeof n === 'number' && n > 1)
    throw invalidRequest(
      { en: "'n' must be 1: this model generates one image at a time.", zh: "'n' 必须为 1：该模型每次只生成一张图片。" },
      'n',
    )
  const fields = { ...body, model, messages: [{ role: 'user', content: prompt }] }
  return parseChatRequest(Buffer.from(JSON.stringify(fields)))
}

function findImageProductId({ products }: Pick<Services, 'products'>): string {
  return products.all.find(({ capabilities }) => capabilities.includes('image'))?.id ?? ''
}
