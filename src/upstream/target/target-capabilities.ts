/**
 * What each target can do: whether its output is visible while it is produced, which decides what a client that disconnects is charged, and
 * which fields that request a stream it rejects.
 */
import type { GatewayConfig } from '../../config/config.ts'
import type { UpstreamRequestMode, Candidate } from '../../exchange/exchange.ts'
import { chatPath } from '../format/upstream-format.ts'
import { readErrorBody, withoutQuotedPhrases } from '../errors/error-body.ts'
import type { FailureFacts } from '../../exchange/upstream-failure.ts'

/** How long a rejection of streaming is remembered: it may concern one request only, or a version that has been replaced. */
const rejectionTtlMs = 600_000
/** Tokens per millisecond. Faster output was buffered and sent at once. */
const maxTokensPerMs = 4
/** A shorter response says nothing about how it was produced. */
const minTokens = 8

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
}

interface StreamingUpstream {
  readonly config: Pick<GatewayConfig['upstreams'][string], 'streams'>
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

  /** Takes over what `previous` has learned of a target. */
  adopt(target: string, previous: TargetCapabilities): void {
    const capabilities = previous.#byTarget.get(target)
    if (capabilities !== undefined) this.#byTarget.set(target, capabilities)
  }

  /** The mode for the next request to this target. */
  chooseRequestMode(
    candidate: Candidate,
    { config }: StreamingUpstream,
    member: MemberRequest,
    now: number,
  ): UpstreamRequestMode {
    // Only chats are produced token by token.
    if (candidate.path !== chatPath) return { stream: false, includeUsage: false }
    const { streamRejectedAt, usageRejectedAt, emptyStreamAt } = this.#getOrCreate(candidate.name)
    // Several choices are where streams differ most from whole responses: some servers send one choice or leave one without its end.
    const isWholeBetter = config.streams === false || member.choices > 1 || isRecent(emptyStreamAt, now)
    const stream = !isRecent(streamRejectedAt, now) && (member.stream || !isWholeBetter)
    return { stream, includeUsage: stream && !isRecent(usageRejectedAt, now) }
  }

  /** Whether the output being produced now is visible. */
  getVisibility(candidate: Candidate, { config }: StreamingUpstream): StreamVisibility {
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

  recordWholeResponse(target: string): void {
    this.#getOrCreate(target).visibility = 'unknown'
  }

  /** Whether the target rejected a field that requests the stream, so that it can be called again without it. */
  recordRejection(target: string, mode: UpstreamRequestMode, facts: FailureFacts, now: number): boolean {
    if (!mode.stream || facts.kind !== 'status' || ![400, 404, 405, 422, 501].includes(facts.status)) return false
    const { param, message } = withoutQuotedPhrases(readErrorBody(facts.body, facts.contentType))
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
