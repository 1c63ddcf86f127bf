/** A request of OpenAI's images API, as the chat with the painting product that it comes to. */
import { invalidRequest } from '../../errors.ts'
import { parseChatRequest } from '../../exchange/chat-request.ts'
import type { ChatRequest } from '../../exchange/chat-request.ts'
import type { Services } from '../../gateway/services.ts'

/** @throws GatewayError `invalid_request`, naming the field */
export function parsePictureRequest(
  body: Readonly<Record<string, unknown>>,
  services: Pick<Services, 'products' | 'config'>,
): ChatRequest {
  const { prompt, stream, response_format: format, n } = body
  // Clients that leave it to us say so by leaving it out, or by null.
  const model = body['model'] ?? paintingProduct(services)
  if (typeof prompt !== 'string' || prompt.trim() === '')
    throw invalidRequest(
      { en: "'prompt' must say what to paint (a string).", zh: "'prompt' 必须是说明绘制内容的字符串。" },
      'prompt',
    )
  if (stream !== undefined && stream !== null && stream !== false)
    throw invalidRequest(
      { en: "'stream' is not offered for images; leave it out.", zh: "图片接口不支持 'stream',请去掉该字段。" },
      'stream',
    )
  if (format !== undefined && format !== null && format !== 'url' && format !== 'b64_json')
    throw invalidRequest(
      { en: "'response_format' must be 'url' or 'b64_json'.", zh: "'response_format' 必须是 'url' 或 'b64_json'。" },
      'response_format',
    )
  const product = typeof model === 'string' ? services.products.get(model) : undefined
  // One that is not ours at all is the allowlist's to refuse, in its own words.
  if (product !== undefined && !product.capabilities.includes('image'))
    throw invalidRequest(
      {
        en: `'${product.id}' does not paint; use '${paintingProduct(services)}'.`,
        zh: `'${product.id}' 不能生成图片,请改用 '${paintingProduct(services)}'。`,
      },
      'model',
    )
  if (services.config.images.style === 'chat' && typeof n === 'number' && n > 1)
    throw invalidRequest(
      { en: "'n' must be 1: this model paints one picture at a time.", zh: "'n' 必须为 1:该模型每次只生成一张图片。" },
      'n',
    )
  const fields = { ...body, model, messages: [{ role: 'user', content: prompt }] }
  return parseChatRequest(Buffer.from(JSON.stringify(fields)))
}

function paintingProduct({ products }: Pick<Services, 'products'>): string {
  return products.all.find(({ capabilities }) => capabilities.includes('image'))?.id ?? ''
}
