/**
 * Parses an upstream's error body: OpenAI's `{error: {...}}`, the flat form of older vLLM, an `error` that is a string, FastAPI's `detail`,
 * Google's array around it, Anthropic's `{type: "error"}`, MiniMax's `base_resp`, a single SSE frame, or text. Parsing never throws: another
 * body has no codes and no message.
 */
import { tryParseJson } from '../../system/parse-json.ts'

export interface ErrorBody {
  /** Every machine-readable name found (`code`, `type`, `error_type`, inner codes), in lower case, the most specific first. */
  readonly codes: readonly string[]
  /** A status stated inside the body (`code: 429`, `code: "429"`), or null. */
  readonly status: number | null
  /** The sentence for people; empty if there is none. Not sanitized. */
  readonly message: string
  /** The text for pattern matching: the message and, if one provider passes on another's error, that one's text too. */
  readonly text: string
  /** The request field that the error names. */
  readonly param: string | null
  /** The body is a web page: something other than an API answered. */
  readonly html: boolean
  /** A moderation verdict is attached (OpenRouter's `metadata.flagged_input`, `metadata.reasons`). */
  readonly flagged: boolean
  /** Google's names of the limits that were reached, as in `GenerateRequestsPerMinutePerProjectPerModel`. */
  readonly limits: readonly string[]
  /** Seconds after which the body says that a retry can succeed. */
  readonly retryAfter: number | null
}

/** Parses the body of an error response. */
export function readErrorBody(body: string, contentType = ''): ErrorBody {
  const value = parseErrorText(body)
  if (value !== undefined && value !== null && typeof value !== 'number' && typeof value !== 'boolean')
    return readErrorValue(value)
  if (/\bhtml\b/i.test(contentType) || /^\s*<(?:!doctype|html|head|body)\b/i.test(body)) return { ...emptyErrorBody, html: true }
  // Broken JSON is searched for patterns, but it is no sentence to show.
  const message = /^\s*[[{]/.test(body) ? '' : body
  return { ...emptyErrorBody, message, text: body.slice(0, maxTextLength) }
}

/**
 * The body without the phrases that its text quotes: they may be words of the request, and what is learned from a rejection applies to all
 * members. Names in quotes remain, and JSON that one provider passes on for another.
 */
export function withoutQuotedPhrases(body: ErrorBody): ErrorBody {
  const strip = (text: string): string =>
    text
      .slice(0, 2 * maxTextLength)
      .split('\n')
      .map((line) =>
        line.replaceAll(/^\s*[[{]/.test(line) ? singleQuoted : anyQuoted, (quoted) => (/\s/.test(quoted) ? '…' : quoted)),
      )
      .join('\n')
  return { ...body, message: strip(body.message), text: strip(body.text) }
}

/** An apostrophe within a word opens and closes none. */
const singleQuoted = /(?<!\w)'(?:[^'\n]|(?<=\w)'(?=\w)){0,2000}'(?!\w)/g
const anyQuoted = /(?<!\w)(?:'(?:[^'\n]|(?<=\w)'(?=\w)){0,2000}'|"[^"\n]{0,2000}"|`[^`\n]{0,2000}`|“[^”\n]{0,2000}”)(?!\w)/g

/** Parses an error value that is decoded already, as inside a 200. */
export function readErrorValue(value: unknown, depth = 0): ErrorBody {
  const outer = asRecord(Array.isArray(value) ? value[0] : value)
  if (outer === null)
    return typeof value === 'string' ? { ...emptyErrorBody, message: value, text: value.slice(0, maxTextLength) } : emptyErrorBody

  const error = asRecord(outer['error']) ?? asRecord(outer['detail']) ?? asRecord(outer['base_resp']) ?? outer
  // Google's errors behind a proxy of its own arrive as JSON inside a string.
  const nestedError = parseEmbedded(error['message'])
  if (nestedError !== null && depth < 2) return readErrorValue(nestedError, depth + 1)
  const details = toArray(error['details']).map(asRecord)
  const inner = asRecord(error['innererror'])
  const metadata = asRecord(error['metadata'])
  const message =
    firstString(
      error['message'],
      outer['error'],
      error['msg'],
      error['status_msg'],
      outer['message'],
      formatDetail(outer['detail']),
      formatDetail(asRecord(error['message'])?.['detail']),
      error['error'],
    ) ?? ''
  const providerMessage = firstString(metadata?.['raw'], asRecord(error['details'])?.['message']) ?? ''
  const names = [
    ...details.map((detail) => detail?.['reason']),
    error['code'],
    inner?.['code'],
    metadata?.['error_type'],
    metadata?.['provider_code'],
    error['type'],
    error['status'],
    error['error_type'],
    outer['type'] === 'error' ? undefined : outer['type'],
    outer['code'],
  ]

  return {
    codes: names
      .filter((name) => typeof name === 'string' && !/^\d+$/.test(name))
      .map((name) => String(name).slice(0, 200).toLowerCase()),
    status: names.map(toStatus).find((status) => status !== null) ?? statusByMinimaxCode.get(error['status_code']) ?? null,
    message,
    text: `${message.slice(0, maxTextLength)}\n${providerMessage.slice(0, maxTextLength)}`,
    param: firstString(
      error['param'],
      error['param_name'],
      formatLocation(outer['detail']),
      formatLocation(asRecord(error['message'])?.['detail']),
      ...details.flatMap((detail) => toArray(detail?.['fieldViolations']).map((violation) => asRecord(violation)?.['field'])),
    ),
    html: false,
    flagged: metadata?.['flagged_input'] !== undefined || metadata?.['reasons'] !== undefined,
    limits: details.flatMap((detail) => [
      ...toArray(detail?.['violations']).map((violation) => firstString(asRecord(violation)?.['quotaId']) ?? ''),
      firstString(asRecord(detail?.['metadata'])?.['quota_limit']) ?? '',
    ]),
    retryAfter:
      details.map((detail) => parseSeconds(detail?.['retryDelay'])).find((seconds) => seconds !== null) ??
      parseSeconds(/\b(?:try again|retry)(?: after| in) (\d+(?:\.\d+)?) ?s(?:ec(?:ond)?s?)?\b/i.exec(message)?.[1]),
  }
}

/** MiniMax's own numbers, in `base_resp` of a 200: https://platform.minimax.io/docs/api-reference/errorcode. Others stay an upstream error. */
const statusByMinimaxCode: ReadonlyMap<unknown, number> = new Map<unknown, number>([
  [1001, 504],
  [1002, 429],
  [1004, 401],
  [1008, 402],
  [1026, 451],
  [1027, 451],
  [1039, 429],
  [1041, 429],
  [2013, 400],
  [2049, 401],
])

/** Patterns examine no more than this, so that a hostile body costs no more than an ordinary one. */
const maxTextLength = 4_000

const emptyErrorBody: ErrorBody = {
  codes: [],
  status: null,
  message: '',
  text: '',
  param: null,
  html: false,
  flagged: false,
  limits: [],
  retryAfter: null,
}

function parseErrorText(body: string): unknown {
  // An upstream that has begun to stream sends its error as one frame.
  const frame = /^\s*(?:event:[^\n]*\n)?data:(.*)/.exec(body)
  return tryParseJson(frame?.[1] ?? body)
}

/** FastAPI sends `{"detail": "..."}` or, for a validation error, `{"detail": [{"loc": ["body", "messages"], "msg": "..."}]}`. */
function formatDetail(detail: unknown): string | undefined {
  if (typeof detail === 'string') return detail
  const first = asRecord(Array.isArray(detail) ? detail[0] : detail)
  if (first === null) return undefined
  const location = formatLocation(detail) ?? ''
  const problem = firstString(first['msg'], first['message']) ?? ''
  return location === '' ? problem : `${location}: ${problem}`
}

/** FastAPI's location of an error, as in `body.messages`. */
function formatLocation(detail: unknown): string | null {
  const { loc } = asRecord(Array.isArray(detail) ? detail[0] : null) ?? {}
  return Array.isArray(loc) ? loc.filter((step) => ['string', 'number'].includes(typeof step)).join('.') : null
}

function parseEmbedded(message: unknown): unknown {
  if (typeof message !== 'string' || !/^\s*[[{]/.test(message)) return null
  const value = parseErrorText(message)
  const record = asRecord(Array.isArray(value) ? value[0] : value)
  return record !== null && (record['error'] !== undefined || record['message'] !== undefined) ? value : null
}

/** Google writes a duration as `"11s"` or `"11.6s"`. */
function parseSeconds(value: unknown): number | null {
  const seconds = typeof value === 'string' ? Number(/^(\d+(?:\.\d+)?)s?$/.exec(value)?.[1]) : Number.NaN
  return Number.isFinite(seconds) ? seconds : null
}

function toArray(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

function toStatus(value: unknown): number | null {
  const status = typeof value === 'string' && /^\d{3}$/.test(value) ? Number(value) : value
  return typeof status === 'number' && Number.isInteger(status) && status >= 400 && status <= 599 ? status : null
}

function asRecord(value: unknown): Readonly<Record<string, unknown>> | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : null
}

function firstString(...values: readonly unknown[]): string | null {
  for (const value of values) if (typeof value === 'string' && value !== '') return value
  return null
}
