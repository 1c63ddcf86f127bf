/** An endpoint's answer where the chain gives it: a document that only its caller may keep. */
import type { AnswerOf, Endpoint } from '../../api/endpoint.ts'
import type { Answer } from '../../exchange/exchange.ts'
import { nothingUsed } from '../../exchange/exchange.ts'

/** `endpoint` says of what shape `body` is. */
export function documentAnswer<E extends Endpoint>(endpoint: E, body: AnswerOf<E>): Answer {
  return {
    usage: nothingUsed,
    last: { kind: 'reply', reply: { status: endpoint.status ?? 200, headers, body: JSON.stringify(body) } },
  }
}

const headers = { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'private, no-store' }
