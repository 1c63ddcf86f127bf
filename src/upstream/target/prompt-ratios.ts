/**
 * How many tokens each target makes of a prompt, learned from the usage that it reported. Corrects what a turn without a report is charged,
 * and what `count_tokens` returns. Kept in memory by each serving thread, so it starts again at 1.
 */

/** Estimated tokens at which the memory of prompts is halved, so that the recent ones count most. */
const promptWindowTokens = 65_536
/** Estimated tokens before which the ratio of a target stays near 1. */
const promptPriorTokens = 256
/** A prompt counts at most as much as one of this size, so that no single member decides the ratio. */
const maxPromptWeight = 4_096
/** A report that differs by more than this is none on the text: a hidden prompt, or a prompt that was cut. */
const maxReportFactor = 4
const maxPromptRatio = 2

/** The estimate of a prompt, and the part of it that is assumed for media. */
export interface PromptEstimate {
  readonly inputEstimate: number
  readonly mediaEstimate: number
}

/** Reported and estimated tokens of recent prompts without media. */
interface RecentPrompts {
  reported: number
  estimated: number
}

export class PromptRatios {
  /** One entry per target that reported usage. */
  readonly #byTarget = new Map<string, RecentPrompts>()

  /** Takes over what `previous` has learned of a target. */
  adopt(target: string, previous: PromptRatios): void {
    const prompts = previous.#byTarget.get(target)
    if (prompts !== undefined) this.#byTarget.set(target, prompts)
  }

  /** The tokens that this target probably makes of a prompt, by those that it reported for earlier ones. */
  estimate(target: string, { inputEstimate, mediaEstimate }: PromptEstimate): number {
    const { reported, estimated } = this.#byTarget.get(target) ?? { reported: 0, estimated: 0 }
    const ratio = (reported + promptPriorTokens) / (estimated + promptPriorTokens)
    const boundedRatio = Math.min(Math.max(ratio, 1 / maxPromptRatio), maxPromptRatio)
    return Math.ceil((inputEstimate - mediaEstimate) * boundedRatio) + mediaEstimate
  }

  /** The target reported so many tokens for a prompt. */
  record(target: string, { inputEstimate, mediaEstimate }: PromptEstimate, reportedTokens: number): void {
    const ratio = reportedTokens / inputEstimate
    if (mediaEstimate > 0 || !(ratio <= maxReportFactor && ratio >= 1 / maxReportFactor)) return
    const prompts = this.#byTarget.get(target) ?? { reported: 0, estimated: 0 }
    this.#byTarget.set(target, prompts)
    if (prompts.estimated >= promptWindowTokens) {
      prompts.estimated /= 2
      prompts.reported /= 2
    }
    const weight = Math.min(inputEstimate, maxPromptWeight)
    prompts.estimated += weight
    prompts.reported += weight * ratio
  }
}
