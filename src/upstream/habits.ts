/**
 * What each target has shown of itself: whether what it makes is seen as it is made, and which of the fields that ask for a stream it
 * refuses. What a client that leaves a whole answer costs depends on the first.
 */
import type { Asking, Candidate } from '../exchange/exchange.ts'
import { readErrorBody } from './error-body.ts'
import type { UpstreamFacts } from '../exchange/upstream-failure.ts'
import type { Upstream } from './upstreams.ts'

/** A refusal of a stream is remembered so long: it may have been meant for one request, or for a version that is gone. */
const rememberedMs = 600_000
/** Faster than this, in tokens a millisecond, nobody makes them: the answer was kept back and came at once. */
const fastest = 4
/** A shorter answer says nothing about how it was made. */
const leastTokens = 8

/**
 * `shown`: its output was seen to grow, and was all that it reported. `hidden`: it reports more than can be seen, as where it does not
 * show its reasoning. `unknown`: it has not been seen to stream, or answered whole, or all at once.
 */
export type Work = 'shown' | 'hidden' | 'unknown'

interface Habit {
  work: Work
  streamRefusedAt: number | null
  usageRefusedAt: number | null
}

/** A stream that has come to its end. */
export interface StreamSeen {
  readonly counted: number
  readonly charged: number
  /** Between the first event with output and the last. */
  readonly overMs: number
}

export class Habits {
  /** As many as there are targets in the configuration. */
  readonly #habits = new Map<string, Habit>()

  /** How to ask this target now. */
  asking(candidate: Candidate, { config }: Upstream, now: number): Asking {
    // Only chats are made word by word.
    if (candidate.path !== '/chat/completions' || config.streams === false) return { stream: false, usage: false }
    const { streamRefusedAt, usageRefusedAt } = this.#of(candidate.name)
    const stream = !isRecent(streamRefusedAt, now)
    return { stream, usage: stream && !isRecent(usageRefusedAt, now) }
  }

  /** Whether what it is making now is seen. */
  work(candidate: Candidate, { config }: Upstream): Work {
    return config.streams === true ? 'shown' : this.#of(candidate.name).work
  }

  streamed(target: string, { counted, charged, overMs }: StreamSeen): void {
    if (Math.max(counted, charged) < leastTokens) return
    const isAll = charged <= counted * 2 + leastTokens
    this.#of(target).work = isAll ? (counted <= overMs * fastest ? 'shown' : 'unknown') : 'hidden'
  }

  answeredWhole(target: string): void {
    this.#of(target).work = 'unknown'
  }

  /** Whether this refusal is of a field that asks for the stream, so that the target may be asked again without it. */
  learns(target: string, asked: Asking, facts: UpstreamFacts, now: number): boolean {
    if (!asked.stream || facts.kind !== 'status' || ![400, 404, 405, 422, 501].includes(facts.status)) return false
    const { param, message } = readErrorBody(facts.body, facts.contentType)
    if (asked.usage && (param?.startsWith('stream_options') === true || /stream_options|include_usage/i.test(message))) {
      this.#of(target).usageRefusedAt = now
      return true
    }
    if (param !== 'stream' && !refusesStreams.test(message)) return false
    this.#of(target).streamRefusedAt = now
    return true
  }

  #of(target: string): Habit {
    let habit = this.#habits.get(target)
    if (habit === undefined) {
      habit = { work: 'unknown', streamRefusedAt: null, usageRefusedAt: null }
      this.#habits.set(target, habit)
    }
    return habit
  }
}

const refusesStreams =
  /\bstream(?:ing|ed|s)?\b.{0,80}(?:not (?:supported|allowed|available|implemented|enabled|permitted|compatible)|unsupported|disabled|must be false)|(?:(?:not|n't|cannot|can't) (?:yet )?(?:support|use|be used|allow)|unsupported|unrecognized|verified to)\b.{0,60}\bstream/is

function isRecent(at: number | null, now: number): boolean {
  return at !== null && now - at < rememberedMs
}
