/** Helpers of the tests of the Messages format: requests translated, and answers encoded and decoded again. */
import { GatewayError } from '../../../../src/errors.ts'
import { repairStream } from '../repair-stream.ts'
import { encodeChatMessages } from '../../../../src/codecs/encode-for-target.ts'
import { toChatRequest } from '../../../../src/exchange/request/chat-request.ts'
import type { AnswerEncoder, JsonObject } from '../../../../src/exchange/api-format/api-format.ts'
import { messagesFormat } from '../../../../src/formats/messages/messages-format.ts'
import { readAnswerEvents } from '../../../../src/codecs/chat/read-events.ts'

/** A container of the tests: readable, and bound to nothing. */
export const seal = (text: string): string => `sealed:${text}`
const unseal = (container: string): string | null => (container.startsWith('sealed:') ? container.slice(7) : null)

export const translate = (body: JsonObject) =>
  messagesFormat.toChat(
    { model: 'svc-2.1', max_tokens: 100, messages: [{ role: 'user', content: 'Hello' }], ...body },
    { unseal },
  )

/** The messages that a target of chat completions receives for this conversation. */
export const toMessages = (...messages: readonly unknown[]): unknown =>
  encodeChatMessages(toChatRequest(translate({ messages }).chat, { bytes: 1, format: 'messages' }))

/** The path of the refused field; null if the request is accepted. */
export function findRefusedField(body: JsonObject): string | null | undefined {
  try {
    translate(body)
    return null
  } catch (error) {
    if (!(error instanceof GatewayError) || error.code !== 'invalid_request') throw error
    return error.details.param
  }
}

export function createEncoder(request: JsonObject = {}, inputEstimate = 10): AnswerEncoder {
  return messagesFormat.createEncoder({
    state: translate(request).state,
    requestId: 'mbr_1',
    model: 'svc-2.1',
    startedAt: 1_700_000_000_000,
    inputEstimate,
    seal,
    now: () => 1_700_000_001_000,
  })
}

export type MessageEvent = JsonObject & { readonly type: string }

export function parseEvents(text: string): readonly MessageEvent[] {
  return text
    .split('\n\n')
    .filter((frame) => frame !== '')
    .map((frame) => {
      // `.` does not match U+2028, which JSON may contain.
      const [, type, json = ''] = /^event: (\w+)\ndata: ([^\n]*)$/.exec(frame) ?? []
      const event = JSON.parse(json) as MessageEvent
      if (event.type !== type) throw new Error(`the event ${type} has the type ${event.type}`)
      return event
    })
}

export const usageChunk = {
  choices: [],
  usage: {
    prompt_tokens: 20,
    completion_tokens: 7,
    total_tokens: 27,
    prompt_tokens_details: { cached_tokens: 5 },
    completion_tokens_details: { reasoning_tokens: 3 },
  },
}

/** The usage of `usageChunk` in this format. */
export const usage = {
  input_tokens: 15,
  output_tokens: 7,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 5,
  output_tokens_details: { thinking_tokens: 3 },
  server_tool_use: null,
}

/** What the usage of a message has besides. */
export const messageUsage = { cache_creation: null, inference_geo: null, service_tier: 'standard', speed: null }

/** The text of a whole stream, whose chunks are repaired as those of an upstream. */
export function encodeStream(chunks: readonly JsonObject[], request: JsonObject = {}): string {
  const encoder = createEncoder({ stream: true, ...request })
  const opening = encoder.start()
  const events = repairStream([...chunks, usageChunk]).map((chunk) => encoder.push(readAnswerEvents(chunk)))
  return opening + events.join('') + encoder.end()
}

/** One line for each event of a stream, without its first and its two last events, which are the same in every answer. */
export function summarize(text: string): readonly string[] {
  return parseEvents(text).slice(1, -2).map(summarizeEvent)
}

function summarizeEvent({ type, index, content_block: block, delta }: MessageEvent): string {
  const at = `${String(index)}`
  const text = (value: unknown): string =>
    Object.values(value as JsonObject)
      .map(String)
      .join(' ')
  if (type === 'content_block_start') {
    const { input: _, caller: __, citations: ___, ...fields } = block as JsonObject
    return `${at} start ${text(fields).trim()}`
  }
  if (type === 'content_block_delta') return `${at} ${text(delta)}`
  return type === 'content_block_stop' ? `${at} stop` : type
}

/** The events of a chunk. */
export const pushChunk = (encoder: AnswerEncoder, chunk: JsonObject): string => encoder.push(readAnswerEvents(chunk))

/** The whole answer of a completion. */
export const writeWhole = (encoder: AnswerEncoder, completion: JsonObject): string => encoder.whole(readAnswerEvents(completion))
