/** Encodes answers as bytes: whole or streamed, in OpenAI's format, or with the format errors that a script requests. */
import { gzipSync } from 'node:zlib'
import type { DemoAnswer } from '../../../src/demo-upstream/answer.ts'
import { firstDelta, head, nextDelta, searchFields, toImagePart, toMessage, toUsage } from '../../../src/demo-upstream/encode.ts'
import type { AnswerFrame } from '../../../src/demo-upstream/encode.ts'
import type { Script } from './script.ts'

/** A reply in the pieces in which it is written. */
export interface Reply {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly parts: Iterable<Part>
}

interface Part {
  readonly bytes: Buffer
  /** Pause before the piece, in milliseconds. */
  readonly waitMs: number
  /** Output tokens in the piece. */
  readonly tokens: number
  /** The piece is one streamed event; comments are none. */
  readonly event: boolean
}

interface ReplyFrame extends AnswerFrame {
  readonly includeUsage: boolean
  readonly pace: { readonly ttftMs: number; readonly betweenMs: number }
}

export function jsonReply(value: unknown, status = 200, headers: Readonly<Record<string, string>> = {}): Reply {
  return bytesReply(Buffer.from(JSON.stringify(value)), status, { 'content-type': 'application/json', ...headers })
}

/** A whole answer, or null if the script replaces the answer. */
export function scriptedReply(script: Script): Reply | null {
  if (script.redirect !== undefined) return bytesReply(Buffer.alloc(0), 307, { location: script.redirect, ...script.headers })
  if (script.html !== undefined) return bytesReply(Buffer.from(htmlPage), 200, { 'content-type': 'text/html', ...script.headers })
  if (script.empty !== undefined)
    return bytesReply(Buffer.alloc(0), 200, { 'content-type': 'text/event-stream', ...script.headers })
  if (script.status === undefined && script.body === undefined) return null
  const status = script.status ?? 200
  if (typeof script.body === 'string')
    return bytesReply(Buffer.from(script.body), status, { 'content-type': 'text/plain', ...script.headers })
  return jsonReply(script.body ?? statusError(status), status, script.headers)
}

export function completionReply(answer: DemoAnswer, frame: ReplyFrame, script: Script): Reply {
  const usage = 'usage' in script ? script.usage : toUsage(answer, frame.n)
  const error = script.error
  if (error !== undefined && error.at !== 'choice') return jsonReply({ error: error.value ?? defaultError }, 200, script.headers)
  const choices = Array.from({ length: frame.n }, (_, index) => ({
    index,
    message: toMessage(answer, answer.tokens.join('') + 'x'.repeat(script.hugeBytes ?? 0)),
    logprobs: null,
    finish_reason: script.finish === undefined ? answer.finish : script.finish,
    ...(error === undefined || index > 0 ? {} : { finish_reason: 'error', error: error.value ?? defaultError }),
  }))
  const body = { ...head('chat.completion', frame), choices, ...(usage === null ? {} : { usage }), ...searchFields(answer) }
  const reply = jsonReply(body, 200, script.headers)
  const tokens = answer.tokens.length * frame.n
  // A script may delay a whole answer by the time its tokens would take; otherwise it is sent at once.
  const waitMs = (script.ttftMs ?? frame.pace.ttftMs) + (script.betweenMs ?? 0) * answer.tokens.length
  return { ...reply, parts: [...reply.parts].map((part) => ({ ...part, tokens, waitMs })) }
}

export function streamReply(answer: DemoAnswer, frame: ReplyFrame, script: Script): Reply {
  if (script.error?.at === 'whole') return jsonReply({ error: script.error.value ?? defaultError }, 200, script.headers)
  return {
    status: 200,
    headers: { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache', ...script.headers },
    parts: paced(events(answer, frame, script), script, frame),
  }
}

/** Compresses each part as a member of its own; together they are a valid gzip stream (RFC 1952, 2.2). */
export function gzipReply(reply: Reply): Reply {
  const { 'content-length': _, ...headers } = reply.headers
  return { ...reply, headers: { ...headers, 'content-encoding': 'gzip' }, parts: gzipParts(reply.parts) }
}

/** A gateway refuses larger events. */
const maxHugeEventBytes = 1_000_000

function* gzipParts(parts: Iterable<Part>): Generator<Part> {
  for (const part of parts) yield { ...part, bytes: gzipSync(part.bytes) }
}

interface StreamEvent {
  readonly data: string
  readonly tokens: number
}

/** The events of a stream in order, including its scripted error and its end. */
function* events(answer: DemoAnswer, frame: ReplyFrame, script: Script): Generator<StreamEvent> {
  const error = script.error
  let nth = 0
  for (const { last, chunk, tokens } of chunks(answer, frame, script)) {
    if (error !== undefined && (nth === toIndex(error.at) || (last && error.at === 'last'))) {
      yield { data: JSON.stringify({ error: error.value ?? defaultError }), tokens: 0 }
      if (script.done !== false) yield { data: '[DONE]', tokens: 0 }
      return
    }
    if (error?.at === 'choice' && last) {
      const broken = { index: 0, delta: { content: '' }, finish_reason: 'error' }
      yield {
        data: JSON.stringify({ ...head('chat.completion.chunk', frame), choices: [broken], error: error.value ?? defaultError }),
        tokens: 0,
      }
      return
    }
    yield { data: JSON.stringify(chunk), tokens }
    nth++
  }
  if (script.done ?? script.finish !== null) yield { data: '[DONE]', tokens: 0 }
}

interface Chunk {
  readonly chunk: object
  readonly tokens: number
  /** The event that finishes the answer. */
  readonly last: boolean
}

function* chunks(answer: DemoAnswer, frame: ReplyFrame, script: Script): Generator<Chunk> {
  const usage = 'usage' in script ? script.usage : toUsage(answer, frame.n)
  const wanted = usage !== null && (frame.includeUsage || script.usageOn !== undefined)
  const usageAt = (position: Script['usageOn']) =>
    wanted && (script.usageOn === position || script.usageOn === 'every') ? { usage } : {}
  const base = head('chat.completion.chunk', frame)
  const choices = Array.from({ length: frame.n }, (_, index) => index)
  const delta = (index: number, delta: object, more: object = {}) => ({
    ...base,
    choices: [{ index, delta, logprobs: null, finish_reason: null }],
    ...more,
  })

  for (const index of choices) yield { chunk: delta(index, firstDelta(answer), usageAt('first')), tokens: 0, last: false }
  if (script.reasoning !== undefined) yield { chunk: delta(0, { reasoning_content: script.reasoning }), tokens: 0, last: false }
  for (let left = script.hugeBytes ?? 0; left > 0; left -= maxHugeEventBytes)
    yield { chunk: delta(0, { content: 'x'.repeat(Math.min(left, maxHugeEventBytes)) }), tokens: 0, last: false }
  const { tokensPerEvent = 1 } = script
  for (let at = 0; at < answer.tokens.length; at += tokensPerEvent) {
    const piece = answer.tokens.slice(at, at + tokensPerEvent)
    const next = nextDelta(answer, piece.join(''))
    for (const index of choices) yield { chunk: delta(index, next, usageAt('every')), tokens: piece.length, last: false }
  }
  if (answer.images.length > 0) yield { chunk: delta(0, { images: answer.images.map(toImagePart) }), tokens: 0, last: false }
  if (script.finish !== null) {
    const finish = script.finish ?? answer.finish
    for (const index of choices) {
      const chunk = {
        ...base,
        choices: [{ index, delta: {}, logprobs: null, finish_reason: finish }],
        ...searchFields(answer),
        ...usageAt('finish'),
      }
      yield { chunk, tokens: 0, last: true }
    }
  }
  if (!wanted || ['finish', 'first', 'every'].includes(script.usageOn ?? 'own')) return
  yield { chunk: { ...base, choices: [], usage }, tokens: 0, last: false }
  if (script.usageOn === 'twice') yield { chunk: { ...base, choices: [], usage }, tokens: 0, last: false }
}

function* paced(events: Iterable<StreamEvent>, script: Script, frame: ReplyFrame): Generator<Part> {
  const newline = script.crlf === undefined ? '\n' : '\r\n'
  const comment = Buffer.from(`: keep-alive${newline}${newline}`)
  let waitMs = script.ttftMs ?? frame.pace.ttftMs
  for (let nth = 0; nth < (script.comments ?? 0); nth++) yield { bytes: comment, waitMs: 0, tokens: 0, event: false }
  for (const { data, tokens } of events) {
    yield { bytes: Buffer.from(`data: ${data}${newline}${newline}`), waitMs, tokens, event: true }
    waitMs = script.betweenMs ?? frame.pace.betweenMs
  }
}

function toIndex(at: number | string): number | null {
  return at === 'first' ? 0 : typeof at === 'number' ? at : null
}

function bytesReply(bytes: Buffer, status: number, headers: Readonly<Record<string, string>>): Reply {
  const parts = bytes.length === 0 ? [] : [{ bytes, waitMs: 0, tokens: 0, event: false }]
  return { status, headers: { 'content-length': String(bytes.length), ...headers }, parts }
}

function statusError(status: number): object {
  return {
    error: { message: `The demonstration upstream was asked to answer ${status}.`, type: 'demo_error', param: null, code: null },
  }
}

const defaultError = {
  message: 'The demonstration upstream was asked to fail.',
  type: 'server_error',
  param: null,
  code: 'server_error',
}
const htmlPage = '<!DOCTYPE html><html><head><title>Demonstration</title></head><body>This is no API.</body></html>\n'
