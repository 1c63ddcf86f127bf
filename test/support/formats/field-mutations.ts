/** Valid request bodies with wrong values, for the tests of bad input. */
import * as fc from 'fast-check'
import type { Test } from 'tap'
import { GatewayError } from '../../../src/errors.ts'
import type { JsonObject } from '../../../src/exchange/api-format/api-format.ts'

type Path = readonly string[]

/** The paths of all values within this one. */
export function listPaths(value: unknown): readonly Path[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, inner]) => [[name], ...listPaths(inner).map((path) => [name, ...path])])
}

/** A copy with another value at the path; the original where an earlier change has removed what the path is in. */
export function replaceAt(value: unknown, path: Path, replacement: unknown): unknown {
  const [name, ...rest] = path
  if (name === undefined) return replacement
  if (typeof value !== 'object' || value === null) return value
  const copy = (Array.isArray(value) ? [...value] : { ...value }) as Record<string, unknown>
  copy[name] = replaceAt(copy[name], rest, replacement)
  return copy
}

/** Text cannot be made of it. */
export const textlessValue = { toString: 1, valueOf: 1 }

const anyValue = fc.oneof(
  fc.constantFrom<unknown>(
    textlessValue,
    [textlessValue],
    null,
    '',
    0,
    -1,
    true,
    [],
    {},
    [null],
    [[]],
    [{}],
    { type: 'text' },
    'constructor',
    '__proto__',
  ),
  fc.jsonValue({ maxDepth: 2 }),
)

/** One or two values of the original are replaced by any others. */
export const mutate = (original: JsonObject): fc.Arbitrary<JsonObject> =>
  fc
    .array(fc.tuple(fc.constantFrom(...listPaths(original)), anyValue), { minLength: 1, maxLength: 2 })
    .map(
      (changes) =>
        changes.reduce<unknown>((value, [path, replacement]) => replaceAt(value, path, replacement), original) as JsonObject,
    )

/** One of each type of JSON. A field that accepts one of these accepts it as what it means. */
const wrongValues: readonly unknown[] = [7, -1, 'wrong', true, [], [7], {}, { wrong: 1 }]

/** Each value of the body is replaced by one of which no text can be made: that is translated, or refused as the client's fault. */
export function checkTextlessValues(t: Test, body: JsonObject, translate: (body: JsonObject) => unknown): void {
  for (const path of listPaths(body))
    for (const value of [textlessValue, [textlessValue]])
      try {
        translate(replaceAt(body, path, value) as JsonObject)
      } catch (error) {
        if (!(error instanceof GatewayError)) t.fail(`${toName(path)}: ${String(error)}`)
      }
}

interface Outcomes {
  /** Fields that accept a value of a type that they cannot use, with these values. */
  readonly accepted: Readonly<Record<string, readonly unknown[]>>
  /** Wrong values that were refused with the path of another field. */
  readonly misplaced: readonly string[]
}

/** Replaces each value of the body by each wrong one. `findRefusal` returns the path of the refusal, null for none. */
export function tryWrongValues(body: JsonObject, findRefusal: (body: JsonObject) => string | null | undefined): Outcomes {
  const accepted: Record<string, unknown[]> = {}
  const misplaced: string[] = []
  for (const path of listPaths(body)) {
    const original = path.reduce<unknown>((value, name) => (value as JsonObject)[name], body)
    for (const value of wrongValues) {
      if (typeof value === typeof original && Array.isArray(value) === Array.isArray(original) && typeof value !== 'object')
        continue
      const name = toName(path)
      const refusal = findRefusal(replaceAt(body, path, value) as JsonObject)
      if (refusal === null) (accepted[name] ??= []).push(value)
      else if (!isRelated(refusal ?? '', name)) misplaced.push(`${name} = ${JSON.stringify(value)}: ${refusal}`)
    }
  }
  return { accepted, misplaced }
}

/** As in `input[0].content`. */
function toName([first = '', ...rest]: Path): string {
  return first + rest.map((name) => (/^\d+$/.test(name) ? `[${name}]` : `.${name}`)).join('')
}

/** The refusal names the field, what it is in, or a field in it. */
function isRelated(refusal: string, name: string): boolean {
  const isWithin = (inner: string, outer: string): boolean => inner === outer || /^[.[]/.test(inner.slice(outer.length))
  return (refusal.startsWith(name) && isWithin(refusal, name)) || (name.startsWith(refusal) && isWithin(name, refusal))
}

/** Each of `runs` mutated bodies is translated to a request with messages, or refused with the path of a field. */
export function checkMutatedBodies(
  t: Test,
  original: JsonObject,
  translate: (body: JsonObject) => { readonly chat: Readonly<Record<string, unknown>> },
  runs: number,
): void {
  let refused = 0
  fc.assert(
    fc.property(mutate(original), (body) => {
      try {
        const { chat } = translate(body)
        if (!Array.isArray(chat['messages'])) throw new Error('no messages')
        structuredClone(chat)
      } catch (error) {
        if (!(error instanceof GatewayError) || error.code !== 'invalid_request') throw error
        if (!/^[a-z_]+(?:[.[].*)?$/.test(error.details.param ?? ''))
          throw new Error(`no path: ${error.message}`, { cause: error })
        refused++
      }
    }),
    { numRuns: runs },
  )
  t.ok(refused > 500, `${refused} of ${runs} are refused`)
}
