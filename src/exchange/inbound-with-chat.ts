/** Presents a request of another format as a chat request. */
import type { ChatRequest } from './request/chat-request.ts'
import type { Inbound } from './exchange.ts'

interface InboundWithChatOptions {
  /** For an exchange within the request's own, at whose end the request stays in use. */
  readonly isNested?: boolean
}

/** The same request, whose chat is the result of `chat`, called once with the account that sends it, undefined without one. */
export function createInboundWithChat(
  inbound: Inbound,
  chat: (member?: string) => Promise<ChatRequest>,
  { isNested = false }: InboundWithChatOptions = {},
): Inbound {
  let cachedChat: Promise<ChatRequest> | undefined
  return {
    method: inbound.method,
    path: inbound.path,
    headers: inbound.headers,
    address: inbound.address,
    get cookieToken() {
      return inbound.cookieToken
    },
    onDisconnect: (listener) => inbound.onDisconnect?.(listener),
    chat: (member) => (cachedChat ??= chat(member)),
    ...(isNested ? {} : { dispose: (account?: string) => inbound.dispose?.(account) }),
  }
}
