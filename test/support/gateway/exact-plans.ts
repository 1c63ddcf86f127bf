/** Plans whose limits tests reach exactly, and the hold of one of their turns. */
import { parseChatRequest } from '../../../src/exchange/request/chat-request.ts'
import { measurePrompt } from '../../../src/exchange/request/prompt-size.ts'
import { defaultMediaFigures } from '../media-figures.ts'

export const shortTurn = { model: 'svc-2.1', max_tokens: 16, messages: [{ role: 'user', content: 'Hello!' }] }

/** `rpm`: the limit of the plan `slow`. */
export function createExactPlans(rpm: number) {
  // The hold of one turn; a credit less would refuse it.
  const { maxTokens } = measurePrompt(parseChatRequest(Buffer.from(JSON.stringify(shortTurn))), defaultMediaFigures)
  const price = Math.ceil((maxTokens * 0.435 + 16 * 0.87) * 0.25)
  const pool = (day: number) => ({ day, week: day, month: day })
  const plan = { name: 'Test', prices: [{ amount: 0 }], rpm: 100_000, concurrency: 1_000 }
  const unlimited = { fast: pool(1e9), premium: pool(1e9) }
  return {
    ample: { ...plan, pools: unlimited },
    twenty: { ...plan, pools: { fast: pool(20 * price), premium: pool(20 * price) } },
    slow: { ...plan, rpm, pools: unlimited },
    narrow: { ...plan, concurrency: 5, pools: unlimited },
  }
}
