/**
 * A model server with Google's Gemini API as it is published: it checks each request as strictly, and answers with the parts, usage and
 * errors that a test scripts.
 */
import type { TestScope } from '../test-scope.ts'
import type { ScriptedServer, StreamFaults } from './scripted-server.ts'
import { sendEvents, sendJson, startScriptedServer } from './scripted-server.ts'

export type Part = Readonly<Record<string, unknown>>

export interface GeminiAnswer extends StreamFaults {
  readonly parts?: readonly Part[]
  readonly finishReason?: string
  /** Fields of `usageMetadata` at the end. */
  readonly usage?: Readonly<Record<string, unknown>>
  /** The prompt is blocked for this reason. */
  readonly blockReason?: string
  /** Answers with this status and error instead. */
  readonly failure?: {
    readonly status: number
    readonly type: string
    readonly message: string
    readonly details?: readonly object[]
  }
  readonly headers?: Readonly<Record<string, string>>
  /** Sends an error after this many events. */
  readonly errorAfter?: number
}

export interface ReceivedContent {
  readonly role: 'user' | 'model'
  readonly parts: readonly Part[]
}

export interface ReceivedRequest {
  /** From the address. */
  readonly model: string
  readonly stream?: boolean
  readonly contents: readonly ReceivedContent[]
  readonly systemInstruction?: { readonly parts: readonly Part[] }
  readonly tools?: readonly { readonly functionDeclarations?: readonly Part[] }[]
  readonly generationConfig?: Readonly<Record<string, unknown>>
  readonly [field: string]: unknown
}

export const geminiKey = 'AIza-test-key'
export const geminiModels = [
  {
    name: 'models/embedding-one',
    displayName: 'Embedding One',
    inputTokenLimit: 2_048,
    outputTokenLimit: 1,
    supportedGenerationMethods: ['embedContent'],
  },
  {
    name: 'models/gemini-one',
    displayName: 'One',
    inputTokenLimit: 1_048_576,
    outputTokenLimit: 65_536,
    supportedGenerationMethods: ['generateContent', 'countTokens'],
  },
]

export async function startGeminiServer(
  t: TestScope,
  answer: (request: ReceivedRequest, before: number) => GeminiAnswer,
): Promise<ScriptedServer<ReceivedRequest>> {
  return startScriptedServer<ReceivedRequest>(t, async (request, response, text, { requests, rejected }) => {
    const fail = (code: number, status: string, message: string, details: readonly object[] = [], headers = {}): void =>
      sendJson(response, code, { error: { code, message, status, ...(details.length === 0 ? {} : { details }) } }, headers)
    if (request.headers['x-goog-api-key'] !== geminiKey)
      return fail(400, 'INVALID_ARGUMENT', 'API key not valid. Please pass a valid API key.', [
        { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'API_KEY_INVALID', domain: 'googleapis.com' },
      ])
    const path = request.url ?? ''
    if (request.method === 'GET' && path.startsWith('/v1/models')) return sendJson(response, 200, { models: geminiModels })
    const [, model, method] = /^\/v1\/models\/([^/:]+):(generateContent|streamGenerateContent\?alt=sse)$/.exec(path) ?? []
    if (model === undefined || method === undefined) return fail(404, 'NOT_FOUND', 'Requested entity was not found.')
    const stream = method.startsWith('stream')
    const body = { ...(JSON.parse(text) as ReceivedRequest), model, ...(stream ? { stream } : {}) }
    const fault = findFault(body)
    if (fault !== null) {
      rejected.push(fault)
      return fail(400, 'INVALID_ARGUMENT', fault)
    }
    const scripted = answer(body, requests.length)
    requests.push(body)
    const { failure, errorAfter = Infinity } = scripted
    if (failure !== undefined) return fail(failure.status, failure.type, failure.message, failure.details, scripted.headers)
    if (!stream) return sendJson(response, 200, toWhole(scripted))
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const error = { error: { code: 503, message: 'The model is overloaded.', status: 'UNAVAILABLE' } }
    await sendEvents(response, toEvents(scripted), scripted, (i) => (i >= errorAfter ? error : undefined))
  })
}

const hello: readonly Part[] = [{ text: 'Hello from the Gemini API.' }]
const head = { modelVersion: 'gemini-one-001', responseId: 'RESPONSEID' }

function toWhole(scripted: GeminiAnswer): object {
  const { parts = hello, finishReason = 'STOP', blockReason } = scripted
  if (blockReason !== undefined) return { promptFeedback: { blockReason }, usageMetadata: { promptTokenCount: 20 }, ...head }
  const candidate = { content: { parts, role: 'model' }, finishReason, index: 0 }
  return { candidates: [candidate], usageMetadata: toUsage(scripted), ...head }
}

/** Eight tokens of output, three of them thoughts. */
function toUsage({ usage }: GeminiAnswer): Readonly<Record<string, unknown>> {
  return { promptTokenCount: 20, candidatesTokenCount: 5, thoughtsTokenCount: 3, totalTokenCount: 28, ...usage }
}

/** The events of an answer, as the API sends them: the last one has the reason and whole usage. */
export function toEvents(scripted: GeminiAnswer): object[] {
  const { parts = hello, finishReason = 'STOP', blockReason } = scripted
  if (blockReason !== undefined) return [toWhole(scripted)]
  const pieces = parts.flatMap(toPieces)
  const usage = toUsage(scripted)
  return pieces.map((piece, i) => {
    const isLast = i === pieces.length - 1
    return {
      candidates: [{ content: { parts: [piece], role: 'model' }, ...(isLast ? { finishReason } : {}), index: 0 }],
      usageMetadata: isLast ? usage : { promptTokenCount: usage['promptTokenCount'], totalTokenCount: usage['promptTokenCount'] },
      ...head,
    }
  })
}

/** A text in pieces of nine characters; its signature is in the last one. */
function toPieces(part: Part): Part[] {
  if (typeof part['text'] !== 'string' || part['text'] === '') return [part]
  const { text, thoughtSignature, ...others } = part
  const pieces = String(text).match(/[^]{1,9}/gu) ?? []
  return pieces.map((piece, i) => ({
    ...others,
    text: piece,
    ...(thoughtSignature !== undefined && i === pieces.length - 1 ? { thoughtSignature } : {}),
  }))
}

const fields = new Set(
  'model stream contents systemInstruction tools toolConfig safetySettings generationConfig cachedContent'.split(' '),
)
const configFields = new Set(
  `temperature topP topK candidateCount maxOutputTokens stopSequences presencePenalty frequencyPenalty seed responseMimeType
  responseSchema responseJsonSchema responseModalities thinkingConfig imageConfig mediaResolution speechConfig`.split(/\s+/),
)
const partFields = new Set('text inlineData fileData functionCall functionResponse thought thoughtSignature'.split(' '))

/** The API's sentence about the first fault of a request; null for a valid one. */
function findFault(body: ReceivedRequest): string | null {
  const unknown = Object.keys(body).find((field) => !fields.has(field))
  if (unknown !== undefined) return `Invalid JSON payload received. Unknown name "${unknown}": Cannot find field.`
  const setting = Object.keys(body.generationConfig ?? {}).find((field) => !configFields.has(field))
  if (setting !== undefined)
    return `Invalid JSON payload received. Unknown name "${setting}" at 'generation_config': Cannot find field.`
  return findConversationFault(body)
}

function findConversationFault({ contents, systemInstruction }: ReceivedRequest): string | null {
  if (contents.length === 0) return 'GenerateContentRequest.contents: contents is not specified'
  let open = 0
  for (const [i, { role, parts }] of [...(systemInstruction === undefined ? [] : [systemInstruction]), ...contents].map(
    (content, i) => [i, { role: 'user', ...content }] as const,
  )) {
    if (role !== 'user' && role !== 'model') return 'Please use a valid role: user, model.'
    if (parts.length === 0) return `GenerateContentRequest.contents[${i}].parts: contents.parts must not be empty.`
    for (const part of parts) {
      const extra = Object.keys(part).find((field) => !partFields.has(field))
      if (extra !== undefined) return `Invalid JSON payload received. Unknown name "${extra}" at 'contents[${i}].parts[0]'`
      if (part['text'] === '' && part['thoughtSignature'] === undefined)
        return `Unable to submit request because it must have a text parameter.`
    }
    const calls = parts.filter(({ functionCall }) => functionCall !== undefined)
    const results = parts.filter(({ functionResponse }) => functionResponse !== undefined)
    if (results.length !== open)
      return 'Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.'
    if (calls.length > 0 && calls[0]?.['thoughtSignature'] === undefined)
      return 'Function call is missing a thought_signature in functionCall parts.'
    open = calls.length
  }
  return contents[0]?.role === 'model' ? 'Please ensure that function call turn comes immediately after a user turn.' : null
}
