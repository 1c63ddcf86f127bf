/** Reads a vendor's answer as a gateway does, without one: the events that every encoder takes, and the usage that is charged. */
import type { AnswerEvent } from '../../../src/conversation/answer-event.ts'
import { AnswerRepair } from '../../../src/codecs/chat/repair/answer-repair.ts'
import type { AnswerEncoder } from '../../../src/exchange/api-format/api-format.ts'
import { isRecord } from '../../../src/exchange/request/chat-request.ts'
import { toCompletionResult } from '../../../src/upstream/response/buffered-completion.ts'
import { ClientEvents } from '../../../src/codecs/chat/client-events.ts'
import { StreamAggregator } from '../../../src/codecs/chat/stream-aggregator.ts'
import { StreamReader } from '../../../src/upstream/response/stream-reader.ts'
import type { AnswerSink } from '../../../src/codecs/answer-sink.ts'
import { toPublicUsage } from '../../../src/upstream/response/usage.ts'
import { CompletionAnswer } from '../../../src/upstream/response/whole-answer.ts'
import { parseDocument } from '../../../src/upstream/response/validate-completion.ts'
import type { VendorAnswer } from './vendor.ts'

export interface ReadAnswer {
  /** With joined pieces and without usage. */
  readonly events: readonly AnswerEvent[]
  readonly usage: object
  /** The usage that the client is told. */
  readonly told: unknown
}

const allowlist = { productId: 'p', extraFields: [] }
const upstreamHost = 'vendor.example'
const requestId = 'mbr_1'
const context = { requestId, model: 'p', startedAt: 0 }

function createBounds({ inputTokens }: VendorAnswer['usage']) {
  return { inputEstimate: inputTokens, outputCap: 4_096 }
}

function readStream(stream: readonly object[], usage: VendorAnswer['usage'], sink: AnswerSink): StreamReader {
  const reader = new StreamReader({ bounds: createBounds(usage), upstreamHost, context, sink })
  for (const event of stream) reader.push(Buffer.from(`data: ${JSON.stringify(event)}\n\n`))
  reader.push(Buffer.from('data: [DONE]\n\n'))
  return reader
}

/** Keeps what an encoder of any format would write. */
function createRecorder() {
  const events: AnswerEvent[] = []
  const record = (pushed: readonly AnswerEvent[]): string => {
    events.push(...pushed)
    return ''
  }
  const silent = (): string => ''
  const encoder: AnswerEncoder = { start: silent, push: record, heartbeat: silent, end: silent, fail: silent, whole: record }
  return { events, encoder }
}

/** As a client of another format receives it while it arrives. */
export function readForwarded(stream: readonly object[], usage: VendorAnswer['usage']): ReadAnswer {
  const { events, encoder } = createRecorder()
  const sink = new ClientEvents({ allowlist, context, includeUsage: true, onEvent: null, encoder })
  const reader = readStream(stream, usage, sink)
  sink.buildTrailer(toPublicUsage(reader.report, reader.getUsage()))
  return { events: joinPieces(events), usage: reader.getUsage(), told: findTold(events) }
}

/** As a client that requested no stream receives it. */
export function readAggregated(stream: readonly object[], usage: VendorAnswer['usage']): ReadAnswer {
  const aggregator = new StreamAggregator()
  const reader = readStream(stream, usage, aggregator)
  const streamUsage = { usage: reader.getUsage(), report: reader.report }
  return finishWhole(aggregator.toDocument(), usage, streamUsage)
}

/** A whole answer of the vendor. */
export function readWhole(whole: object, usage: VendorAnswer['usage']): ReadAnswer {
  const completion = parseDocument(JSON.stringify(whole), upstreamHost)
  return finishWhole(new AnswerRepair(context).repairCompletion(completion), usage)
}

function finishWhole(
  document: Record<string, unknown>,
  expected: VendorAnswer['usage'],
  streamUsage?: { readonly usage: ReturnType<StreamReader['getUsage']>; readonly report: Record<string, unknown> | null },
): ReadAnswer {
  const { events, encoder } = createRecorder()
  const answer = new CompletionAnswer(document)
  const measured = streamUsage === undefined ? {} : { streamUsage }
  const completion = { answer, allowlist, context, bounds: createBounds(expected), upstreamHost, ...measured }
  const { usage } = toCompletionResult(completion, { encoder })
  return { events: joinPieces(events), usage, told: findTold(events) }
}

function findTold(events: readonly AnswerEvent[]): unknown {
  return events.findLast(({ kind }) => kind === 'usage')
}

/** Texts of one kind in a row are one text, and pieces of a call one call; calls of whole messages are numbered. */
function joinPieces(events: readonly AnswerEvent[]): readonly AnswerEvent[] {
  const joined: AnswerEvent[] = []
  for (const event of events) {
    if (event.kind === 'usage') continue
    const last = joined.at(-1)
    if (event.kind === 'call') addCall(joined, event)
    else if (last?.kind === event.kind && 'text' in last && 'text' in event)
      joined[joined.length - 1] = { ...last, text: last.text + event.text } as AnswerEvent
    else joined.push(event)
  }
  return joined
}

function addCall(joined: AnswerEvent[], piece: Extract<AnswerEvent, { kind: 'call' }>): void {
  const calls = joined.filter(isRecord).filter(({ kind }) => kind === 'call').length
  const at = piece.index === null ? -1 : joined.findIndex((event) => event.kind === 'call' && event.index === piece.index)
  const known = joined[at]
  if (known?.kind === 'call') joined[at] = { ...known, arguments: known.arguments + piece.arguments }
  else joined.push({ ...piece, index: piece.index ?? calls })
}
