/** A turn within another exchange, which has passed authentication and rate limits: it has a hold and a settlement of its own. */
import type { Exchange, Slots, Translation } from '../exchange/exchange.ts'
import { createInboundWithChat } from '../exchange/inbound-with-chat.ts'
import type { ChatRequest } from '../exchange/request/chat-request.ts'
import type { Services } from '../services/services.ts'

interface NestedTurnOptions {
  readonly outer: Exchange & Partial<Slots>
  readonly chat: () => Promise<ChatRequest>
  readonly clock: Services['clock']
  /** For the turn log. */
  readonly translation?: Translation
}

/** The key of a turn is that of its first hold: a repeated request is refused there. */
function createNestedInbound({ inbound, kind }: Exchange, chat: NestedTurnOptions['chat']): Exchange['inbound'] {
  const nested = createInboundWithChat(inbound, chat)
  if (kind !== 'turn') return nested
  const { 'idempotency-key': _, ...headers } = inbound.headers
  return { ...nested, headers }
}

export function createNestedTurn({ outer, chat, clock, translation }: NestedTurnOptions): Exchange & Partial<Slots> {
  const { id, responseRequestId, names, siteUrl } = outer
  return {
    id,
    responseRequestId,
    kind: 'turn',
    names,
    siteUrl,
    startedAt: clock.now(),
    startedMonotonicMs: clock.monotonicMs(),
    inbound: createNestedInbound(outer, chat),
    ...(translation === undefined ? {} : { translation }),
    headers: {},
    debug: {},
    lastAttempt: { target: null, status: null },
    parent: outer,
  }
}
