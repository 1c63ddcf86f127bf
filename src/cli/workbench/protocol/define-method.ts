/**
 * A method of the protocol is one value. Unknown parameters are refused, so that a misspelt one is reported instead of ignored.
 * Only the host loads the methods; the command line uses their types.
 */
import { z } from 'zod'

export interface MethodDefinition {
  /** One line, no full stop: what it does, or what it answers. */
  readonly summary: string
  readonly params: z.ZodType
  readonly result: Result<unknown>
  /** It may move the user's focus. Every other method leaves the focus alone, which a test checks for each method by its name. */
  readonly focus?: true
}

/** Only a type: the client trusts the host, which runs as the same user. A client ignores unknown fields; new ones do not change the version. */
export interface Result<Value> {
  readonly value?: Value
}

export function result<Value>(): Result<Value> {
  return {}
}

export const id = z.string().min(1).max(64)
export const title = z.string().max(1_000)
export const cwd = z.string().min(1).max(4_096)
export const nothing = z.strictObject({})
