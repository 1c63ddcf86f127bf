/**
 * Large values as what they are sent as: JSON text in bytes. The main thread neither parses nor prints them; it puts the small fields that
 * differ from target to target between them.
 */

import type { Lending } from './lent-memory.ts'

/** A value of a request's body, too large to be an object of the main thread's. */
export class Printed {
  readonly pieces: readonly Uint8Array[]
  /** Of the memory that they are in, where it is lent. */
  readonly lending: Lending | null

  constructor(pieces: readonly Uint8Array[], lending: Lending | null = null) {
    this.pieces = pieces
    this.lending = lending
  }

  /** The value itself, for whoever prints or looks at it all the same. Costly: it is parsed here and now. */
  toJSON(): unknown {
    this.lending?.mustLast()
    return JSON.parse(Buffer.concat(this.pieces).toString()) as unknown
  }
}

/** What a request to an upstream carries, where it is large. May be sent any number of times. */
export class LargeBody implements Iterable<Uint8Array> {
  readonly bytes: number
  readonly #pieces: readonly Uint8Array[]
  readonly #lending: Lending | null

  constructor(pieces: readonly Uint8Array[], lending: Lending | null = null) {
    this.#pieces = pieces
    this.#lending = lending
    this.bytes = pieces.reduce((sum, { length }) => sum + length, 0)
  }

  *[Symbol.iterator](): Iterator<Uint8Array> {
    this.#lending?.sends()
    let left = this.bytes
    for (const piece of this.#pieces)
      for (let from = 0; from < piece.length; from += sentBytes) {
        const sent = piece.subarray(from, from + sentBytes)
        yield left <= heldBytes && this.#lending !== null ? new Uint8Array(sent) : sent
        left -= sent.length
      }
    this.#lending?.hasSent()
  }

  toString(): string {
    this.#lending?.mustLast()
    return Buffer.concat(this.#pieces).toString()
  }
}

/** What is given to a socket at once. */
const sentBytes = 64 * 1024
/**
 * More than sockets and the streams before them hold on to when the last piece has been given. So much is given as a copy: an upstream may
 * answer, and the request be over, before it has read the end.
 */
const heldBytes = 6 * sentBytes

/** Fields of this request, some of them printed already where it is large, as the body of another. What is undefined is not written. */
export function printFor(
  chat: { readonly worked?: unknown } | undefined,
  fields: Readonly<Record<string, unknown>>,
): string | LargeBody {
  return chat?.worked === undefined ? JSON.stringify(fields) : around(fields)
}

function around(fields: Readonly<Record<string, unknown>>): LargeBody {
  const pieces: Uint8Array[] = []
  let lending: Lending | null = null
  let text = '{'
  let between = ''
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined) continue
    text += `${between}${JSON.stringify(name)}:`
    between = ','
    if (value instanceof Printed) {
      pieces.push(Buffer.from(text), ...value.pieces)
      lending ??= value.lending
      text = ''
    } else text += JSON.stringify(value)
  }
  pieces.push(Buffer.from(`${text}}`))
  return new LargeBody(pieces, lending)
}
