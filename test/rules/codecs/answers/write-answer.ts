/** Writes events as the answer of each API, whole and streamed, and reads such answers: helpers of the tests in this folder. */
import { GenerateDecoder } from '../../../../src/codecs/gemini/generate-decoder.ts'
import { GenerateEncoder } from '../../../../src/codecs/gemini/generate-encoder.ts'
import { MessageDecoder } from '../../../../src/codecs/messages/message-decoder.ts'
import { ResponseDecoder } from '../../../../src/codecs/responses/response-decoder.ts'
import type { AnswerDecoder } from '../../../../src/codecs/answer-decoder.ts'
import { ClientEvents } from '../../../../src/codecs/chat/client-events.ts'
import { StreamAggregator } from '../../../../src/codecs/chat/stream-aggregator.ts'
import type { AnswerEvent } from '../../../../src/conversation/answer-event.ts'
import type { AnswerEncoder, JsonObject } from '../../../../src/exchange/api-format/api-format.ts'
import { DecodedAnswer } from '../../../../src/upstream/response/whole-answer.ts'
import { createEncoder as createMessagesEncoder } from '../../../support/formats/messages/translate.ts'
import { createEncoder as createResponsesEncoder } from '../../formats/responses/translate.ts'

export type TranslatedApi = 'messages' | 'responses' | 'gemini'
export type Api = TranslatedApi | 'chat'

export const chatContext = { requestId: 'mbr_1', model: 'svc-2.1', startedAt: 1_700_000_000_000 }
const allowlist = { productId: 'svc-2.1', extraFields: [] }
/** A container of the tests, on one line as a real one, and bound to nothing. */
const seal = (text: string): string => Buffer.from(text).toString('base64url')
export const unseal = (container: string): string => Buffer.from(container, 'base64url').toString()

export const encoders: Readonly<Record<TranslatedApi, () => AnswerEncoder>> = {
  messages: () => createMessagesEncoder({ stream: true }),
  responses: () => createResponsesEncoder({ stream: true }),
  gemini: () =>
    new GenerateEncoder({
      ...chatContext,
      state: { model: 'svc-2.1', toolNames: new Map(), showsThoughts: true },
      inputEstimate: 10,
      seal,
      now: () => 1_700_000_001_000,
    }),
}

export const decoders: Readonly<Record<TranslatedApi, () => AnswerDecoder>> = {
  messages: () => new MessageDecoder('mbr_1'),
  responses: () => new ResponseDecoder('mbr_1'),
  gemini: () => new GenerateDecoder('mbr_1'),
}

/** The objects in the `data:` lines of a stream. */
export function parseStream(text: string): readonly JsonObject[] {
  return text.split('\n').flatMap((line) => {
    const data = line.startsWith('data: ') ? line.slice('data: '.length) : ''
    return data === '' || data === '[DONE]' ? [] : [JSON.parse(data) as JsonObject]
  })
}

/** As a client that requested no stream receives it. */
export function writeWhole(api: Api, events: readonly AnswerEvent[]): JsonObject {
  if (api === 'chat') return new DecodedAnswer(events, chatContext).toCompletion()
  return JSON.parse(encoders[api]().whole(events)) as JsonObject
}

/** As a client that requested a stream reads it: the whole answer again. */
export function writeStream(api: Api, events: readonly AnswerEvent[]): JsonObject {
  if (api === 'chat') {
    const sink = new ClientEvents({ allowlist, context: chatContext, includeUsage: false, onEvent: null })
    const aggregator = new StreamAggregator()
    for (const chunk of parseStream(events.map((event) => sink.push([event])).join(''))) aggregator.consume({ ...chunk })
    return aggregator.toDocument()
  }
  const encoder = encoders[api]()
  return readStream(api, parseStream(encoder.start() + events.map((event) => encoder.push([event])).join('') + encoder.end()))
}

/** Reads a stream as the SDKs of its API do. */
export function readStream(api: TranslatedApi, events: readonly JsonObject[]): JsonObject {
  if (api === 'messages') return readMessageStream(events)
  if (api === 'gemini') return readGeminiStream(events)
  return events.at(-1)?.['response'] as JsonObject
}

function readMessageStream(events: readonly JsonObject[]): JsonObject {
  let message: Record<string, unknown> = {}
  const content: Record<string, unknown>[] = []
  let json = ''
  for (const event of events) {
    const { type, index, delta, content_block: block } = event
    const open = content[Number(index)] ?? {}
    if (type === 'message_start') message = { ...(event['message'] as JsonObject) }
    if (type === 'content_block_start') content.push({ ...(block as JsonObject) })
    if (type === 'content_block_start') json = ''
    if (type === 'content_block_stop' && json !== '') open['input'] = JSON.parse(json)
    if (type === 'message_delta') Object.assign(message, delta, { usage: event['usage'] })
    if (type !== 'content_block_delta') continue
    for (const [name, value] of Object.entries(delta as JsonObject)) {
      if (name === 'partial_json') json += String(value)
      else if (name === 'citation') open['citations'] = [...((open['citations'] as unknown[] | null) ?? []), value]
      else if (name === 'signature') open[name] = value
      else if (name !== 'type') open[name] = `${String(open[name])}${String(value)}`
    }
  }
  return { ...message, content }
}

function readGeminiStream(events: readonly JsonObject[]): JsonObject {
  const parts: Record<string, unknown>[] = []
  for (const { candidates } of events)
    for (const candidate of candidates as readonly { readonly content?: { readonly parts?: readonly JsonObject[] } }[])
      for (const part of candidate.content?.parts ?? []) {
        const last = parts.at(-1)
        const isContinued = typeof part['text'] === 'string' && typeof last?.['text'] === 'string'
        if (isContinued && last['thought'] === part['thought'] && last['thoughtSignature'] === undefined)
          Object.assign(last, part, { text: `${String(last['text'])}${String(part['text'])}` })
        else parts.push({ ...part })
      }
  const [last] = (events.at(-1)?.['candidates'] ?? []) as readonly JsonObject[]
  return { ...events.at(-1), candidates: [{ ...last, content: { role: 'model', parts } }] }
}
