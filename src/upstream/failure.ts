/** What a failed call to an upstream means for the caller: the table, and what it asks of the facts. */
import type { Code, FailureDetails } from '../errors.ts'
import { GatewayError } from '../errors.ts'
import type { UpstreamFacts } from '../exchange/upstream-failure.ts'
import type { ErrorBody } from './error-body.ts'
import { readErrorBody, readErrorValue } from './error-body.ts'
import { safeText } from './safe-text.ts'
import {
  badKey,
  byTheDay,
  byTheMinute,
  filtered,
  missing,
  noMoney,
  overflow,
  says,
  slowDown,
  statusOfName,
  throttled,
  unknownModel,
  wrongAddress,
  wrongPlace,
} from './wording.ts'

export interface ClassifyOptions {
  /** Milliseconds since 1970, for a `Retry-After` that is a date; without it such a date is not passed on. */
  readonly now?: number
  /** Words that must not be seen in a message that is passed on: the target's model id, host and key. */
  readonly hide?: readonly string[]
  /** What was thrown, for the log. */
  readonly cause?: unknown
}

/**
 * Says what a failed call means for the caller: the first row of the table that fits. It never says that the caller is
 * not signed in, and it never throws. Upstream words are shown in one class alone (`invalid_request`), made safe first.
 */
export function classify(facts: UpstreamFacts, options: ClassifyOptions = {}): GatewayError {
  const seen = observe(facts, options)
  const row = table.find((row) => row.when(seen)) ?? otherwise
  const cause = options.cause === undefined ? {} : { cause: options.cause }
  return new GatewayError(row.code, { ...known(seen), ...row.tells?.(seen, options), ...cause })
}

/** The facts, brought to the few questions that the table asks. */
interface Observed extends ErrorBody {
  readonly facts: UpstreamFacts
  /** The status that was meant: the one stated inside a 200 where there is one; 0 where there was no answer. */
  readonly meant: number
  /** A 200 whose error states no status: only its codes and its words can tell. */
  readonly unstated: boolean
  /** Whole seconds the upstream asked to wait, at most `longestWaitSeconds`. */
  readonly wait: number | null
}

interface Row {
  /** Number of the rule in the classification this table states, for the tests and for talking about it. */
  readonly rule: number
  readonly when: (seen: Observed) => boolean
  readonly code: Code
  readonly tells?: (seen: Observed, options: ClassifyOptions) => FailureDetails
}

/** Read top to bottom; the first row that fits decides. The order is the meaning: see the comments where it matters. */
const table: readonly Row[] = [
  {
    rule: 1,
    when: ({ facts }) => facts.kind === 'unconfigured',
    code: 'upstream_not_configured',
    tells: ({ facts }) => ({ ...theOperators(), ...(facts.kind === 'unconfigured' ? notSetUp(facts.product) : {}) }),
  },
  {
    rule: 11,
    when: ({ facts }) => isFull(facts),
    code: 'upstream_rate_limited',
    tells: waitAtLeast,
  },
  {
    // The upstream does not take what we have added to the request; the member has done nothing wrong.
    rule: 1,
    when: ({ facts }) => facts.kind === 'status' && facts.ours !== undefined,
    code: 'upstream_not_configured',
    tells: theOperators,
  },
  {
    // A name that does not resolve, a certificate that does not hold, a redirect: an address entered wrongly.
    rule: 2,
    when: ({ facts, meant }) => (facts.kind === 'network' && wrongAddress.test(facts.code)) || (meant >= 300 && meant < 400),
    code: 'upstream_not_configured',
    tells: theOperators,
  },
  {
    // The wait was long already; an SDK's own two retries would make it three times as long.
    rule: 3,
    when: ({ facts }) => facts.kind === 'timeout',
    code: 'upstream_error',
    tells: () => ({ shouldRetry: false }),
  },
  {
    rule: 3,
    when: ({ facts, meant }) => facts.kind === 'network' || [408, 504].includes(meant) || (meant >= 520 && meant <= 527),
    code: 'upstream_error',
    tells: waitIfAsked,
  },
  {
    // The operator's credential, not the caller's. Google refuses a bad key with 400.
    rule: 4,
    when: (seen) => [401, 407].includes(seen.meant) || (means(seen, 400, 403) && says(seen, badKey)),
    code: 'upstream_not_configured',
    tells: theOperators,
  },
  {
    // A 402 that names a wait is a budget in flight, not an empty account.
    rule: 5,
    when: ({ meant, wait }) => meant === 402 && wait !== null,
    code: 'upstream_rate_limited',
    tells: waitAtLeast,
  },
  {
    // Google says "quota" and "billing" of every limit; which one it was stands in the details, or in the wait it names.
    rule: 11,
    when: (seen) => seen.meant === 429 && passesByItself(seen),
    code: 'upstream_rate_limited',
    tells: waitAtLeast,
  },
  {
    rule: 5,
    when: (seen) => seen.meant === 402 || (means(seen, 429, 400, 403, 412) && says(seen, noMoney)),
    code: 'upstream_not_configured',
    tells: theOperators,
  },
  {
    // "Too many tokens" is also how throttling is put; that guard comes first.
    rule: 6,
    when: (seen) => seen.meant === 413 || (means(seen, 400, 413, 422, 500) && says(seen, overflow) && !says(seen, throttled)),
    code: 'context_length_exceeded',
    tells: () => ({ param: 'messages' }),
  },
  {
    rule: 7,
    when: (seen) => seen.meant === 451 || (seen.meant === 403 && seen.flagged) || says(seen, filtered),
    code: 'content_filter',
  },
  {
    rule: 8,
    when: (seen) =>
      seen.meant === 410 ||
      (seen.meant === 404 && says(seen, missing)) ||
      (means(seen, 400) && says(seen, unknownModel)) ||
      (seen.meant === 403 && seen.codes.includes('model_not_found')),
    code: 'upstream_model_unavailable',
    tells: pointless,
  },
  {
    // Nothing that serves models is there. A throttling page of an edge is still throttling: 429 is left to rule 11.
    rule: 9,
    when: ({ meant, html }) => [404, 405, 415, 426].includes(meant) || (html && meant >= 400 && meant < 500 && meant !== 429),
    code: 'upstream_not_configured',
    tells: theOperators,
  },
  {
    rule: 10,
    when: (seen) => seen.meant === 403 || (seen.meant === 400 && says(seen, wrongPlace)),
    code: 'upstream_not_configured',
    tells: theOperators,
  },
  {
    rule: 11,
    when: (seen) => seen.meant === 429 || (means(seen, 503) && says(seen, slowDown)),
    code: 'upstream_rate_limited',
    tells: waitAtLeast,
  },
  {
    rule: 12,
    when: ({ meant }) => [400, 409, 422].includes(meant),
    code: 'invalid_request',
    tells: itsOwnWords,
  },
  {
    rule: 13,
    when: ({ meant }) => meant >= 500,
    code: 'upstream_error',
    tells: waitIfAsked,
  },
]

/** Rule 14, and whatever no rule foresaw: the upstream failed, and that is all that is known. */
const otherwise: Row = { rule: 14, when: () => true, code: 'upstream_error' }

/** Google's throttling: no limit of a day among those it names, or none named and none that is nought. */
function passesByItself({ codes, limits, text, retryAfter }: Observed): boolean {
  if (!codes.includes('resource_exhausted') && !codes.includes('rate_limit_exceeded')) return false
  if (limits.some((name) => byTheDay.test(name))) return false
  if (limits.some((name) => byTheMinute.test(name))) return true
  if (/\blimit: 0\b/.test(text)) return false
  return retryAfter !== null || !codes.includes('insufficient_quota')
}

/** An SDK's own retries meet the same answer. */
function pointless(): FailureDetails {
  return { shouldRetry: false }
}

/** The operator's to correct, which takes minutes: a 503 names a wait also where it asks not to be tried again at once. */
function theOperators(): FailureDetails {
  return { shouldRetry: false, retryAfter: longestWaitSeconds }
}

function notSetUp(product: string | undefined): FailureDetails {
  if (product === undefined) return {}
  return {
    actions: ['switch_model', 'contact_operator'],
    message: {
      en: `The model '${product}' is not set up on this service. This turn was not counted; please choose another one.`,
      zh: `此服务尚未配置模型 '${product}',本次不计入用量,请换用其他模型。`,
    },
  }
}

function waitIfAsked({ wait }: Observed): FailureDetails {
  return wait === null ? {} : { retryAfter: wait }
}

function waitAtLeast({ wait }: Observed): FailureDetails {
  return { retryAfter: wait ?? usualWaitSeconds }
}

function itsOwnWords({ message, param }: Observed, { hide }: ClassifyOptions): FailureDetails {
  const words = safeText(message, hide)
  // Nobody translates a vendor's words; that they are not ours is said where they would surprise.
  const detail =
    words === ''
      ? { en: 'the model service does not accept it.', zh: '模型服务不接受该请求。' }
      : { en: words, zh: `模型服务的说明:${words}` }
  const field = param === null ? '' : safeText(param, hide)
  return { params: { detail }, ...(field === '' ? {} : { param: field }) }
}

/** The JavaScript SDK ignores a longer wait and hammers instead; the Python one gives up. */
const longestWaitSeconds = 60
const usualWaitSeconds = 5

/** This process has no descriptor, or this machine no port, for another call: no target has anything to do with it. */
const noMoreHere = /^(?:EMFILE|ENFILE|EADDRNOTAVAIL|ENOBUFS)$/

/** There is no room for another call, by the configuration or by the system; room comes as calls end. */
export function isFull(facts: UpstreamFacts): boolean {
  return facts.kind === 'full' || (facts.kind === 'network' && noMoreHere.test(facts.code))
}

function observe(facts: UpstreamFacts, { now }: ClassifyOptions): Observed {
  if (facts.kind === 'status') {
    const body = readErrorBody(facts.body, facts.contentType)
    const wait = facts.retryAfter === null ? inBody(body) : toWait(facts.retryAfter, now)
    return { ...body, facts, meant: facts.status, unstated: false, wait }
  }
  if (facts.kind === 'in_band') {
    const body = readErrorValue(facts.error)
    const named = body.codes.map((code) => statusOfName.get(code)).find((status) => status !== undefined)
    return { ...body, facts, meant: body.status ?? named ?? facts.status, unstated: body.status === null, wait: null }
  }
  return { ...readErrorValue(null), facts, meant: 0, unstated: false, wait: null }
}

/** One of these statuses was meant, or none was stated at all. */
function means(seen: Observed, ...statuses: readonly number[]): boolean {
  return seen.unstated || statuses.includes(seen.meant)
}

/** The raw status, where one is known: that of the answer, or the one stated inside it. */
function known({ facts, status }: Observed): FailureDetails {
  if (facts.kind === 'status') return { upstreamStatus: facts.status }
  if (facts.kind === 'in_band') return { upstreamStatus: status ?? facts.status }
  return {}
}

function inBody({ retryAfter }: ErrorBody): number | null {
  return retryAfter === null ? null : Math.min(longestWaitSeconds, Math.max(1, Math.ceil(retryAfter)))
}

/** `Retry-After` (RFC 9110, 10.2.3) is a number of seconds or a date, which begins with the name of a day. */
function toWait(header: string, now: number | undefined): number | null {
  const seconds = /^\s*\d/.test(header) ? Number(header) : secondsUntil(header, now)
  return Number.isFinite(seconds) ? Math.min(longestWaitSeconds, Math.max(1, Math.ceil(seconds))) : null
}

function secondsUntil(date: string, now: number | undefined): number {
  return now !== undefined && /^\s*[a-z]{3}/i.test(date) ? (Date.parse(date) - now) / 1000 : Number.NaN
}

/** For the log: the upstream's own words, cleaned of what looks like a secret. A refusal may quote a prompt: that is cut short. */
export function ownWords(facts: UpstreamFacts): string | undefined {
  if (facts.kind !== 'status' && facts.kind !== 'in_band') return undefined
  const { message, text, html } =
    facts.kind === 'status' ? readErrorBody(facts.body, facts.contentType) : readErrorValue(facts.error)
  if (html) return 'a web page'
  const words = safeText(message === '' ? text : message).slice(0, longestLogged)
  return words === '' ? undefined : words
}

const longestLogged = 200
