/** What must hold for every turn, whatever the server sent, and what an answer must have kept of what was recorded. */
import { errorCatalog } from '../../../src/errors.ts'
import type { RecordedResponse } from './recording.ts'
import { bytesOf } from './recording.ts'
import type { Completion, Observed } from './run-scenarios.ts'

/** Names and places of the operator's side that members must not see. */
const operatorsWords =
  /\/models\/|\btiny\b|hf-(?:tiny|eos)|\.gguf|lite-?llm|llama|ollama|transformers|uvicorn|fallbacks?\b|pinned to|sk-\w+|localhost|127\.0\.0\.1|:8000|OpenAIException|no-such-model|via-/i

/** `200 answered charged`, `502 upstream_error free`: what the member gets, and whether it is paid for. */
export function describeOutcome({ status, code, booked }: Observed): string {
  const charge = booked === null ? 'no turn' : booked.credits > 0 ? 'charged' : 'free'
  return `${status} ${code ?? 'answered'} ${charge}`
}

/** The rules of the protocol that one turn breaks, as sentences: an answer or exactly one error of the catalogue, and an error costs nothing. */
export function protocolBreaches({ code, fault, booked, status }: Observed): string[] {
  const breaches: string[] = []
  if (fault !== null) breaches.push(fault)
  if (status !== 200 && code === null) breaches.push(`status ${status} without a code`)
  if (code !== null && !Object.hasOwn(errorCatalog, code)) breaches.push(`${code} is not in the catalogue`)
  if (booked !== null && code !== null && booked.credits > 0) breaches.push(`charged ${booked.credits} for an error`)
  return breaches
}

/** All rules for one turn: those of the protocol, no charge above the hold, nothing of the operator's. */
export function breachesOf(observed: Observed): string[] {
  const { booked, received } = observed
  const breaches = protocolBreaches(observed)
  if (booked !== null && booked.credits > booked.held) breaches.push(`charged ${booked.credits} of ${booked.held} held`)
  const cap = capOf(observed)
  if (booked?.estimated === true && booked.outputTokens > cap)
    breaches.push(`counted ${booked.outputTokens} tokens for a cap of ${cap}`)
  const word = operatorsWords.exec(withoutOpaque(received))?.[0]
  if (word !== undefined) breaches.push(`shows the operator's words: ${word}`)
  return breaches
}

/** What an answer lost or gained on its way: texts, finish reasons, chunks after the end of a choice. */
export function differencesOf(observed: Observed): string[] {
  const { chunks, code, scenario, turn, booked } = observed
  if (code !== null || chunks.length === 0) return []
  const differences: string[] = []
  if (scenario.recording.case === 'image' && booked?.disputed === true) differences.push('the report on the image was overruled')
  const ended = new Set<number>()
  for (const { choices } of chunks)
    for (const { index, finish_reason: reason, message } of choices) {
      if (message?.content === null && message.tool_calls === undefined && message.function_call === undefined)
        differences.push(`choice ${index} has neither a text nor a call`)
      if (ended.has(index)) differences.push(`a chunk of choice ${index} after its finish_reason`)
      if (reason !== null && reason !== undefined) ended.add(index)
    }
  const texts = textsOf(chunks)
  for (const index of texts.keys()) if (!ended.has(index)) differences.push(`choice ${index} has no finish_reason`)
  // The answer came from another recording than the scenario's own.
  if (turn > 0 || scenario.asking === 'gathered' || scenario.model === null) return differences
  const recorded = textsOf(completionsIn(scenario.recording.response))
  if (recorded.size === 0) return differences
  for (const [index, text] of recorded) {
    const seen = texts.get(index)
    // A stream with nothing in it is replaced by the whole answer, whose text is an empty string.
    const isReplaced = text === null && seen === '' && scenario.asking === 'streamed'
    if (seen !== text && !isReplaced)
      differences.push(`choice ${index} has the text ${JSON.stringify(seen)} for ${JSON.stringify(text)}`)
  }
  return differences
}

/** The most output that the member asked for, over all choices. */
function capOf({ scenario, turn }: Observed): number {
  const body = scenario.turns[turn]?.body('') ?? ''
  const cap = Number(/"max_(?:completion_)?tokens":(\d+)/.exec(body)?.[1] ?? Number.POSITIVE_INFINITY)
  return cap * Number(/"n":(\d+)/.exec(body)?.[1] ?? 1)
}

/** Identifiers that a server makes up, and the address of this service in the link to an explanation. */
function withoutOpaque(received: string): string {
  return received.replaceAll(/"(?:system_fingerprint|id|upstreamHost)": ?"[^"]*"|<[^<>]+\/docs\/errors#\w+>/g, '')
}

/** The text of each choice; null where the message has none. */
function textsOf(completions: readonly Completion[]): Map<number, string | null> {
  const texts = new Map<number, string | null>()
  for (const { choices } of completions)
    for (const { index, message, delta } of choices) {
      const piece = message === undefined ? delta?.['content'] : message.content
      const before = texts.get(index) ?? null
      texts.set(index, typeof piece === 'string' ? (before ?? '') + piece : before)
    }
  return texts
}

/** The completion of a recorded whole answer, or the chunks of a recorded stream. */
function completionsIn(response: RecordedResponse): Completion[] {
  const body = bytesOf(response).subarray(Buffer.byteLength(response.head, 'latin1'))
  const isChunked = /^transfer-encoding: chunked\r?$/im.test(response.head)
  const text = (isChunked ? unchunked(body) : body).toString()
  if (text.startsWith('{')) return [JSON.parse(text) as Completion]
  return text
    .split(/\r?\n\r?\n/)
    .filter((frame) => frame.startsWith('data: {'))
    .map((frame) => JSON.parse(frame.slice('data: '.length)) as Completion)
    .filter((chunk) => Array.isArray(chunk.choices))
}

function unchunked(body: Buffer): Buffer {
  const parts: Buffer[] = []
  for (let at = 0; at < body.length;) {
    const lineEnd = body.indexOf('\r\n', at)
    const size = Number.parseInt(body.subarray(at, lineEnd).toString('latin1'), 16)
    if (size === 0) break
    parts.push(body.subarray(lineEnd + 2, lineEnd + 2 + size))
    at = lineEnd + 2 + size + 2
  }
  return Buffer.concat(parts)
}
