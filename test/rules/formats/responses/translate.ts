/** Helpers of the tests of the Responses format: requests translated, and answers encoded and decoded again. */
import { repairStream } from '../../../support/formats/repair-stream.ts'
import type { JsonObject } from '../../../../src/exchange/api-format/api-format.ts'
import { encodeChatMessages } from '../../../../src/codecs/encode-for-target.ts'
import { toChatRequest } from '../../../../src/exchange/request/chat-request.ts'
import type { AnswerEncoder } from '../../../../src/exchange/api-format/api-format.ts'
import { GatewayError } from '../../../../src/errors.ts'
import { responsesFormat } from '../../../../src/formats/responses/responses-format.ts'
import { readAnswerEvents } from '../../../../src/codecs/chat/read-events.ts'

/** A container of the tests: readable, and bound to nothing. */
export const seal = (text: string): string => `sealed:${text}`
const unseal = (container: string): string | null => (container.startsWith('sealed:') ? container.slice(7) : null)

export const translate = (body: JsonObject) => responsesFormat.toChat({ model: 'svc-2.1', input: 'Hello', ...body }, { unseal })

/** The messages that a target of chat completions receives for these items. */
export const toMessages = (...input: readonly unknown[]): unknown =>
  encodeChatMessages(toChatRequest(translate({ input }).chat, { bytes: 1, format: 'responses' }))

/** The path and sentence of the refusal; null if the request is accepted. */
export function findRefusal(body: JsonObject): { readonly param: string | undefined; readonly message: string } | null {
  try {
    translate(body)
    return null
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    if (error.code !== 'invalid_request') throw error
    return { param: error.details.param, message: error.message }
  }
}

export function createEncoder(request: JsonObject = {}, sealText = seal): AnswerEncoder {
  return responsesFormat.createEncoder({
    state: translate(request).state,
    requestId: 'mbr_1',
    model: 'svc-2.1',
    startedAt: 1_700_000_000_000,
    inputEstimate: 10,
    seal: sealText,
    now: () => 1_700_000_001_000,
  })
}

export type ResponseEvent = JsonObject & { readonly type: string; readonly sequence_number: number }

export function parseEvents(text: string): readonly ResponseEvent[] {
  return text.split('\n\n').flatMap((frame) => {
    const [, type, json] = /^event: ([\w.]+)\ndata: ([^]*)$/.exec(frame) ?? []
    if (json === undefined) return []
    const event = JSON.parse(json) as ResponseEvent
    if (event.type !== type) throw new Error(`the event ${type} has the type ${event.type}`)
    return [event]
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

/** The text of a whole stream, whose chunks are repaired as those of an upstream. */
export function encodeStream(chunks: readonly JsonObject[], request: JsonObject = {}): string {
  const encoder = createEncoder({ stream: true, ...request })
  const opening = encoder.start()
  const events = repairStream([...chunks, usageChunk]).map((chunk) => encoder.push(readAnswerEvents(chunk)))
  return opening + events.join('') + encoder.end()
}

/** The events of a chunk. */
export const pushChunk = (encoder: AnswerEncoder, chunk: JsonObject): string => encoder.push(readAnswerEvents(chunk))

/** The whole answer of a completion. */
export const writeWhole = (encoder: AnswerEncoder, completion: JsonObject): string => encoder.whole(readAnswerEvents(completion))
