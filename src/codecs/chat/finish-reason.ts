/** Finish reasons of other vendors, in any spelling, as those of chat completions. */

export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'function_call' | 'content_filter'

/** A reason that says that the upstream broke off: the answer is a failure. */
export const failedFinish = 'error'
/** A reason that says that the upstream cannot use what the model wrote: a member can ask a model for that. */
export const unusableFinish = 'unusable_output'

export type FailedFinish = typeof failedFinish | typeof unusableFinish

const standardReasons: ReadonlySet<string> = new Set([
  'stop',
  'length',
  'tool_calls',
  'function_call',
  'content_filter',
  failedFinish,
])

/**
 * The first pattern that matches decides; a reason that matches none is `stop`. Vendors spell the same reason as `MAX_TOKENS`, `max_tokens`,
 * `model_length` or `model_context_window_exceeded`. `src/codecs/vendors/README.md` names them.
 */
const patterns: readonly (readonly [RegExp, FinishReason | FailedFinish])[] = [
  // Google's UNEXPECTED_TOOL_CALL, Bedrock's malformed_model_output, and Cohere's ERROR_LIMIT.
  [/unusable_output|malformed|unexpected|invalid|missing|too_many|error_limit/, unusableFinish],
  // vLLM's abort.
  [/error|fail|abort|insufficient|unavailable|time_?out|cancel|unload|interrupt|overload/, failedFinish],
  // vLLM's repetition ends an answer that would not end by itself.
  [/max|length|limit|truncat|window|budget|incomplete|repetition/, 'length'],
  [
    /filter|safety|block|prohibit|recitation|sensitive|refus|guardrail|moderat|policy|spii|jailbreak|inappropriate/,
    'content_filter',
  ],
  [/tool|function/, 'tool_calls'],
]

/** Null where the choice has not finished: no reason, or an empty one, which some upstreams send in place of null. */
export function parseFinishReason(reason: unknown): FinishReason | FailedFinish | null {
  if (typeof reason !== 'string' || reason === '') return null
  if (standardReasons.has(reason)) return reason as FinishReason
  const lower = reason.slice(0, maxReasonLength).toLowerCase()
  if (standardReasons.has(lower)) return lower as FinishReason
  return patterns.find(([pattern]) => pattern.test(lower))?.[1] ?? 'stop'
}

/** Longer ones are no reasons. */
const maxReasonLength = 100

/** A call decides over `stop`, because an agent would otherwise not make it. */
export function decideFinish<Reason extends string>(reason: Reason, hasCalls: boolean): Reason | 'tool_calls' {
  return reason === 'stop' && hasCalls ? 'tool_calls' : reason
}
