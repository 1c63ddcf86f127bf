/**
 * Large values as JSON text in bytes. The main thread neither parses nor serializes them; it writes the small fields that differ between
 * targets around them.
 */
import { ownJsonBounds, parseJson } from '../../system/parse-json.ts'

/** The use of a text's memory by one request. */
export interface BufferLease {
  /** Must be called before each read: after the request has ended the memory may be free, or hold another request. @throws Error then */
  assertOpen(): void
  beginSend(): void
  endSend(): void
}

/** A part of a request's body that is serialized already. Put it into a body as it is. */
export interface OpaqueJson {
  /** Costly: parses the value on the main thread at each call. */
  toJSON(): unknown
}

/** A value of a request's body as JSON text in bytes, because it is too large to become an object of the main thread. */
export class RawJson implements OpaqueJson {
  readonly chunks: readonly Uint8Array[]
  /** Set if the memory ends with the request. */
  readonly lease: BufferLease | null

  constructor(chunks: readonly Uint8Array[], lease: BufferLease | null = null) {
    this.chunks = chunks
    this.lease = lease
  }

  toJSON(): unknown {
    this.lease?.assertOpen()
    return parseJson(Buffer.concat(this.chunks).toString(), ownJsonBounds) as unknown
  }
}

/** The value itself; costly for one that is serialized. */
export function readRawJson(value: unknown): unknown {
  return value instanceof RawJson ? value.toJSON() : value
}

/** The body of a large upstream request. It can be sent any number of times. */
export class ChunkedBody implements Iterable<Uint8Array> {
  readonly bytes: number
  readonly #chunks: readonly Uint8Array[]
  readonly #lease: BufferLease | null

  constructor(chunks: readonly Uint8Array[], lease: BufferLease | null = null) {
    this.#chunks = chunks
    this.#lease = lease
    this.bytes = chunks.reduce((sum, { length }) => sum + length, 0)
  }

  *[Symbol.iterator](): Iterator<Uint8Array> {
    this.#lease?.beginSend()
    let remainingBytes = this.bytes
    for (const piece of this.#chunks)
      for (let from = 0; from < piece.length; from += maxSendBytes) {
        const slice = piece.subarray(from, from + maxSendBytes)
        yield remainingBytes <= copiedTailBytes && this.#lease !== null ? new Uint8Array(slice) : slice
        remainingBytes -= slice.length
      }
    this.#lease?.endSend()
  }

  toString(): string {
    this.#lease?.assertOpen()
    return Buffer.concat(this.#chunks).toString()
  }
}

/** Maximum bytes per write to a socket. */
const maxSendBytes = 64 * 1024
/**
 * More than a socket and its stream buffer after the last piece was written. The tail is sent as a copy, because an upstream may respond,
 * and the request end, before it has read the end of the body.
 */
const copiedTailBytes = 6 * maxSendBytes

/** Serializes a request's body. Fields that are undefined are left out; `RawJson` is copied byte for byte. */
export function serializeBody(fields: Readonly<Record<string, unknown>>): string | ChunkedBody {
  for (const name in fields) if (fields[name] instanceof RawJson) return serializeChunked(fields)
  return JSON.stringify(fields)
}

function serializeChunked(fields: Readonly<Record<string, unknown>>): ChunkedBody {
  const chunks: Uint8Array[] = []
  let lease: BufferLease | null = null
  let text = '{'
  let separator = ''
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined) continue
    text += `${separator}${JSON.stringify(name)}:`
    separator = ','
    if (value instanceof RawJson) {
      chunks.push(Buffer.from(text), ...value.chunks)
      lease ??= value.lease
      text = ''
    } else text += JSON.stringify(value)
  }
  chunks.push(Buffer.from(`${text}}`))
  return new ChunkedBody(chunks, lease)
}
