/** A request of OpenAI's images API, as the chat with the painting product that it comes to. */
import { invalidRequest } from '../errors.ts'
import { parseChatRequest } from '../exchange/chat-request.ts'
import type { ChatRequest } from '../exchange/chat-request.ts'
import type { Services } from '../services.ts'

/** @throws GatewayError `invalid_request`, naming the field */
export function parsePictureRequest(
  body: Readonly<Record<string, unknown>>,
  services: Pick<Services, 'products' | 'config'>,
): ChatRequest {
  const { prompt, stream, response_format: format, model = paintingProduct(services), n } = body
  if (typeof prompt !== 'string' || prompt.trim() === '')
    throw invalidRequest("'prompt' must say what to paint (a string).", 'prompt')
  if (stream !== undefined && stream !== null && stream !== false)
    throw invalidRequest("'stream' is not offered for images; leave it out.", 'stream')
  if (format !== undefined && format !== null && format !== 'url' && format !== 'b64_json')
    throw invalidRequest("'response_format' must be 'url' or 'b64_json'.", 'response_format')
  const product = typeof model === 'string' ? services.products.get(model) : undefined
  // One that is not ours at all is the allowlist's to refuse, in its own words.
  if (product !== undefined && !product.capabilities.includes('image'))
    throw invalidRequest(`'${product.id}' does not paint; use '${paintingProduct(services)}'.`, 'model')
  if (services.config.images.style === 'chat' && typeof n === 'number' && n > 1)
    throw invalidRequest("'n' must be 1: this model paints one picture at a time.", 'n')
  const fields = { ...body, model, messages: [{ role: 'user', content: prompt }] }
  return parseChatRequest(Buffer.from(JSON.stringify(fields)))
}

function paintingProduct({ products }: Pick<Services, 'products'>): string {
  return products.all.find(({ capabilities }) => capabilities.includes('image'))?.id ?? ''
}
