import type { JsonObject } from '../../exchange/api-format/api-format.ts'
import { isRecord } from '../../exchange/request/chat-request.ts'
import { tryParseJson } from '../../system/parse-json.ts'

/** The arguments of a call as an object. What is no JSON object is passed as text, so that the client or the model reports it. */
export function parseInput(text: unknown): JsonObject {
  if (typeof text !== 'string' || text.trim() === '') return {}
  const input = tryParseJson(text)
  return isRecord(input) ? input : { invalid_arguments: text }
}
