/** What can search: an upstream model that does it by itself, or a search engine. */
import type { Exchange, Slots } from '../../exchange/exchange.ts'
import type { Wire } from '../../exchange/run.ts'
import type { Found } from './found.ts'

export interface Backend {
  /** @throws UpstreamFailure, or ClientLeft */
  find(question: Question): Promise<Found>
}

export interface Question {
  readonly query: string
  readonly x: Exchange & Partial<Slots>
  readonly wire: Wire
}
