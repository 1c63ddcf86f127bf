/**
 * What a 200 must be to be a success, whether it comes whole or as a stream: a JSON object, no error in it under whatever name, and choices
 * that come to a good end.
 */
import { isRecord } from '../exchange/chat-request.ts'
import { UpstreamFailure } from '../exchange/upstream-failure.ts'
import type { UpstreamFacts } from '../exchange/upstream-failure.ts'

type Reason = Extract<UpstreamFacts, { kind: 'in_band' }>['reason']

/** The failure of a 200 that is no success. `error` is what was found inside. */
export function noSuccess(reason: Reason, upstreamHost: string | null, error?: unknown): UpstreamFailure {
  return new UpstreamFailure({ kind: 'in_band', status: 200, reason, ...(error === undefined ? {} : { error }) }, upstreamHost)
}

/** A document that came whole. @throws UpstreamFailure */
export function documentOf(text: string, upstreamHost: string | null): Record<string, unknown> {
  if (text.trim() === '') throw noSuccess('empty', upstreamHost)
  return objectOf(text, upstreamHost)
}

/** A JSON object that does not say that it is an error. @throws UpstreamFailure */
export function objectOf(text: string, upstreamHost: string | null): Record<string, unknown> {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw noSuccess('not_json', upstreamHost)
  }
  if (!isRecord(value)) throw noSuccess('not_json', upstreamHost)
  const { error } = value
  if (error !== undefined && error !== null) throw noSuccess('error_object', upstreamHost, error)
  if (value['object'] === 'error' || value['type'] === 'error') throw noSuccess('error_object', upstreamHost, value)
  return value
}

/** The choices of a completion, each of which has come to a good end. @throws UpstreamFailure */
export function choicesOf({ choices }: Record<string, unknown>, upstreamHost: string | null): Record<string, unknown>[] {
  if (!Array.isArray(choices) || choices.length === 0) throw noSuccess('empty', upstreamHost)
  return choices.map((choice: unknown) => {
    if (!isRecord(choice)) throw noSuccess('empty', upstreamHost)
    if (!hasEnded(choice, upstreamHost)) throw noSuccess('no_finish', upstreamHost)
    return choice
  })
}

/** Whether this choice, or this piece of it, says that it is at its end. @throws UpstreamFailure where that is a bad one */
export function hasEnded({ error, finish_reason: finish }: Record<string, unknown>, upstreamHost: string | null): boolean {
  if (error !== undefined && error !== null) throw noSuccess('error_object', upstreamHost, error)
  // Some say an empty word where others say null.
  if (typeof finish !== 'string' || finish === '') return false
  if (isBadFinish(finish)) throw noSuccess('bad_finish', upstreamHost)
  return true
}

/** Finish reasons that mean the upstream broke off. */
function isBadFinish(finish: string): boolean {
  return finish === 'error' || finish === 'abort' || finish === 'insufficient_system_resource'
}
