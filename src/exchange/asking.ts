/** A request that asks for a chat in other words than a chat's. */
import type { ChatRequest } from './chat-request.ts'
import type { Inbound } from './exchange.ts'

/** The same request, whose chat is what `chat` makes of it, once. */
export function asking(inbound: Inbound, chat: () => Promise<ChatRequest>): Inbound {
  let asked: Promise<ChatRequest> | undefined
  return {
    method: inbound.method,
    path: inbound.path,
    headers: inbound.headers,
    address: inbound.address,
    get cookieToken() {
      return inbound.cookieToken
    },
    chat: () => (asked ??= chat()),
  }
}
