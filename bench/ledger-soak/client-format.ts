/** The requests of each API format, and how its answers look to a client. */
import { parseChatRequest } from '../../src/exchange/request/chat-request.ts'
import type { ChatRequest } from '../../src/exchange/request/chat-request.ts'
import { findApiFormat } from '../../src/formats/api-formats.ts'
import { translateRequest } from '../../src/formats/translate-request.ts'
import { documentPages } from './turn-plan.ts'
import type { TurnPlan } from './turn-plan.ts'

interface SentFile {
  readonly type: string
  /** Base64. */
  readonly data: string
}

const files: Readonly<Record<'picture' | 'document', SentFile>> = {
  picture: {
    type: 'image/png',
    data: 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR42mP4z8AAAAMBAQD3A0FDAAAAAElFTkSuQmCC',
  },
  document: { type: 'application/pdf', data: btoa(`%PDF-1.4\n${'<< /Type /Page >>\n'.repeat(documentPages)}%%EOF`) },
}

const toDataUrl = ({ type, data }: SentFile): string => `data:${type};base64,${data}`

interface ClientFormat {
  getPath(plan: Pick<TurnPlan, 'model' | 'stream'>): string
  createBody(plan: TurnPlan, content: string): object
  /** Whether this is a complete answer. */
  isComplete(text: string, stream: boolean): boolean
  /** Whether an answer with status 200 reports a failure. */
  isFailure(text: string): boolean
}

const fieldsOf = ({ model, stream }: TurnPlan) => ({ model, stream })
const messagesOf = (content: unknown) => [{ role: 'user', content }]

export const clientFormats: Readonly<Record<TurnPlan['apiFormat'], ClientFormat>> = {
  chat_completions: {
    getPath: () => '/v1/chat/completions',
    createBody: (plan, content) => ({
      ...fieldsOf(plan),
      ...(plan.maxTokens === null ? {} : { max_tokens: plan.maxTokens }),
      messages: messagesOf(
        plan.media === null
          ? content
          : [
              { type: 'text', text: content },
              plan.media === 'picture'
                ? { type: 'image_url', image_url: { url: toDataUrl(files.picture) } }
                : { type: 'file', file: { filename: 'a.pdf', file_data: toDataUrl(files.document) } },
            ],
      ),
    }),
    isComplete: (text, stream) => (stream ? text.endsWith('data: [DONE]\n\n') : text.includes('"object":"chat.completion"')),
    isFailure: (text) => text.includes('"error"'),
  },
  responses: {
    getPath: () => '/v1/responses',
    createBody: (plan, content) => ({
      ...fieldsOf(plan),
      ...(plan.maxTokens === null ? {} : { max_output_tokens: plan.maxTokens }),
      ...(plan.search === null ? {} : { tools: [{ type: 'web_search' }] }),
      input: messagesOf(
        plan.media === null
          ? content
          : [
              { type: 'input_text', text: content },
              plan.media === 'picture'
                ? { type: 'input_image', image_url: toDataUrl(files.picture) }
                : { type: 'input_file', filename: 'a.pdf', file_data: toDataUrl(files.document) },
            ],
      ),
    }),
    isComplete: (text, stream) =>
      stream ? /^event: response\.(?:completed|incomplete)$/m.test(text) : text.includes('"object":"response"'),
    isFailure: (text) => text.includes('event: response.failed\n'),
  },
  messages: {
    getPath: () => '/v1/messages',
    createBody: (plan, content) => ({
      ...fieldsOf(plan),
      max_tokens: plan.maxTokens,
      ...(plan.search === null ? {} : { tools: [{ type: 'web_search_20250305', name: 'web_search' }] }),
      messages: messagesOf(
        plan.media === null
          ? content
          : [
              {
                type: plan.media === 'picture' ? 'image' : 'document',
                source: { type: 'base64', media_type: files[plan.media].type, data: files[plan.media].data },
              },
              { type: 'text', text: content },
            ],
      ),
    }),
    isComplete: (text, stream) => (stream ? text.includes('event: message_stop\n') : text.includes('"type":"message"')),
    isFailure: (text) => text.includes('event: error\n'),
  },
  gemini: {
    getPath: ({ model, stream }) => `/v1beta/models/${model}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
    createBody: (plan, content) => ({
      ...(plan.maxTokens === null ? {} : { generationConfig: { maxOutputTokens: plan.maxTokens } }),
      ...(plan.search === null ? {} : { tools: [{ googleSearch: {} }] }),
      contents: [
        {
          role: 'user',
          parts: [
            { text: content },
            ...(plan.media === null ? [] : [{ inlineData: { mimeType: files[plan.media].type, data: files[plan.media].data } }]),
          ],
        },
      ],
    }),
    isComplete: (text) => text.includes('"finishReason":"'),
    isFailure: (text) => text.includes('data: {"error":'),
  },
}

/** The chat request that the gateway makes of a body. */
export function toGatewayRequest(body: string, plan: Pick<TurnPlan, 'apiFormat' | 'model' | 'stream'>): ChatRequest {
  const raw = Buffer.from(body)
  const [path = ''] = clientFormats[plan.apiFormat].getPath(plan).split('?')
  const format = findApiFormat(path)
  if (format === undefined) return parseChatRequest(raw)
  const settings = { sealKey: new Uint8Array(32), products: new Map<never, never>(), aliases: {} }
  return translateRequest(raw, format, { account: '', settings, hostsSearch: true }).chat
}
