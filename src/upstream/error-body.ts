/**
 * What an upstream's error body says, whoever wrote it: OpenAI's `{error: {...}}`, the flat form of older vLLM, an `error`
 * that is a bare string, FastAPI's `detail`, Google's array around it, Anthropic's `{type: "error"}`, a single SSE
 * frame, or text. Reading never throws: a body that is none of these has no codes and no message.
 */
export interface ErrorBody {
  /** Every machine-readable name found (`code`, `type`, `error_type`, inner codes), lower-cased, the finest first. */
  readonly codes: readonly string[]
  /** A status stated inside the body (`code: 429`, `code: "429"`), null where there is none. */
  readonly status: number | null
  /** The sentence meant for people; the empty string where there is none. Not yet fit to be shown. */
  readonly message: string
  /** What patterns are matched on: the message and, where one provider passes on another's, that one's words too. */
  readonly text: string
  /** The request field it blames. */
  readonly param: string | null
  /** The body is a web page: something else than an API answered. */
  readonly html: boolean
  /** A moderation verdict is attached (OpenRouter's `metadata.flagged_input`, `metadata.reasons`). */
  readonly flagged: boolean
  /** Google's names of the limits that were reached, as in `GenerateRequestsPerMinutePerProjectPerModel`. */
  readonly limits: readonly string[]
  /** Seconds after which the body says it can be tried again. */
  readonly retryAfter: number | null
}

/** Reads the body of a failed answer. */
export function readErrorBody(body: string, contentType = ''): ErrorBody {
  const value = parse(body)
  if (value !== undefined && value !== null && typeof value !== 'number' && typeof value !== 'boolean')
    return readErrorValue(value)
  if (/\bhtml\b/i.test(contentType) || /^\s*<(?:!doctype|html|head|body)\b/i.test(body)) return { ...silent, html: true }
  // Broken JSON is searched for what it says but is no sentence to show.
  const message = /^\s*[[{]/.test(body) ? '' : body
  return { ...silent, message, text: body.slice(0, longestText) }
}

/** Reads an error that was found already parsed, as inside a 200. */
export function readErrorValue(value: unknown, depth = 0): ErrorBody {
  const outer = asRecord(Array.isArray(value) ? value[0] : value)
  if (outer === null) return typeof value === 'string' ? { ...silent, message: value, text: value.slice(0, longestText) } : silent

  const error = asRecord(outer['error']) ?? asRecord(outer['detail']) ?? outer
  // Google's errors passed through a front of its own come as text within the text.
  const within = embedded(error['message'])
  if (within !== null && depth < 2) return readErrorValue(within, depth + 1)
  const details = listOf(error['details']).map(asRecord)
  const inner = asRecord(error['innererror'])
  const metadata = asRecord(error['metadata'])
  const message =
    firstString(
      error['message'],
      outer['error'],
      error['msg'],
      outer['message'],
      detailOf(outer['detail']),
      detailOf(asRecord(error['message'])?.['detail']),
      error['error'],
    ) ?? ''
  const passedOn = firstString(metadata?.['raw'], asRecord(error['details'])?.['message']) ?? ''
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
    status: names.map(toStatus).find((status) => status !== null) ?? null,
    message,
    text: `${message.slice(0, longestText)}\n${passedOn.slice(0, longestText)}`,
    param: firstString(
      error['param'],
      error['param_name'],
      placeOf(outer['detail']),
      placeOf(asRecord(error['message'])?.['detail']),
      ...details.flatMap((detail) => listOf(detail?.['fieldViolations']).map((violation) => asRecord(violation)?.['field'])),
    ),
    html: false,
    flagged: metadata?.['flagged_input'] !== undefined || metadata?.['reasons'] !== undefined,
    limits: details.flatMap((detail) => [
      ...listOf(detail?.['violations']).map((violation) => String(asRecord(violation)?.['quotaId'] ?? '')),
      String(asRecord(detail?.['metadata'])?.['quota_limit'] ?? ''),
    ]),
    retryAfter:
      details.map((detail) => secondsOf(detail?.['retryDelay'])).find((seconds) => seconds !== null) ??
      secondsOf(/\b(?:try again|retry)(?: after| in) (\d+(?:\.\d+)?) ?s(?:ec(?:ond)?s?)?\b/i.exec(message)?.[1]),
  }
}

/** Patterns look no further than this, so that a hostile body costs no more than an ordinary one. */
const longestText = 4_000

const silent: ErrorBody = {
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

function parse(body: string): unknown {
  // An upstream that had already chosen to stream sends its refusal as one frame.
  const frame = /^\s*(?:event:[^\n]*\n)?data:(.*)/.exec(body)
  try {
    return JSON.parse(frame?.[1] ?? body)
  } catch {
    return undefined
  }
}

/** FastAPI says `{"detail": "..."}` or, for a validation, `{"detail": [{"loc": ["body", "messages"], "msg": "..."}]}`. */
function detailOf(detail: unknown): string | undefined {
  if (typeof detail === 'string') return detail
  const first = asRecord(Array.isArray(detail) ? detail[0] : detail)
  if (first === null) return undefined
  const where = placeOf(detail) ?? ''
  const what = firstString(first['msg'], first['message']) ?? ''
  return where === '' ? what : `${where}: ${what}`
}

/** Where FastAPI says a fault is, as in `body.messages`. */
function placeOf(detail: unknown): string | null {
  const { loc } = asRecord(Array.isArray(detail) ? detail[0] : null) ?? {}
  return Array.isArray(loc) ? loc.filter((step) => ['string', 'number'].includes(typeof step)).join('.') : null
}

function embedded(message: unknown): unknown {
  if (typeof message !== 'string' || !/^\s*[[{]/.test(message)) return null
  const value = parse(message)
  const record = asRecord(Array.isArray(value) ? value[0] : value)
  return record !== null && (record['error'] !== undefined || record['message'] !== undefined) ? value : null
}

/** Google writes a duration as `"11s"` or `"11.6s"`. */
function secondsOf(value: unknown): number | null {
  const seconds = typeof value === 'string' ? Number(/^(\d+(?:\.\d+)?)s?$/.exec(value)?.[1]) : Number.NaN
  return Number.isFinite(seconds) ? seconds : null
}

function listOf(value: unknown): readonly unknown[] {
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
