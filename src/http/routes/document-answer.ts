/** An endpoint's answer where the chain gives it: a document that only its caller may keep. */
import type { AnswerOf, Endpoint } from '../../api/endpoint.ts'
import type { Answer } from '../../exchange/exchange.ts'
import { nothingUsed } from '../../exchange/exchange.ts'
import { privateJsonHeaders } from '../../exchange/headers.ts'

/** `endpoint` says of what shape `body` is. */
export function documentAnswer<E extends Endpoint>(endpoint: E, body: AnswerOf<E>): Answer {
  return {
    usage: nothingUsed,
    last: { kind: 'reply', reply: { status: endpoint.status ?? 200, headers: privateJsonHeaders, body: JSON.stringify(body) } },
  }
}
