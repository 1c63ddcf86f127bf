/** Plans whose limits tests count to, and what a turn of theirs holds. */
import { parseChatRequest } from '../../src/exchange/chat-request.ts'
import { promptSize } from '../../src/exchange/estimate.ts'

export const shortTurn = { model: 'svc-2.1', max_tokens: 16, messages: [{ role: 'user', content: 'Hello!' }] }

/** `rpm`: of the plan `slow`. */
export function exactPlans(rpm: number) {
  // What a turn like this holds, and its refusal would be for a credit less.
  const { mostTokens } = promptSize(parseChatRequest(Buffer.from(JSON.stringify(shortTurn))), 1_100)
  const price = Math.ceil((mostTokens * 0.435 + 16 * 0.87) * 0.25)
  const pool = (day: number) => ({ day, week: day, month: day })
  const plan = { name: 'Test', prices: [{ amount: 0 }], rpm: 100_000, concurrency: 1_000 }
  const much = { fast: pool(1e9), premium: pool(1e9) }
  return {
    ample: { ...plan, pools: much },
    twenty: { ...plan, pools: { fast: pool(20 * price), premium: pool(20 * price) } },
    slow: { ...plan, rpm, pools: much },
    narrow: { ...plan, concurrency: 5, pools: much },
  }
}
