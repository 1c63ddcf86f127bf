/** Reasons to stop, as those of chat completions. */
import { failedFinish, parseFinishReason } from '../chat/finish-reason.ts'
import type { FailedFinish, FinishReason } from '../chat/finish-reason.ts'

/** Those that their words do not tell: `src/codecs/chat/finish-reason.ts` reads the others. */
const reasons: Readonly<Record<string, FinishReason | FailedFinish | null>> = {
  FINISH_REASON_UNSPECIFIED: null,
  CONTINUATION: 'length',
  ESCALATION: 'content_filter',
  LANGUAGE: 'content_filter',
  MODEL_ARMOR: 'content_filter',
  // The operator's account was limited.
  PUP_LIMITED_DISABLED: failedFinish,
}

/** Null where the answer has not ended. */
export function readFinishReason(reason: unknown): FinishReason | FailedFinish | null {
  if (typeof reason === 'string' && Object.hasOwn(reasons, reason)) return reasons[reason] ?? null
  return parseFinishReason(reason)
}
