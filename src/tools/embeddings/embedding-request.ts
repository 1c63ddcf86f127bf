/** Translates a request of OpenAI's embeddings API into a chat with the embedding product, one message for each input. */
import { invalidRequest } from '../../errors.ts'
import { toChatRequest } from '../../exchange/request/chat-request.ts'
import type { ChatRequest } from '../../exchange/request/chat-request.ts'
import type { Products } from '../../config/products.ts'

/** OpenAI's own limit. */
const maxInputs = 2048

/** @param bytes of the body as received. @throws GatewayError `invalid_request`, naming the field */
export function parseEmbeddingRequest(
  body: Readonly<Record<string, unknown>>,
  { bytes, products }: { readonly bytes: number; readonly products: Pick<Products, 'all' | 'get'> },
): ChatRequest {
  const { model, input, encoding_format: format, dimensions } = body
  const product = typeof model === 'string' ? products.get(model) : undefined
  // An unknown model is refused by the allowlist with its own message.
  if (product !== undefined && !product.capabilities.includes('embedding')) throw noEmbeddingsError(product.id, products)
  if (format !== undefined && format !== null && format !== 'float' && format !== 'base64')
    throw invalidRequest(
      { en: "'encoding_format' must be 'float' or 'base64'.", zh: "'encoding_format' 必须是 'float' 或 'base64'。" },
      'encoding_format',
    )
  if (dimensions !== undefined && dimensions !== null && !isPositiveInteger(dimensions))
    throw invalidRequest(
      { en: "'dimensions' must be a whole number of at least 1.", zh: "'dimensions' 必须是不小于 1 的整数。" },
      'dimensions',
    )
  const messages = listInputs(input).map((content) => ({ role: 'user', content }))
  // An embedding has no output, so nothing is reserved for one.
  return toChatRequest({ ...body, messages, max_tokens: 1, stream: false, n: 1 }, { bytes })
}

function noEmbeddingsError(id: string, products: Pick<Products, 'all'>): Error {
  const ids = products.all.filter(({ capabilities }) => capabilities.includes('embedding')).map((product) => `'${product.id}'`)
  const [en, zh] = ids.length === 0 ? ['', ''] : [` These do: ${ids.join(', ')}.`, `支持的模型：${ids.join('、')}。`]
  return invalidRequest({ en: `'${id}' makes no embeddings.${en}`, zh: `'${id}' 不支持向量嵌入。${zh}` }, 'model')
}

/** The text of each input; token ids as JSON, which has more characters than tokens. */
function listInputs(input: unknown): readonly string[] {
  if (typeof input === 'string' || isTokenList(input)) return [toText(input, 'input')]
  if (!Array.isArray(input) || input.length === 0 || input.length > maxInputs) throw inputError()
  return input.map((each: unknown, index) => toText(each, `input[${index}]`))
}

function toText(input: unknown, param: string): string {
  if (typeof input === 'string' && input !== '') return input
  if (isTokenList(input)) return JSON.stringify(input)
  throw invalidRequest(
    {
      en: `'${param}' must be a text that is not empty, or a list of token ids.`,
      zh: `'${param}' 必须是非空文本或 token ID 列表。`,
    },
    param,
  )
}

function inputError(): Error {
  return invalidRequest(
    {
      en: `'input' must be a text, a list of token ids, or a list of 1 to ${maxInputs} of them.`,
      zh: `'input' 必须是文本、token ID 列表，或由 1 到 ${maxInputs} 个文本或列表组成的数组。`,
    },
    'input',
  )
}

function isTokenList(value: unknown): value is readonly number[] {
  return Array.isArray(value) && value.length > 0 && value.every((token) => Number.isSafeInteger(token) && (token as number) >= 0)
}

function isPositiveInteger(value: unknown): boolean {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 1
}
