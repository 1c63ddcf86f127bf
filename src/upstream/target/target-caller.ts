/** Whose call to a target it is, and of which kind: what makes a server fail is mostly a kind of request, as one with pictures. */
import type { Exchange, Slots } from '../../exchange/exchange.ts'
import { getFields, hasImages } from '../../exchange/request/chat-request.ts'
import type { ChatRequest } from '../../exchange/request/chat-request.ts'

export interface TargetCaller {
  readonly account: string
  /** What its request has besides text, of a few kinds. */
  readonly kind: string
}

/** Stands for the caller of a call without an account. */
export const noCaller: TargetCaller = { account: '', kind: '' }

export function identifyCaller({ caller, chat }: Exchange & Partial<Slots>): TargetCaller {
  return new ExchangeCaller(caller?.account.id ?? noCaller.account, chat)
}

/** The kind is needed only where the account's calls have failed lately, so it is determined when it is read. */
class ExchangeCaller implements TargetCaller {
  readonly account: string
  readonly #chat: ChatRequest | undefined
  #kind: string | undefined

  constructor(account: string, chat: ChatRequest | undefined) {
    this.account = account
    this.#chat = chat
  }

  get kind(): string {
    return (this.#kind ??= this.#chat === undefined ? noCaller.kind : describeKind(this.#chat))
  }
}

function describeKind(chat: ChatRequest): string {
  const { tools, response_format: format } = getFields(chat)
  const parts = [hasImages(chat) && 'images', Array.isArray(tools) && tools.length > 0 && 'tools', isPresent(format) && 'format']
  return parts.filter(Boolean).join()
}

function isPresent(value: unknown): boolean {
  return value !== undefined && value !== null
}
