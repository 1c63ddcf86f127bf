/** What is recorded of an exchange after its end. */
import type { ApiFormatName } from '../exchange/api-format/api-format-name.ts'
import type { Exchange, Outcome, Slots } from '../exchange/exchange.ts'

export interface EndedExchange {
  readonly x: Exchange & Partial<Slots>
  readonly outcome: Outcome
  readonly endedMonotonicMs: number
}

/** The value of a label that does not apply. */
export const none = 'none'

export function getApiFormat({ translation }: Exchange): ApiFormatName {
  return translation?.format ?? 'chat_completions'
}
