/**
 * Orders the targets of a turn by its conversation, so that each turn of it goes to the target that has its prompt cached.
 *
 * Weighted rendezvous hashing: each target draws a number from the hash of account, conversation and target, and the best draw by weight
 * comes first. A target that rests hands over its own conversations alone, and gets them back; of a new target likewise. All threads and
 * nodes agree without any shared state. The account is hashed too, so that no member chooses the target of another one.
 */
import { hash } from 'node:crypto'
import type { Exchange, Slots } from '../../exchange/exchange.ts'
import type { LiveTarget } from '../../exchange/plugins/plugin-services.ts'
import { getConversationOpening, getFields } from '../../exchange/request/chat-request.ts'

interface WeightedTarget {
  readonly live: LiveTarget
  readonly weight: number
}

/** The targets with a weight, best first: those that have just failed come last, because a client that tries again needs another one. */
export function orderBySession(
  targets: readonly WeightedTarget[],
  session: string,
  isDoubtful: (target: string) => boolean,
): LiveTarget[] {
  const order = targets
    .filter(({ weight }) => weight > 0)
    .map(({ live, weight }) => ({ live, distance: -Math.log(draw(session, live.name)) / weight }))
    .toSorted((one, other) => one.distance - other.distance)
    .map(({ live }) => live)
  const doubtfulTargets = order.filter(({ name }) => isDoubtful(name))
  return doubtfulTargets.length === 0 ? order : [...order.filter((live) => !doubtfulTargets.includes(live)), ...doubtfulTargets]
}

/** A number between 0 and 1, both excluded. */
function draw(session: string, target: string): number {
  const digits = 13
  const value = Number.parseInt(hash('sha256', `${session}\0${target}`).slice(0, digits), 16)
  return (value + 0.5) / 16 ** digits
}

/** Headers with the id of a session: of Codex now and before, and of Claude Code. */
const sessionHeaders = ['session-id', 'session_id', 'conversation_id', 'x-claude-code-session-id'] as const

/** A longer text is no id. */
const maxMarkLength = 256

/** The conversation of a turn, as a digest; null if its product answers no chats or it has no account. */
export function identifySession({ caller, product, chat, inbound, translation }: Exchange & Partial<Slots>): string | null {
  if (caller === undefined || chat === undefined || product?.capabilities.includes('chat') !== true) return null
  const { prompt_cache_key: cacheKey } = getFields(chat)
  const ids = [cacheKey, ...sessionHeaders.map((name) => inbound.headers[name])]
  const mark = ids.find(isSessionId) ?? translation?.sessionMark ?? getConversationOpening(chat)
  return hash('sha256', `${caller.account.id}\0${mark}`)
}

function isSessionId(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.length <= maxMarkLength
}
