/** Worker thread that analyzes large requests, one at a time. */
import { setPriority } from 'node:os'
import { parentPort, workerData } from 'node:worker_threads'
import { GatewayError } from '../../errors.ts'
import type { ErrorCode, FailureDetails } from '../../errors.ts'
import type { ApiFormatName } from '../api-format/api-format-name.ts'
import type { BodyTranslator, ChatExtension, TranslatedChat, TranslationRequest, TranslatorSettings } from './body-parser.ts'
import { collectGarbage } from '../../system/memory/collect-garbage.ts'
import { freeMemory } from '../../system/memory/free-memory.ts'
import { joinTransferredChunks } from '../../system/memory/transferred-chunks.ts'
import { ownJsonBounds, parseJson } from '../../system/parse-json.ts'
import { isRecord, parseChatRequest, toChatRequest } from '../request/chat-request.ts'
import type { ChatRequest } from '../request/chat-request.ts'
import type { TargetFacts } from '../request/form/request-form.ts'
import type { PartsEncoder } from '../request/form/target-request.ts'
import { analyzeRequest } from './analyze-request.ts'
import type { AnalysisResult } from './analyze-request.ts'

export interface ParseRequest {
  /** The body as received. */
  readonly chunks: readonly Uint8Array<ArrayBuffer>[]
  /** Receives its text. */
  readonly leasedBuffer: SharedArrayBuffer | null
  /** Null for chat completions. */
  readonly translation: TranslationRequest | null
  /** Set for a chat request of an earlier analysis, to which messages are added. */
  readonly extension: (ChatExtension & { readonly format: ApiFormatName | undefined; readonly bytes: number }) | null
  /** The account that sends it. */
  readonly account: string
  /** What is known of the targets of each product; null if parts are not translated here. */
  readonly targetFacts: Readonly<Record<string, readonly TargetFacts[]>> | null
}

export type ParseReply = ParseOutcome & {
  /** CPU time of this thread since its start. */
  readonly threadMicros: number
}

type ParseOutcome =
  | {
      readonly kind: 'done'
      readonly result: AnalysisResult
      /** Null for chat completions. */
      readonly translated: Omit<TranslatedChat, 'chat'> | null
    }
  | { readonly kind: 'refused'; readonly code: ErrorCode; readonly details: FailureDetails }

export interface ParserWorkerOptions {
  readonly passRequestFields: readonly string[]
  /** Address of a module that exports a `BodyTranslator` as `translateBody`. It is loaded at the first body of another format. */
  readonly translator: { readonly url: string; readonly settings: TranslatorSettings } | null
  /** Address of a module that exports a `PartsEncoder` as `prepareParts`. It is loaded at the first request. */
  readonly preparerUrl: string | null
}

/** The garbage of a shorter body is less than what the heap may grow by between two collections. */
const minCollectedBytes = 4 * 2 ** 20

async function handleRequest(request: ParseRequest): Promise<ParseOutcome> {
  const { chunks } = request
  const rawBody = joinTransferredChunks(chunks)
  try {
    const [chat, translation] = await readChat(rawBody, request)
    // The chat has copies of all strings.
    freeMemory(rawBody.buffer)
    return { kind: 'done', result: await analyze(chat, request), translated: translation }
  } catch (error) {
    // Any other error ends this thread; the main thread handles its exit.
    if (!(error instanceof GatewayError)) throw error
    return { kind: 'refused', code: error.code, details: { ...error.details, cause: undefined } }
  }
}

/** The chat, and what its format needs for the answer; null for chat completions. */
async function readChat(
  raw: Buffer,
  { translation, extension, account }: ParseRequest,
): Promise<readonly [ChatRequest, Omit<TranslatedChat, 'chat'> | null]> {
  if (extension !== null) return [extendChat(raw, extension), null]
  if (translation === null) return [parseChatRequest(raw), null]
  const { translator } = options
  if (translator === null) throw new Error('this server has no other API formats')
  const { translateBody } = (await import(translator.url)) as { readonly translateBody: BodyTranslator }
  const { chat, ...translated } = translateBody(raw, { ...translation, account, settings: translator.settings })
  return [chat, translated]
}

function extendChat(raw: Buffer, { messages, toolChoice, format, bytes }: NonNullable<ParseRequest['extension']>): ChatRequest {
  const analyzedRequest = parseJson(raw.toString(), ownJsonBounds)
  if (!isRecord(analyzedRequest)) throw new Error('the analyzed request is no object')
  const { tool_choice: _, ...body } = analyzedRequest
  const all = Array.isArray(body['messages']) ? [...(body['messages'] as unknown[]), ...messages] : messages
  const extendedBody = { ...body, messages: all, ...(toolChoice === undefined ? {} : { tool_choice: toolChoice }) }
  return toChatRequest(extendedBody, { bytes, ...(format === undefined ? {} : { format }) })
}

async function analyze(chat: ChatRequest, { leasedBuffer, targetFacts }: ParseRequest): Promise<AnalysisResult> {
  const { preparerUrl } = options
  const targets = targetFacts !== null && Object.hasOwn(targetFacts, chat.model) ? (targetFacts[chat.model] ?? []) : []
  if (preparerUrl === null || targets.length === 0) return analyzeRequest(chat, passRequestFields, { leasedBuffer })
  const { prepareParts } = (await import(preparerUrl)) as { readonly prepareParts: PartsEncoder }
  return analyzeRequest(chat, passRequestFields, { leasedBuffer, targets, prepareParts })
}

if (parentPort === null) throw new Error('this file is started as a thread')
const port = parentPort
// Clients wait for many short turns, and a long prompt takes long anyway: if both cores are busy, this thread gets a tenth of a core's
// weight. Elsewhere than on Linux a thread has no priority of its own, and the whole process would get it.
if (process.platform === 'linux') setPriority(0, 10)
const options = workerData as ParserWorkerOptions
const passRequestFields: ReadonlySet<string> = new Set(options.passRequestFields)
// A rejection ends this thread.
port.on('message', (request: ParseRequest) => {
  const bytes = request.chunks.reduce((sum, { length }) => sum + length, 0)
  void handleRequest(request).then((outcome) => {
    const { user, system } = process.threadCpuUsage()
    const reply: ParseReply = { ...outcome, threadMicros: user + system }
    port.postMessage(reply, reply.kind === 'done' && reply.result.text !== null ? [reply.result.text] : [])
    // After the reply, a part of whose strings keep the whole body: this delays only the next body of this thread.
    if (bytes >= minCollectedBytes) setImmediate(() => collectGarbage())
  })
})
