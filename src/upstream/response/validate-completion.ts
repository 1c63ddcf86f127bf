/** Checks that a 200 is a success, as a document or as a stream: a JSON object without an error, whose choices finish well. */
import { failedFinish, parseFinishReason, unusableFinish } from '../../codecs/chat/finish-reason.ts'
import { isRecord } from '../../exchange/request/chat-request.ts'
import { UpstreamFailure } from '../../exchange/upstream-failure.ts'
import type { FailureFacts } from '../../exchange/upstream-failure.ts'
import { parseJson } from '../../system/parse-json.ts'

type InBandReason = Extract<FailureFacts, { kind: 'in_band' }>['reason']

/** The failure of a 200 that is no success. `error` is the error value found inside. */
export function inBandFailure(reason: InBandReason, upstreamHost: string | null, error?: unknown): UpstreamFailure {
  return new UpstreamFailure({ kind: 'in_band', status: 200, reason, ...(error === undefined ? {} : { error }) }, upstreamHost)
}

/** Parses a complete document. @throws UpstreamFailure */
export function parseDocument(text: string, upstreamHost: string | null): Record<string, unknown> {
  if (text.trim() === '') throw inBandFailure('empty', upstreamHost)
  return parseObject(text, upstreamHost)
}

/** Parses a JSON object that is no error. @throws UpstreamFailure */
export function parseObject(text: string, upstreamHost: string | null): Record<string, unknown> {
  let value: unknown
  try {
    value = parseJson(text)
  } catch {
    throw inBandFailure('not_json', upstreamHost)
  }
  if (!isRecord(value)) throw inBandFailure('not_json', upstreamHost)
  checkNoError(value, upstreamHost)
  return value
}

/** @throws UpstreamFailure for an object that is an error */
function checkNoError(value: Record<string, unknown>, upstreamHost: string | null): void {
  const { error } = value
  if (error !== undefined && error !== null) throw inBandFailure('error_object', upstreamHost, error)
  const { base_resp: base } = value
  if (isRecord(base) && typeof base['status_code'] === 'number' && base['status_code'] !== 0)
    throw inBandFailure('error_object', upstreamHost, base)
  if (value['object'] === 'error' || value['type'] === 'error') throw inBandFailure('error_object', upstreamHost, value)
}

/** The choices of a completion, each finished well. @throws UpstreamFailure */
export function validateChoices({ choices }: Record<string, unknown>, upstreamHost: string | null): Record<string, unknown>[] {
  if (!Array.isArray(choices) || choices.length === 0) throw inBandFailure('empty', upstreamHost)
  return choices.map((choice: unknown) => {
    if (!isRecord(choice)) throw inBandFailure('empty', upstreamHost)
    if (!hasFinished(choice, upstreamHost)) throw inBandFailure('no_finish', upstreamHost)
    return choice
  })
}

/** Whether this choice or chunk finishes the choice. @throws UpstreamFailure if it finishes badly */
export function hasFinished({ error, finish_reason: finish }: Record<string, unknown>, upstreamHost: string | null): boolean {
  if (error !== undefined && error !== null) throw inBandFailure('error_object', upstreamHost, error)
  const reason = parseFinishReason(finish)
  checkFinish(reason, upstreamHost)
  return reason !== null
}

/** @throws UpstreamFailure for the reason of a failed answer */
export function checkFinish(reason: string | null, upstreamHost: string | null): void {
  if (reason === failedFinish) throw inBandFailure('bad_finish', upstreamHost)
  if (reason === unusableFinish) throw inBandFailure('unusable_output', upstreamHost)
}
