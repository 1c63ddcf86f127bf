/**
 * What is known of each target: whether its output is visible while it is produced, which fields that request a stream it rejects, and how
 * many tokens it makes of a prompt. The first decides what a client that disconnects is charged, the last what a turn without a report is.
 */
import type { UpstreamRequestMode, Candidate } from '../../exchange/exchange.ts'
import { chatPath } from '../upstream-format.ts'
import { readErrorBody } from '../errors/error-body.ts'
import type { FailureFacts } from '../../exchange/upstream-failure.ts'
import type { Upstream } from './upstreams.ts'

/** How long a rejection of streaming is remembered: it may concern one request only, or a version that has been replaced. */
const rejectionTtlMs = 600_000
/** Tokens per millisecond. Faster output was buffered and sent at once. */
const maxTokensPerMs = 4
/** A shorter response says nothing about how it was produced. */
const minTokens = 8

/** Estimated tokens at which the memory of prompts is halved, so that the recent ones count most. */
const promptWindowTokens = 65_536
/** Estimated tokens before which the ratio of a target stays near 1. */
const promptPriorTokens = 256
/** A prompt counts at most as much as one of this size, so that no single member decides the ratio. */
const maxPromptWeight = 4_096
/** A report that differs by more than this is none on the text: a hidden prompt, or a prompt that was cut. */
const maxReportFactor = 4
const maxPromptRatio = 2

/**
 * `visible`: its output arrived gradually and was all that it reported. `hidden`: it reports more than is visible, such as hidden
 * reasoning. `unknown`: it has not streamed yet, or responded whole, or all at once.
 */
type StreamVisibility = 'visible' | 'hidden' | 'unknown'

interface Capabilities {
  visibility: StreamVisibility
  streamRejectedAt: number | null
  usageRejectedAt: number | null
  /** When a stream ended with nothing: whole responses are then requested whole. */
  emptyStreamAt: number | null
  /** Reported and estimated tokens of recent prompts without images. */
  readonly prompts: { reported: number; estimated: number }
}

/** The estimate of a prompt, and the part of it that is assumed for images. */
interface PromptEstimate {
  readonly inputEstimate: number
  readonly imageEstimate: number
}

/** How the member asked. */
interface MemberRequest {
  readonly stream: boolean
  readonly choices: number
}

/** A stream that has ended. */
interface StreamObservation {
  readonly countedTokens: number
  readonly chargedTokens: number
  /** Between the first event with output and the last. */
  readonly durationMs: number
}

export class TargetCapabilities {
  /** One entry per configured target. */
  readonly #byTarget = new Map<string, Capabilities>()

  /** The mode for the next request to this target. */
  chooseRequestMode(candidate: Candidate, { config }: Upstream, member: MemberRequest, now: number): UpstreamRequestMode {
    // Only chats are produced token by token.
    if (candidate.path !== chatPath) return { stream: false, includeUsage: false }
    const { streamRejectedAt, usageRejectedAt, emptyStreamAt } = this.#getOrCreate(candidate.name)
    // Several choices are where streams differ most from whole responses: some servers send one choice or leave one without its end.
    const isWholeBetter = config.streams === false || member.choices > 1 || isRecent(emptyStreamAt, now)
    const stream = !isRecent(streamRejectedAt, now) && (member.stream || !isWholeBetter)
    return { stream, includeUsage: stream && !isRecent(usageRejectedAt, now) }
  }

  /** Whether the output being produced now is visible. */
  getVisibility(candidate: Candidate, { config }: Upstream): StreamVisibility {
    return config.streams === true ? 'visible' : this.#getOrCreate(candidate.name).visibility
  }

  recordStream(target: string, { countedTokens, chargedTokens, durationMs }: StreamObservation): void {
    if (Math.max(countedTokens, chargedTokens) < minTokens) return
    const isAll = chargedTokens <= countedTokens * 2 + minTokens
    this.#getOrCreate(target).visibility = isAll
      ? countedTokens <= durationMs * maxTokensPerMs
        ? 'visible'
        : 'unknown'
      : 'hidden'
  }

  /** The target answered a request for a stream with a stream that holds nothing. */
  recordEmptyStream(target: string, now: number): void {
    this.#getOrCreate(target).emptyStreamAt = now
  }

  /** The tokens that this target probably makes of a prompt, by those that it reported for earlier ones. */
  estimatePrompt(target: string, { inputEstimate, imageEstimate }: PromptEstimate): number {
    const { reported, estimated } = this.#getOrCreate(target).prompts
    const ratio = (reported + promptPriorTokens) / (estimated + promptPriorTokens)
    const bounded = Math.min(Math.max(ratio, 1 / maxPromptRatio), maxPromptRatio)
    return Math.ceil((inputEstimate - imageEstimate) * bounded) + imageEstimate
  }

  /** The target reported so many tokens for a prompt. */
  recordPrompt(target: string, { inputEstimate, imageEstimate }: PromptEstimate, reportedTokens: number): void {
    const ratio = reportedTokens / inputEstimate
    if (imageEstimate > 0 || !(ratio <= maxReportFactor && ratio >= 1 / maxReportFactor)) return
    const { prompts } = this.#getOrCreate(target)
    if (prompts.estimated >= promptWindowTokens) {
      prompts.estimated /= 2
      prompts.reported /= 2
    }
    const weight = Math.min(inputEstimate, maxPromptWeight)
    prompts.estimated += weight
    prompts.reported += weight * ratio
  }

  recordWholeResponse(target: string): void {
    this.#getOrCreate(target).visibility = 'unknown'
  }

  /** Whether the target rejected a field that requests the stream, so that it can be called again without it. */
  recordRejection(target: string, mode: UpstreamRequestMode, facts: FailureFacts, now: number): boolean {
    if (!mode.stream || facts.kind !== 'status' || ![400, 404, 405, 422, 501].includes(facts.status)) return false
    const { param, message } = readErrorBody(facts.body, facts.contentType)
    if (mode.includeUsage && (param?.startsWith('stream_options') === true || /stream_options|include_usage/i.test(message))) {
      this.#getOrCreate(target).usageRejectedAt = now
      return true
    }
    if (param !== 'stream' && !streamRejectedPattern.test(message)) return false
    this.#getOrCreate(target).streamRejectedAt = now
    return true
  }

  #getOrCreate(target: string): Capabilities {
    let capabilities = this.#byTarget.get(target)
    if (capabilities === undefined) {
      capabilities = {
        visibility: 'unknown',
        streamRejectedAt: null,
        usageRejectedAt: null,
        emptyStreamAt: null,
        prompts: { reported: 0, estimated: 0 },
      }
      this.#byTarget.set(target, capabilities)
    }
    return capabilities
  }
}

const streamRejectedPattern =
  /\bstream(?:ing|ed|s)?\b.{0,80}(?:not (?:supported|allowed|available|implemented|enabled|permitted|compatible)|unsupported|disabled|must be false)|(?:(?:not|n't|cannot|can't) (?:yet )?(?:support|use|be used|allow)|unsupported|unrecognized|verified to)\b.{0,60}\bstream/is

function isRecent(at: number | null, now: number): boolean {
  return at !== null && now - at < rejectionTtlMs
}
