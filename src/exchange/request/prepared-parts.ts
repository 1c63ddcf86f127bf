/**
 * The long parts of a large request in the form of a target. The parser's thread translates them, so that the main thread neither parses nor
 * serializes them.
 *
 * Gain: the main thread is not blocked at all, instead of 40 to 60 ms for 4 MB. It can be deleted together with the parser's thread.
 */
import type { GatewayError } from '../../errors.ts'

export interface PreparedParts {
  /** Fields of the translated request; those of a large request as `RawJson`. */
  readonly fields: Readonly<Record<string, unknown>>
  /** What the translation of the other fields depends on; `isNative`: `fields` is the whole body, in the target's own API. */
  readonly facts: Readonly<Record<string, boolean>>
  /** Names of what is left out, for the header of dropped fields. */
  readonly dropped: readonly string[]
  /** Fields that the target rejects. */
  readonly rejected?: ReadonlySet<string>
}

/** The parts by the key of their form; a failure where the API has no place for a part of the request. */
export type PreparedRequest = Readonly<Partial<Record<string, PreparedParts | GatewayError>>>

/** No field, because no client may send it. */
const partsKey = Symbol('parts')

/** The body with parts that stand for its messages and tools. */
export function withPreparedParts(body: Record<string, unknown>, parts: PreparedParts | null): Record<string, unknown> {
  return parts === null ? body : Object.assign(body, { [partsKey]: parts })
}

export function readPreparedParts(body: object): PreparedParts | null {
  return (body as { readonly [partsKey]?: PreparedParts })[partsKey] ?? null
}
