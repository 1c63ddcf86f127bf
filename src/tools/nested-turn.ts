/** A turn within another exchange, which has passed authentication and rate limits: it has a hold and a settlement of its own. */
import type { Exchange, Slots, Translation } from '../exchange/exchange.ts'
import { createInboundWithChat } from '../exchange/inbound-with-chat.ts'
import type { ChatRequest } from '../exchange/request/chat-request.ts'
import type { Services } from '../services/services.ts'

interface NestedTurnOptions {
  readonly outer: Exchange & Partial<Slots>
  /** Which of the turns within the other exchange it is, from 1; left out if there is one only. */
  readonly position?: number
  readonly chat: () => Promise<ChatRequest>
  readonly clock: Services['clock']
  /** For the turn log. */
  readonly translation?: Translation
}

export function createNestedTurn({ outer, position, chat, clock, translation }: NestedTurnOptions): Exchange & Partial<Slots> {
  const { id, responseRequestId, names, siteUrl } = outer
  return {
    id,
    responseRequestId,
    kind: 'turn',
    names,
    siteUrl,
    startedAt: clock.now(),
    startedMonotonicMs: clock.monotonicMs(),
    inbound: createInboundWithChat(outer.inbound, chat, { isNested: true }),
    ...(translation === undefined ? {} : { translation }),
    headers: {},
    debug: {},
    lastAttempt: { target: null, status: null },
    parent: outer,
    ...(position === undefined ? {} : { position }),
  }
}
